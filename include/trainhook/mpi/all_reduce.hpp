// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::all_reduce: the sum or the mean of numbers of all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/ops/all_reduce.hpp>
#include <trainhook/mpi/communicator.hpp>

namespace trainhook::mpi {

using trainhook::Reduction;

/// Replaces `values` on every rank by the sum or the mean over all ranks, element by element. All ranks must call it,
/// with the same number of values. MPI chooses the order of the additions from the number of ranks and the number of
/// bytes, so the same job gives the same bits again.
/// @throws InvalidArgumentError for the mean of integers and, on every rank, for different numbers of values.
/// @param max_wait how long to wait for the other ranks; after that the job is ended with MPI_Abort
TRAINHOOK_DECL void all_reduce(std::span<float> values, Reduction reduction, const Communicator& comm,
                               Duration max_wait = kMaxWait);
TRAINHOOK_DECL void all_reduce(std::span<double> values, Reduction reduction, const Communicator& comm,
                               Duration max_wait = kMaxWait);
TRAINHOOK_DECL void all_reduce(std::span<std::int32_t> values, Reduction reduction, const Communicator& comm,
                               Duration max_wait = kMaxWait);
TRAINHOOK_DECL void all_reduce(std::span<std::int64_t> values, Reduction reduction, const Communicator& comm,
                               Duration max_wait = kMaxWait);

/// The same as an op of a graph, which an EigenSession runs; gradients flow back from all ranks to all ranks. Every
/// rank must run it equally often. Only the chief writes summaries, so an output that is summarized must be part of the
/// training step of every rank. To send several outputs in one message, give them to `trainhook::all_reduce` with a
/// `reducer`.
[[nodiscard]] TRAINHOOK_DECL Output all_reduce(Output value, Reduction reduction, const Communicator& comm,
                                               std::string_view name = {});

/// The reducer that `trainhook::all_reduce` needs to work over MPI. Use it on the thread that began MPI.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<AllReducer> reducer(const Communicator& comm,
                                                                 Duration max_wait = kMaxWait);

}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/all_reduce.ipp>
#endif
