// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankAgreement: the joint decisions of the ranks of a job: when the loop stops, when to save, and whether a rank has
/// failed.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_peers.hpp>
#include <trainhook/ranks/collective.hpp>
#include <trainhook/ranks/rank_rounds.hpp>
#include <trainhook/ranks/rank_states_hook.hpp>

namespace trainhook::detail {

/// The peers of one rank, for one session: makes a round between two steps.
class RankAgreement final : public SessionPeers {
 public:
  /// @param agree_every_n_steps the period at which the loop makes a round
  /// @param max_wait_secs how long a rank waits for the others
  TRAINHOOK_DECL RankAgreement(std::shared_ptr<Collective> ranks, std::int64_t agree_every_n_steps,
                               Duration max_wait_secs);
  TRAINHOOK_DECL ~RankAgreement() override;

  [[nodiscard]] int process() const noexcept override { return rounds_.rank(); }
  [[nodiscard]] int num_processes() const noexcept override { return rounds_.size(); }
  [[nodiscard]] bool is_chief() const noexcept override { return rounds_.is_chief(); }

  TRAINHOOK_DECL void expect_same_options(const MonitoredTrainingSessionOptions& options) override;
  TRAINHOOK_DECL void expect_same_program(const Graph& graph, const Hooks& hooks) override;
  void settle() override { rounds_.settle(); }

  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<SessionCreator> creator(
      std::shared_ptr<ChiefSessionCreator> alone) override;
  TRAINHOOK_DECL void join(Hooks& hooks) override;
  [[nodiscard]] bool may_recreate() const noexcept override { return false; }

  [[nodiscard]] TRAINHOOK_DECL Peers& of(const SessionRunHook& hook) override;
  [[nodiscard]] std::string same_for_all(FunctionRef<std::string()> give) override {
    return rounds_.same_for_all(give);
  }
  [[nodiscard]] TRAINHOOK_DECL std::vector<double> share(FunctionRef<std::vector<double>()> give) override;
  [[nodiscard]] bool agrees_to_save() override {
    wishes_save_ = true;
    return false;
  }
  void expect_save(std::int64_t step) noexcept override { states_->expect_save(step); }

  void run_failed() noexcept override { is_undecided_ = true; }
  TRAINHOOK_DECL void begin_round(SessionLifecycle& session) override;
  [[nodiscard]] TRAINHOOK_DECL std::optional<bool> should_stop(SessionLifecycle& session) noexcept override;
  [[nodiscard]] bool is_interrupted(bool /*mine*/) const noexcept override { return rounds_.is_interrupted(); }
  TRAINHOOK_DECL void leave(const std::string& reason, SessionLifecycle& session) override;
  TRAINHOOK_DECL void finish(const std::exception_ptr& error, Duration stop_grace_period_secs) override;

  /// Waits for at least ten seconds.
  TRAINHOOK_DECL void fail(const std::exception_ptr& error, Duration stop_grace_period_secs) noexcept override;

 private:
  [[nodiscard]] TRAINHOOK_DECL bool has_ended(SessionLifecycle& session) const;
  [[nodiscard]] TRAINHOOK_DECL bool is_due(const SessionLifecycle& session) const;
  [[nodiscard]] TRAINHOOK_DECL Votes wishes(SessionLifecycle& session);
  TRAINHOOK_DECL bool decide(SessionLifecycle& session);
  TRAINHOOK_DECL bool follow(const Votes& all, SessionLifecycle& session);
  TRAINHOOK_DECL void take_failure(SessionLifecycle& session) noexcept;

  RankRounds rounds_;
  std::shared_ptr<RankStatesHook> states_;
  std::int64_t agree_every_n_steps_;
  bool has_begun_ = false;     // a session, which is the only one
  bool has_joined_ = false;    // the same, with its hooks
  std::int64_t boundary_ = 0;  // the number of decisions so far, including skipped ones
  bool is_undecided_ = true;   // since the last run
  bool has_run_ = false;       // since the last call of `should_stop`
  bool wants_stop_ = false;    // until all ranks agree
  bool wishes_save_ = false;
  std::vector<const SessionRunHook*> only_here_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_agreement.ipp>
#endif
