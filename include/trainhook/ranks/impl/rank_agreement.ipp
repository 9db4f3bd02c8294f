// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_agreement.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/monitored/session_lifecycle.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/ranks/rank_facts.hpp>
#include <trainhook/ranks/rank_session_creator.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

// True if a thread of this rank has failed. Takes no lock as long as none has asked to stop.
inline bool has_failed(SessionLifecycle& session) {
  return session.live() == nullptr || (session.live()->coordinator().should_stop() && !session.thread_errors().empty());
}

RankAgreement::RankAgreement(std::shared_ptr<Collective> ranks, std::int64_t agree_every_n_steps,
                             Duration max_wait_secs)
    : rounds_(std::move(ranks), max_wait_secs),
      states_(std::make_shared<RankStatesHook>(rounds_)),
      agree_every_n_steps_(agree_every_n_steps) {}

RankAgreement::~RankAgreement() = default;

// A second session would take the end of the first one for its own.
inline void expect_first_session(bool& is_another) {
  if (std::exchange(is_another, true))
    throw FailedPreconditionError("the peers of a session are those of an earlier one; make them for each session");
}

void RankAgreement::join(Hooks& hooks) {
  expect_first_session(has_joined_);
  const auto last = std::ranges::find(hooks, HookPhase::Report, [](const auto& hook) { return hook->phase(); });
  hooks.insert(last, states_);
}

Peers& RankAgreement::of(const SessionRunHook& hook) {
  if (std::ranges::find(only_here_, &hook) != only_here_.end()) return none();
  return *this;
}

void RankAgreement::expect_same_options(const MonitoredTrainingSessionOptions& options) {
  expect_first_session(has_begun_);
  expect_options_of_job(options);
  Facts facts = facts_about(options);
  facts.emplace_back("agree_every_n_steps", fmt::format("{}", agree_every_n_steps_));
  rounds_.expect_same(facts);
}

void RankAgreement::expect_same_program(const Graph& graph, const Hooks& hooks) {
  settle();
  auto answer = parse_message<StartAnswer>(
      rounds_.answer_of_chief(start_report(graph, hooks),
                              [](const auto& reports) { return message_bytes(answer_to(reports)); }),
      "what rank 0 says of the ranks");
  only_here_ = evaluations_of_one_rank(hooks, answer.evaluations_of_all);
  for (const Variable& variable : global_variables(graph)) {
    if (variable.save_slice_info == nullptr && std::ranges::binary_search(answer.tensors_in_parts, variable.name())) {
      throw InvalidArgumentError(
          "the variable '{}' is whole on this rank, and other ranks have parts of a tensor of that name: say `part_of` "
          "on all ranks, or give one of them another name",
          variable.name());
    }
  }
  rounds_.expect_same(facts_about(graph, hooks));
  states_->set_tensors_in_parts(std::move(answer.tensors_in_parts));
}

std::vector<double> RankAgreement::share(FunctionRef<std::vector<double>()> give) {
  const std::string bytes = same_for_all([&] {
    const std::vector<double> values = give();
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  });
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

std::shared_ptr<SessionCreator> RankAgreement::creator(std::shared_ptr<ChiefSessionCreator> alone) {
  return std::make_shared<RankSessionCreator>(rounds_, *alone);
}

inline std::uint64_t stop_bits(const SessionLifecycle& session) noexcept {
  return session.is_interrupted() ? RankRounds::kStop : RankRounds::kStop | RankRounds::kEnds;
}

bool RankAgreement::has_ended(SessionLifecycle& session) const {
  return rounds_.are_over() || rounds_.has_agreed_to_stop() || has_failed(session);
}

bool RankAgreement::is_due(const SessionLifecycle& session) const {
  return boundary_ % agree_every_n_steps_ == 0 || stops_by_the_step(*session.live());
}

Votes RankAgreement::wishes(SessionLifecycle& session) {
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

bool RankAgreement::follow(const Votes& all, SessionLifecycle& session) {
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

void RankAgreement::begin_round(SessionLifecycle& session) {
  is_undecided_ = true;
  if (has_ended(session)) return;
  try {  // a loop that never asks should_stop() decides here
    if (std::exchange(has_run_, true) && decide(session)) return;
    if (!rounds_.is_outstanding() && is_due(session)) rounds_.begin(wishes(session));
  } catch (...) { take_failure(session); }
}

bool RankAgreement::decide(SessionLifecycle& session) {
  if (is_due(session) && !rounds_.is_outstanding()) rounds_.begin(wishes(session));
  bool stop = false;
  if (rounds_.is_outstanding()) stop = follow(rounds_.outstanding(), session);
  // After a round that began before the last run, which may have been the last of all ranks.
  if (!stop && stops_by_the_step(*session.live())) stop = follow(rounds_.exchange(wishes(session)), session);
  ++boundary_;
  if (!stop && session.live()->take_back_stop()) wants_stop_ = true;  // until the others agree
  return stop;
}

std::optional<bool> RankAgreement::should_stop(SessionLifecycle& session) noexcept {
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

void RankAgreement::leave(const std::string& reason, SessionLifecycle& session) {
  if (has_ended(session)) return;
  try {
    if (rounds_.is_outstanding() && follow(rounds_.outstanding(), session)) return;
    if (reason == kEndOfInput) states_->input_has_ended();
    session.services().set_stop_reason(reason);
    rounds_.set_stop_reason(session.services().stop_reason());
    follow(rounds_.exchange(rounds_.vote_with(session.services().save_veto(), stop_bits(session))), session);
  } catch (...) { take_failure(session); }
}

void RankAgreement::finish(const std::exception_ptr& error, Duration stop_grace_period_secs) {
  if (rounds_.are_over()) return;
  if (error != nullptr) return fail(error, stop_grace_period_secs);
  settle();
  rounds_.end();
}

void RankAgreement::fail(const std::exception_ptr& error, Duration stop_grace_period_secs) noexcept {
  rounds_.fail(error, (std::max)(stop_grace_period_secs, Duration(std::chrono::seconds(10))));
}

void RankAgreement::take_failure(SessionLifecycle& session) noexcept {
  rounds_.end();
  try {
    session.live()->coordinator().request_stop(std::current_exception());
  } catch (...) { log_error("the error of another rank is lost: {}", describe(std::current_exception())); }
}

}  // namespace trainhook::detail
