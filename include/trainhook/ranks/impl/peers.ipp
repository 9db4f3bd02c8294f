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
  const int size = collective->size();
  auto agreement = std::make_shared<detail::RankAgreement>(
      std::move(collective),
      detail::AgreementOptions{.every_n_steps = options.agree_every_n_steps, .max_wait_secs = options.max_wait_secs});
  if (size == 1) return std::make_shared<detail::OneRank>();  // the numbers were checked
  return agreement;
}

}  // namespace trainhook
