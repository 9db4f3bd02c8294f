// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/peers.hpp>

#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/ranks/rank_agreement.hpp>
#include <trainhook/ranks/rank_facts.hpp>

namespace trainhook::detail {

/// A job of one rank, with the rules for options that every job has.
class OneRank final : public SessionPeers {
 public:
  void expect_same_options(const MonitoredTrainingSessionOptions& options) override { expect_options_of_job(options); }
};

}  // namespace trainhook::detail

namespace trainhook {

std::shared_ptr<SessionPeers> ranks::peers(std::shared_ptr<Collective> collective, const PeersOptions& options) {
  if (collective == nullptr) throw InvalidArgumentError("ranks::peers: the collective is null");
  if (options.agree_every_n_steps < 1)
    throw InvalidArgumentError("agree_every_n_steps is {}; it must be above 0", options.agree_every_n_steps);
  if (options.max_wait_secs <= Duration::zero())
    throw InvalidArgumentError("max_wait_secs is {} s; it must be above 0: ranks wait for each other",
                               std::chrono::duration<double>(options.max_wait_secs).count());
  if (collective->size() == 1) return std::make_shared<detail::OneRank>();
  return std::make_shared<detail::RankAgreement>(std::move(collective), options.agree_every_n_steps,
                                                 options.max_wait_secs);
}

}  // namespace trainhook
