// SPDX-License-Identifier: Apache-2.0
/// @file
/// ranks::peers: the ranks of a job for a monitored session.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_peers.hpp>
#include <trainhook/ranks/collective.hpp>

namespace trainhook::ranks {

struct PeersOptions {
  std::int64_t agree_every_n_steps = 1;                 ///< the period at which ranks agree on stops and saves
  Duration max_wait_secs = std::chrono::seconds(7200);  ///< how long a rank waits for the others
};

/// The peers of one rank, for one session: `{.peers = ranks::peers(collective)}`. Rank 0 is the chief. If one of
/// several ranks loses its session, the job ends, whatever `retry` is.
/// @throws InvalidArgumentError if a number is not positive, or `collective` is null.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<SessionPeers> peers(std::shared_ptr<Collective> collective,
                                                                 const PeersOptions& options = {});

}  // namespace trainhook::ranks

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/peers.ipp>
#endif
