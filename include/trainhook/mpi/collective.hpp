// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::peers and mpi::collective: let the ranks of a training session agree over MPI.
#pragma once

#include <memory>

#include <trainhook/core/linkage.hpp>
#include <trainhook/mpi/communicator.hpp>
#include <trainhook/ranks/collective.hpp>
#include <trainhook/ranks/peers.hpp>

namespace trainhook::mpi {

/// A Collective for the ranks of `comm`, with a communicator of its own. All of them must make one. Use it on the
/// thread that began MPI. @throws FailedPreconditionError if MPI runs with MPI_THREAD_SINGLE.
/// @param max_wait how long to wait until the other ranks make theirs; after that the job is ended with MPI_Abort
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<Collective> collective(const Communicator& comm,
                                                                    Duration max_wait = kMaxWait);

/// The ranks of `comm` as peers, for one session: `{.peers = mpi::peers(mpi.world())}`. All of them must make theirs,
/// as a `collective`. @throws as `collective`, and InvalidArgumentError if a number in the options is not positive.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<SessionPeers> peers(const Communicator& comm,
                                                                 const ranks::PeersOptions& options = {});

}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/collective.ipp>
#endif
