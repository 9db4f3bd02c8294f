// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::shard_globally: divides each global batch among the ranks.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/mpi/communicator.hpp>

namespace trainhook::mpi {

/// This rank's rows of each element of `batches`, which must be the same dataset on every rank: give a shuffle a seed.
/// The ranks' rows follow each other in the order of the ranks, and their numbers differ by at most one; then the mean
/// of the ranks' gradients is not the mean over the rows, and rank 0 warns once. Neither the global batches nor an
/// iterator's saved position depend on the number of ranks. Every rank computes the whole batch.
/// @throws InvalidArgumentError if a component is not a batch; when an element is taken, if it has fewer rows than
/// there are ranks, or if its components have different numbers of rows.
[[nodiscard]] TRAINHOOK_DECL Dataset shard_globally(const Dataset& batches, const Communicator& comm);

}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/shard_globally.ipp>
#endif
