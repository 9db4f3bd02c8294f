// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_agreement.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/monitored/session_lifecycle.hpp>
#include <trainhook/ranks/rank_failure.hpp>
#include <trainhook/ranks/rank_session_creator.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

// True if a thread of this rank has failed. Takes no lock as long as none has asked to stop.
inline bool has_failed(SessionLifecycle& session) {
  return session.live() == nullptr || (session.live()->coordinator().should_stop() && !session.thread_errors().empty());
}

RankAgreement::RankAgreement(std::shared_ptr<Collective> ranks, const AgreementOptions& options)
    : ranks_(std::move(ranks)), options_(options) {
  if (options.every_n_steps < 1)
    throw InvalidArgumentError("agree_every_n_steps is {}; it must be above 0", options.every_n_steps);
  if (options.max_wait_secs <= Duration::zero())
    throw InvalidArgumentError("max_wait_secs is {} s; it must be above 0: ranks wait for each other",
                               std::chrono::duration<double>(options.max_wait_secs).count());
}

RankAgreement::~RankAgreement() = default;

template <class Talk>
auto RankAgreement::talking(Talk talk) {
  try {
    return talk();
  } catch (...) {
    is_over_ = true;
    is_under_way_ = false;
    std::string why = describe(std::current_exception());
    if (failure_) {
      why += fmt::format(". Its own error was: {}", failure_->message);
    } else if (!reason_.empty() && !has_agreed_to_stop_) {
      why += fmt::format(". It has asked the others to stop: {}", reason_);
    }
    ranks_->end_job(why);
    throw;
  }
}

Votes RankAgreement::vote(std::uint64_t bits) const {
  Votes votes{.any = bits};
  const auto say = [&](Number which) { votes.least[which] = votes.greatest[which] = ranks_->rank(); };
  if ((bits & kFailed) != 0) say(kFirstFailed);
  if ((bits & kStop) != 0) say(kFirstToStop);
  if ((bits & kVeto) != 0) say(kFirstToVeto);
  return votes;
}

Votes RankAgreement::vote_with(const std::optional<std::string>& veto, std::uint64_t bits) {
  objection_ = veto.value_or("");
  return vote(veto ? bits | kVeto : bits);
}

void RankAgreement::begin(const Votes& votes) {
  votes_ = votes;
  talking([&] { ranks_->begin(votes); });
  is_under_way_ = true;
}

Votes RankAgreement::end(Duration max_wait) {
  for (;;) {
    const Votes all = talking([&] { return ranks_->finish(max_wait); });
    is_under_way_ = false;
    take(all, max_wait);
    if ((all.any & kCollect) == 0) return all;
    const Votes mine = votes_;
    if ((all.any & (kVeto | kHeedsVeto)) == (kVeto | kHeedsVeto)) {
      const int first = static_cast<int>(all.least[kFirstToVeto]);
      veto_ = talking([&] { return ranks_->broadcast(objection_, first, max_wait); });
      veto_ = fmt::format("rank {}: {}", first, *veto_);
    } else {
      give(max_wait);
    }
    if (is_collecting_ || (all.any & kStop) != 0) return all;
    begin(mine);
  }
}

void RankAgreement::take(const Votes& all, Duration max_wait) {
  if ((all.any & kFailed) != 0) {
    is_over_ = true;
    first_failed_ = static_cast<int>(all.least[kFirstFailed]);
    const std::string mine = failure_ ? message_bytes(*failure_) : std::string();
    const std::string bytes = talking([&] { return ranks_->broadcast(mine, first_failed_, max_wait); });
    const auto failure = parse_message<RankFailure>(bytes, "the failure of a rank");
    throw_error(failure.code, fmt::format("rank {} has failed: {}", first_failed_, failure.message));
  }
  if (all.least[kBoundary] < all.greatest[kBoundary]) {
    is_over_ = true;
    throw FailedPreconditionError(
        "the loops of the ranks differ: one has asked should_stop() {} times between steps, another one {} times",
        all.least[kBoundary], all.greatest[kBoundary]);
  }
  if ((all.any & kStop) == 0) return;
  const int first = static_cast<int>(all.least[kFirstToStop]);
  reason_ = talking([&] { return ranks_->broadcast(reason_, first, max_wait); });
  if (ranks_->size() > 1) reason_ = fmt::format("rank {}: {}", first, reason_);
  has_agreed_to_stop_ = true;
  is_interrupted_ = (all.any & kEnds) == 0;
}

// What this rank gives, after a round in which all hear of a rank that cannot, before any bytes are sent.
template <class Give>
std::string RankAgreement::given_by_all(Votes& all, Duration max_wait, Give give) {
  std::string mine;
  std::exception_ptr own;
  try {
    mine = give();
  } catch (...) {
    own = std::current_exception();
    failure_ = failure_of(own);
  }
  begin(vote(own != nullptr ? kFailed : kNothing));
  try {
    all = end(max_wait);
  } catch (...) {
    if (own != nullptr && first_failed_ == rank()) std::rethrow_exception(own);
    throw;
  }
  return mine;
}

void RankAgreement::give(Duration max_wait) {
  const std::string order = talking([&] { return ranks_->broadcast(order_, 0, max_wait); });
  Votes all;
  const std::string mine =
      given_by_all(all, max_wait, [&] { return states_ != nullptr ? states_->give(order) : std::string(); });
  given_ = talking([&] { return ranks_->gather(mine, 0, max_wait); });
  if (states_ != nullptr) states_->has_given(order);
}

std::vector<std::string> RankAgreement::collect(const std::string& order) {
  collect(order, kNothing);
  return std::move(given_);
}

std::optional<std::string> RankAgreement::collect_unless_vetoed(const std::string& order,
                                                                std::vector<std::string>& given) {
  veto_.reset();
  collect(order, kHeedsVeto);
  if (!veto_) given = std::move(given_);
  return std::exchange(veto_, std::nullopt);
}

void RankAgreement::collect(const std::string& order, std::uint64_t bits) {
  if (is_over_) throw FailedPreconditionError("the ranks of the job have ended by an error: nothing more is saved");
  if (is_under_way_) held_ = end(options_.max_wait_secs);
  is_collecting_ = true;
  order_ = order;
  try {
    exchange(vote(kCollect | bits));
  } catch (...) {
    is_collecting_ = false;
    throw;
  }
  is_collecting_ = false;
}

void RankAgreement::meet(std::int64_t next_save, const std::optional<std::string>& veto) {
  if (is_over_) return;
  if (is_under_way_) held_ = end(options_.max_wait_secs);
  Votes votes = vote_with(veto, kNothing);
  if (is_chief()) votes.least[kNextSave] = next_save;
  next_save_ = exchange(votes).least[kNextSave];
  is_save_granted_ = false;
  are_parts_written_ = false;
}

bool RankAgreement::meets_at(FunctionRef<std::int64_t()> step) const {
  return !is_over_ && (is_save_granted_ || are_parts_written_ || (next_save_ != kNoStep && step() >= next_save_));
}

// A second session would take the end of the first one for its own.
inline void expect_first_session(bool& is_another) {
  if (std::exchange(is_another, true))
    throw FailedPreconditionError("the peers of a session are those of an earlier one; make them for each session");
}

void RankAgreement::join(Hooks& hooks) {
  expect_first_session(has_joined_);
  const auto last = std::ranges::find(hooks, HookPhase::Report, [](const auto& hook) { return hook->phase(); });
  hooks.insert(last, std::make_shared<RankStatesHook>(*this));
}

Peers& RankAgreement::of(const SessionRunHook& hook) {
  if (std::ranges::find(only_here_, &hook) != only_here_.end()) return none();
  return *this;
}

Votes RankAgreement::exchange(const Votes& votes) {
  begin(votes);
  return end(options_.max_wait_secs);
}

void RankAgreement::expect_same_options(const MonitoredTrainingSessionOptions& options) {
  expect_first_session(has_begun_);
  expect_options_of_job(options);
  Facts facts = facts_about(options);
  facts.emplace_back("agree_every_n_steps", fmt::format("{}", options_.every_n_steps));
  expect_same(facts);
}

void RankAgreement::settle() { exchange(vote(kNothing)); }

void RankAgreement::expect_same(const Facts& facts) {
  const std::string own = fact_bytes(facts);
  Votes votes = vote(kNothing);
  votes.least[kDigest] = votes.greatest[kDigest] = crc32c::value(own);
  const Votes all = exchange(votes);
  if (all.least[kDigest] == all.greatest[kDigest]) return;
  answer_of_chief(own, [](const std::vector<std::string>& of_ranks) -> StartAnswer {
    std::string text;
    for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
      const std::string different = fact_differences(facts_in(of_ranks[rank]), facts_in(of_ranks.front()));
      if (!different.empty()) text += fmt::format("; on rank {} {}", rank, different);
    }
    throw InvalidArgumentError("the ranks of the job must be alike. Compared with rank 0{}", text.substr(1));
  });
}

void RankAgreement::expect_same_program(const Graph& graph, const Hooks& hooks) {
  settle();
  StartAnswer answer =
      answer_of_chief(start_report(graph, hooks), [](const auto& reports) { return answer_to(reports); });
  tensors_in_parts_ = std::move(answer.tensors_in_parts);
  only_here_ = evaluations_of_one_rank(hooks, answer.evaluations_of_all);
  for (const Variable& variable : global_variables(graph)) {
    if (variable.save_slice_info == nullptr && std::ranges::binary_search(tensors_in_parts_, variable.name())) {
      throw InvalidArgumentError(
          "the variable '{}' is whole on this rank, and other ranks have parts of a tensor of that name: say `part_of` "
          "on all ranks, or give one of them another name",
          variable.name());
    }
  }
  expect_same(facts_about(graph, hooks));
}

// All ranks throw what rank 0 does.
StartAnswer RankAgreement::answer_of_chief(
    const std::string& said, FunctionRef<StartAnswer(const std::vector<std::string>& of_ranks)> answer_to) {
  const std::vector<std::string> of_ranks = talking([&] { return ranks_->gather(said, 0, options_.max_wait_secs); });
  std::string bytes;
  if (is_chief()) {
    try {
      bytes = message_bytes(answer_to(of_ranks));
    } catch (...) { bytes = message_bytes(StartAnswer{.refusal = failure_of(std::current_exception())}); }
  }
  bytes = talking([&] { return ranks_->broadcast(std::move(bytes), 0, options_.max_wait_secs); });
  auto answer = parse_message<StartAnswer>(bytes, "what rank 0 says of the ranks");
  if (answer.refusal.message.empty()) return answer;
  is_over_ = true;
  throw_error(answer.refusal.code, answer.refusal.message);
}

std::string RankAgreement::from_chief(std::string bytes) {
  settle();
  return talking([&] { return ranks_->broadcast(std::move(bytes), 0, options_.max_wait_secs); });
}

std::string RankAgreement::same_for_all(FunctionRef<std::string()> give) {
  if (is_over_) throw FailedPreconditionError("the ranks of the job have ended by an error: they share nothing more");
  if (is_under_way_) held_ = end(options_.max_wait_secs);
  Votes all;
  std::string mine = given_by_all(all, options_.max_wait_secs, give);
  if ((all.any & kStop) != 0) return mine;  // the rank that has asked to stop is not here
  return talking([&] { return ranks_->broadcast(std::move(mine), 0, options_.max_wait_secs); });
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

std::vector<std::string> RankAgreement::to_chief(const std::string& bytes) {
  settle();
  return talking([&] { return ranks_->gather(bytes, 0, options_.max_wait_secs); });
}

std::shared_ptr<SessionCreator> RankAgreement::creator(std::shared_ptr<ChiefSessionCreator> alone) {
  return std::make_shared<RankSessionCreator>(shared_from_this(), *alone);
}

std::uint64_t RankAgreement::stop_bits(const SessionLifecycle& session) noexcept {
  return session.is_interrupted() ? kStop : kStop | kEnds;
}

bool RankAgreement::is_due(const SessionLifecycle& session) const {
  return boundary_ % options_.every_n_steps == 0 || stops_by_the_step(*session.live());
}

Votes RankAgreement::wishes(SessionLifecycle& session) {
  wants_stop_ |= session.should_stop_alone();
  reason_ = session.services().stop_reason();
  if (wants_stop_ && reason_.empty()) reason_ = "one of its threads asked to stop";
  std::uint64_t bits =
      (wants_stop_ ? stop_bits(session) : kNothing) | (std::exchange(wishes_save_, false) ? kSave : kNothing);
  if (states_ != nullptr && states_->awaits_parts()) bits |= states_->is_writing() ? kAwaits | kWrites : kAwaits;
  Votes votes = vote(bits);
  votes.least[kBoundary] = votes.greatest[kBoundary] = boundary_;
  if (is_chief()) votes.least[kNextSave] = chiefs_next_save_;
  return votes;
}

Votes RankAgreement::outstanding() {
  if (!held_) return end(options_.max_wait_secs);
  const Votes held = *held_;
  held_.reset();
  return held;
}

bool RankAgreement::follow(const Votes& all, SessionLifecycle& session) {
  if ((all.any & kSave) != 0) {
    session.services().grant_save();
    wishes_save_ = false;  // what was asked for meanwhile is in that save, too
    is_save_granted_ = true;
  }
  if ((all.any & (kAwaits | kWrites)) == kAwaits) are_parts_written_ = true;
  next_save_ = all.least[kNextSave];
  if (has_agreed_to_stop_) {
    session.services().set_stop_reason(reason_);
    session.live()->request_stop();
  }
  return has_agreed_to_stop_;
}

void RankAgreement::begin_round(SessionLifecycle& session) {
  is_undecided_ = true;
  if (is_over_ || has_agreed_to_stop_ || has_failed(session)) return;
  try {  // a loop that never asks should_stop() decides here
    if (std::exchange(has_run_, true) && decide(session)) return;
    if (!is_outstanding() && is_due(session)) begin(wishes(session));
  } catch (...) { take_failure(session); }
}

bool RankAgreement::decide(SessionLifecycle& session) {
  if (is_due(session) && !is_outstanding()) begin(wishes(session));
  bool stop = false;
  if (is_outstanding()) stop = follow(outstanding(), session);
  // After a round that began before the last run, which may have been the last of all ranks.
  if (!stop && stops_by_the_step(*session.live())) stop = follow(exchange(wishes(session)), session);
  ++boundary_;
  if (!stop && session.live()->take_back_stop()) wants_stop_ = true;  // until the others agree
  return stop;
}

std::optional<bool> RankAgreement::should_stop(SessionLifecycle& session) noexcept {
  if (is_over_ || has_agreed_to_stop_) return true;
  try {
    if (has_failed(session)) return true;  // `close` tells the others
    if (session.is_busy()) return stops_by_the_step(*session.live());
    has_run_ = false;
    return std::exchange(is_undecided_, false) && decide(session);
  } catch (...) {
    take_failure(session);
    return true;
  }
}

void RankAgreement::leave(const std::string& reason, SessionLifecycle& session) {
  if (is_over_ || has_agreed_to_stop_ || has_failed(session)) return;
  try {
    if (is_outstanding() && follow(outstanding(), session)) return;
    is_at_end_of_input_ = reason == kEndOfInput;
    session.services().set_stop_reason(reason);
    reason_ = session.services().stop_reason();
    follow(exchange(vote_with(session.services().save_veto(), stop_bits(session))), session);
  } catch (...) { take_failure(session); }
}

void RankAgreement::finish(const std::exception_ptr& error, Duration stop_grace_period_secs) {
  if (is_over_) return;
  if (error != nullptr) return fail(error, stop_grace_period_secs);
  settle();
  is_over_ = true;
}

void RankAgreement::fail(const std::exception_ptr& error, Duration stop_grace_period_secs) noexcept {
  if (is_over_) return;
  const Duration max_wait = (std::max)(stop_grace_period_secs, Duration(std::chrono::seconds(10)));
  try {
    failure_ = failure_of(error);
    log_error("rank {} has failed, and tells the other ranks: {}", ranks_->rank(), failure_->message);
    if (is_under_way_) static_cast<void>(end(max_wait));
    begin(vote(kFailed));
    static_cast<void>(end(max_wait));
  } catch (...) {  // its own error again, or another one
    if (first_failed_ != ranks_->rank())
      log_error("rank {} has failed, and its error is not the first: {}", ranks_->rank(),
                describe(std::current_exception()));
  }
  is_over_ = true;
}

void RankAgreement::take_failure(SessionLifecycle& session) noexcept {
  is_over_ = true;
  try {
    session.live()->coordinator().request_stop(std::current_exception());
  } catch (...) { log_error("the error of another rank is lost: {}", describe(std::current_exception())); }
}

}  // namespace trainhook::detail
