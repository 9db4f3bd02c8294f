// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::all_reduce: the sum or the mean of numbers of all ranks.
#pragma once

#include <cstdint>
#include <span>

#include <trainhook/core/linkage.hpp>
#include <trainhook/mpi/communicator.hpp>

namespace trainhook::mpi {

enum class Reduction { Sum, Mean };

/// Replaces `values` on every rank by the sum or the mean over all ranks, element by element. All ranks must call it,
/// with the same number of values. Whole numbers have no mean: @throws InvalidArgumentError. MPI chooses the order of
/// the additions, by the number of ranks and of bytes: the same job gives the same bits again.
TRAINHOOK_DECL void all_reduce(std::span<float> values, Reduction reduction, const Communicator& comm);
TRAINHOOK_DECL void all_reduce(std::span<double> values, Reduction reduction, const Communicator& comm);
TRAINHOOK_DECL void all_reduce(std::span<std::int32_t> values, Reduction reduction, const Communicator& comm);
TRAINHOOK_DECL void all_reduce(std::span<std::int64_t> values, Reduction reduction, const Communicator& comm);

}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/all_reduce.ipp>
#endif
