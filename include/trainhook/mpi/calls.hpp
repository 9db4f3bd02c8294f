// SPDX-License-Identifier: Apache-2.0
/// @file
/// What all calls of MPI need: errors as exceptions, and the end of the job.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::mpi::detail {

/// True after MPI was initialized and before it is finalized.
[[nodiscard]] TRAINHOOK_DECL bool is_running() noexcept;

/// Throws an InternalError with MPI's own words, unless `code` is MPI_SUCCESS.
TRAINHOOK_DECL void expect_success(int code, const char* call, int rank);

/// Logs `why` and ends all processes of the job, also those that do not answer.
[[noreturn]] TRAINHOOK_DECL void end_job(int rank, std::string_view why) noexcept;

}  // namespace trainhook::mpi::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/calls.ipp>
#endif
