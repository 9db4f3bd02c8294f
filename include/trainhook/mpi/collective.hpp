// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::peers and mpi::collective: let the ranks of a training session agree over MPI. VoteExchange: adds up the votes
/// of all ranks by messages between pairs of them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <mpi.h>

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

namespace trainhook::mpi::detail {

/// A reduction without MPI's own, whose non-blocking call takes twice as long. In the first round each rank sends its
/// votes to the ranks 1, 2 and 3 above it (after the last comes rank 0 again), in the next round what it has so far to
/// those 4, 8 and 12 above it, then 16, 32 and 48, until it has the votes of all. Some arrive twice, which does not
/// change the result. Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988, in which
/// each round has one message.
class VoteExchange {
 public:
  TRAINHOOK_DECL explicit VoteExchange(Communicator comm);
  VoteExchange(const VoteExchange&) = delete;
  VoteExchange& operator=(const VoteExchange&) = delete;

  /// Sends the messages of the first round, and returns at once. Not before the last exchange is done.
  TRAINHOOK_DECL void start(const Votes& mine);

  /// Lets MPI move messages, sends those of the next round if they are due, and returns at once. Until this is true MPI
  /// uses the memory of this object.
  [[nodiscard]] TRAINHOOK_DECL bool is_done();

  /// Those of all ranks, once it is done.
  [[nodiscard]] const Votes& votes() const noexcept { return votes_; }

 private:
  static constexpr int kFan = 4;  ///< with 4, three and four ranks need one round; 2 was slower with 3, 4 and 8

  struct Round {
    std::vector<int> to;
    std::vector<int> from;
    Votes sent;
    std::vector<Votes> received;        // as many as `from`
    std::vector<MPI_Request> requests;  // of the receives, then of the sends
  };

  TRAINHOOK_DECL void begin_round();

  Communicator comm_;
  std::vector<Round> rounds_;
  std::size_t round_ = 0;  // the one that is under way
  Votes votes_;
};

}  // namespace trainhook::mpi::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/collective.ipp>
#endif
