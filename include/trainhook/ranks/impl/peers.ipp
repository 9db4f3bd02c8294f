// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/peers.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/monitored/session_lifecycle.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/ranks/rank_facts.hpp>
#include <trainhook/ranks/rank_rounds.hpp>
#include <trainhook/ranks/rank_session_creator.hpp>
#include <trainhook/ranks/rank_states_hook.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

template <>
inline constexpr auto kFields<Metric> = std::tuple(field(1, "name", &Metric::name), field(2, "value", &Metric::value));

struct MetricsMessage {
  Metrics metrics{};
};
template <>
inline constexpr auto kFields<MetricsMessage> = std::tuple(field(1, "metrics", &MetricsMessage::metrics));

/// A job of one rank, with the rules for options that every job has.
class OneRank final : public SessionPeers {
 public:
  void expect_same_options(const MonitoredTrainingSessionOptions& options) override { expect_options_of_job(options); }
};

/// The joint decisions of several ranks, in a round between two steps: when the loop stops, when to save, and whether a
/// rank has failed.
class RankAgreement final : public SessionPeers {
 public:
  RankAgreement(std::shared_ptr<Collective> ranks, const ranks::PeersOptions& options)
      : rounds_(std::move(ranks), options.max_wait_secs), agree_every_n_steps_(options.agree_every_n_steps) {}

  [[nodiscard]] int process() const noexcept override { return rounds_.rank(); }
  [[nodiscard]] int num_processes() const noexcept override { return rounds_.size(); }
  [[nodiscard]] bool is_chief() const noexcept override { return rounds_.is_chief(); }

  void expect_same_options(const MonitoredTrainingSessionOptions& options) override {
    expect_first_session(has_begun_);
    expect_options_of_job(options);
    Facts facts = facts_about(options);
    facts.emplace_back("agree_every_n_steps", fmt::format("{}", agree_every_n_steps_));
    rounds_.expect_same(facts);
  }

  void expect_same_program(const Graph& graph, const Hooks& hooks) override {
    settle();
    auto answer = parse_message<StartAnswer>(
        rounds_.answer_of_chief(start_report(graph, hooks),
                                [](const auto& reports) { return message_bytes(answer_to(reports)); }),
        "what rank 0 says of the ranks");
    only_here_ = evaluations_of_one_rank(hooks, answer.evaluations_of_all);
    for (const Variable& variable : global_variables(graph)) {
      if (variable.save_slice_info == nullptr && std::ranges::binary_search(answer.tensors_in_parts, variable.name())) {
        throw InvalidArgumentError(
            "the variable '{}' is whole on this rank, and other ranks have parts of a tensor of that name: say "
            "`part_of` on all ranks, or give one of them another name",
            variable.name());
      }
    }
    rounds_.expect_same(facts_about(graph, hooks));
    states_->set_tensors_in_parts(std::move(answer.tensors_in_parts));
  }

  void settle() override { rounds_.settle(); }

  [[nodiscard]] std::shared_ptr<SessionCreator> creator(std::shared_ptr<ChiefSessionCreator> alone) override {
    return std::make_shared<RankSessionCreator>(rounds_, *alone);
  }

  void join(Hooks& hooks) override {
    expect_first_session(has_joined_);
    const auto last = std::ranges::find(hooks, HookPhase::Report, [](const auto& hook) { return hook->phase(); });
    hooks.insert(last, states_);
    states_ = {std::shared_ptr<void>(), states_.get()};  // the session owns it now, and ends what it has begun
  }

  [[nodiscard]] bool may_recreate() const noexcept override { return false; }

  [[nodiscard]] Peers& of(const SessionRunHook& hook) override {
    return std::ranges::find(only_here_, &hook) != only_here_.end() ? none() : *this;
  }

  [[nodiscard]] std::string same_for_all(FunctionRef<std::string()> give) override {
    return rounds_.same_for_all(give);
  }

  [[nodiscard]] Metrics share(FunctionRef<Metrics()> measure) override {
    const std::string bytes = same_for_all([&] { return message_bytes(MetricsMessage{measure()}); });
    return parse_message<MetricsMessage>(bytes, "the metrics of rank 0").metrics;
  }

  [[nodiscard]] bool agrees_to_save() override {
    wishes_save_ = true;
    return false;
  }

  void expect_save(std::int64_t step) noexcept override { states_->expect_save(step); }

  void run_failed() noexcept override { is_undecided_ = true; }

  void begin_round(SessionLifecycle& session) override {
    is_undecided_ = true;
    if (has_ended(session)) return;
    try {  // a loop that never asks should_stop() decides here
      if (std::exchange(has_run_, true) && decide(session)) return;
      if (!rounds_.is_outstanding() && is_due(session)) rounds_.begin(wishes(session));
    } catch (...) { take_failure(session); }
  }

  [[nodiscard]] std::optional<bool> should_stop(SessionLifecycle& session) noexcept override {
    try {
      if (has_ended(session)) return true;  // if this rank has failed, `close` tells the others
      if (session.is_busy()) return stops_by_the_step(*session.live());
      has_run_ = false;
      return std::exchange(is_undecided_, false) && decide(session);
    } catch (...) {
      take_failure(session);
      return true;
    }
  }

  void leave(const std::string& reason, SessionLifecycle& session) override {
    if (has_ended(session)) return;
    try {
      if (rounds_.is_outstanding() && follow(rounds_.outstanding(), session)) return;
      if (reason == kEndOfInput) states_->input_has_ended();
      session.services().set_stop_reason(reason);
      rounds_.set_stop_reason(session.services().stop_reason());
      follow(rounds_.exchange(rounds_.vote_with(session.services().save_veto(), stop_bits(session))), session);
    } catch (...) { take_failure(session); }
  }

  void finish(const std::exception_ptr& error, Duration stop_grace_period_secs) override {
    if (rounds_.are_over()) return;
    if (error != nullptr) return fail(error, stop_grace_period_secs);
    settle();
    rounds_.end();
  }

  /// Waits for at least ten seconds.
  void fail(const std::exception_ptr& error, Duration stop_grace_period_secs) noexcept override {
    rounds_.fail(error, (std::max)(stop_grace_period_secs, Duration(std::chrono::seconds(10))));
  }

  [[nodiscard]] bool is_interrupted(bool /*mine*/) const noexcept override { return rounds_.is_interrupted(); }

 private:
  // A second session would take the end of the first one for its own.
  static void expect_first_session(bool& is_another) {
    if (std::exchange(is_another, true))
      throw FailedPreconditionError("the peers of a session are those of an earlier one; make them for each session");
  }

  static std::uint64_t stop_bits(const SessionLifecycle& session) noexcept {
    return session.is_interrupted() ? RankRounds::kStop : RankRounds::kStop | RankRounds::kEnds;
  }

  // True if a thread of this rank has failed, too. Takes no lock as long as none has asked to stop.
  [[nodiscard]] bool has_ended(SessionLifecycle& session) const {
    return rounds_.are_over() || rounds_.has_agreed_to_stop() || session.live() == nullptr ||
           (session.live()->coordinator().should_stop() && !session.thread_errors().empty());
  }

  [[nodiscard]] bool is_due(const SessionLifecycle& session) const {
    return boundary_ % agree_every_n_steps_ == 0 || stops_by_the_step(*session.live());
  }

  Votes wishes(SessionLifecycle& session) {
    wants_stop_ |= session.should_stop_alone();
    std::string reason = session.services().stop_reason();
    if (wants_stop_ && reason.empty()) reason = "one of its threads asked to stop";
    rounds_.set_stop_reason(std::move(reason));
    Votes votes = rounds_.vote((wants_stop_ ? stop_bits(session) : RankRounds::kNothing) |
                               (std::exchange(wishes_save_, false) ? RankRounds::kSave : RankRounds::kNothing));
    votes.least[RankRounds::kBoundary] = votes.greatest[RankRounds::kBoundary] = boundary_;
    states_->add_to(votes);
    return votes;
  }

  bool follow(const Votes& all, SessionLifecycle& session) {
    if ((all.any & RankRounds::kSave) != 0) {
      session.services().grant_save();
      wishes_save_ = false;  // what was asked for meanwhile is in that save, too
    }
    states_->follow(all);
    if (!rounds_.has_agreed_to_stop()) return false;
    session.services().set_stop_reason(rounds_.stop_reason());
    session.live()->request_stop();
    return true;
  }

  bool decide(SessionLifecycle& session) {
    if (is_due(session) && !rounds_.is_outstanding()) rounds_.begin(wishes(session));
    bool stop = false;
    if (rounds_.is_outstanding()) stop = follow(rounds_.outstanding(), session);
    // After a round that began before the last run, which may have been the last of all ranks.
    if (!stop && stops_by_the_step(*session.live())) stop = follow(rounds_.exchange(wishes(session)), session);
    ++boundary_;
    if (!stop && session.live()->take_back_stop()) wants_stop_ = true;  // until the others agree
    return stop;
  }

  void take_failure(SessionLifecycle& session) noexcept {
    rounds_.end();
    try {
      session.live()->coordinator().request_stop(std::current_exception());
    } catch (...) { log_error("the error of another rank is lost: {}", describe(std::current_exception())); }
  }

  RankRounds rounds_;
  std::shared_ptr<RankStatesHook> states_ = std::make_shared<RankStatesHook>(rounds_);
  std::int64_t agree_every_n_steps_;
  bool has_begun_ = false;     // a session, which is the only one
  bool has_joined_ = false;    // the same, with its hooks
  std::int64_t boundary_ = 0;  // the number of decisions so far, including skipped ones
  bool is_undecided_ = true;   // since the last run
  bool has_run_ = false;       // since the last call of `should_stop`
  bool wants_stop_ = false;    // until all ranks agree
  bool wishes_save_ = false;
  std::vector<const SessionRunHook*> only_here_;  // EvaluationHooks
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
  return std::make_shared<detail::RankAgreement>(std::move(collective), options);
}

}  // namespace trainhook
