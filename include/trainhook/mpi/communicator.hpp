// SPDX-License-Identifier: Apache-2.0
/// @file
/// Communicator: a group of MPI processes that exchange messages of their own.
#pragma once

#include <memory>
#include <string_view>

#include <mpi.h>

#include <trainhook/core/linkage.hpp>

namespace trainhook::mpi {

/// Owns a communicator of MPI. Copies are cheap and share it; the last one frees it, unless MPI has ended before. MPI's
/// errors become exceptions, which name the call and the rank. The ranks are those of the communicator, from 0.
class Communicator {
 public:
  /// A duplicate of `original`, so that its messages are not mixed with others. All ranks of `original` must make it.
  /// @throws FailedPreconditionError unless MPI is initialized: make an mpi::Runtime before.
  TRAINHOOK_DECL explicit Communicator(MPI_Comm original);

  /// A new communicator for the same ranks. All of them must make the call.
  [[nodiscard]] TRAINHOOK_DECL Communicator duplicate() const;

  [[nodiscard]] TRAINHOOK_DECL int rank() const noexcept;
  [[nodiscard]] TRAINHOOK_DECL int size() const noexcept;

  /// For calls of MPI of your own. Its error handler is MPI_ERRORS_RETURN.
  [[nodiscard]] TRAINHOOK_DECL MPI_Comm native() const noexcept;

 private:
  struct Handle;
  std::shared_ptr<const Handle> handle_;
};

namespace detail {

/// Throws an InternalError with MPI's own words, unless `code` is MPI_SUCCESS.
TRAINHOOK_DECL void expect_success(int code, const char* call, int rank);

/// @throws FailedPreconditionError, naming `who`, if MPI has less than MPI_THREAD_FUNNELED.
/// @param is_ours whether this library began MPI
TRAINHOOK_DECL void expect_threads(std::string_view who, bool is_ours);

/// Logs `why` and ends all processes of the job.
[[noreturn]] TRAINHOOK_DECL void end_job(MPI_Comm comm, int rank, std::string_view why) noexcept;

/// True after MPI was initialized and before it is finalized.
[[nodiscard]] TRAINHOOK_DECL bool is_running() noexcept;

}  // namespace detail
}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/communicator.ipp>
#endif
