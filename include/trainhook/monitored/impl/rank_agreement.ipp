// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of rank_agreement.hpp.
#pragma once

#include <trainhook/monitored/rank_agreement.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>

#include <fmt/core.h>

#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/process_identity.hpp>
#include <trainhook/monitored/coordinated_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/monitored/rank_session_creator.hpp>
#include <trainhook/monitored/recoverable_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

// An error as bytes: a byte for the code, then the message. What would look like the end of input, or like a session
// that may be recreated, gets another code: on the other ranks it is neither.
TRAINHOOK_DECL std::string failure_bytes(const std::exception_ptr& error) {
  ErrorCode code = ErrorCode::Unknown;
  std::string message = error != nullptr ? describe(error) : "an exception that the library did not see";
  try {
    if (error != nullptr) std::rethrow_exception(error);
  } catch (const Error& known) {
    code = known.code();
    message = known.what();
  } catch (...) {  // of another family
  }
  if (code == ErrorCode::OutOfRange || code == ErrorCode::Aborted || code == ErrorCode::Unavailable)
    code = ErrorCode::FailedPrecondition;
  return static_cast<char>(code) + message;
}

TRAINHOOK_DECL ErrorCode failure_code(std::string_view bytes) { return static_cast<ErrorCode>(bytes.at(0)); }

TRAINHOOK_DECL std::string fact_bytes(const Facts& facts) {
  std::string bytes;
  for (const auto& [name, value] : facts) {
    bytes.append(name).push_back('\0');
    bytes.append(value).push_back('\0');
  }
  return bytes;
}

TRAINHOOK_DECL Facts facts_in(std::string_view bytes) {
  Facts facts;
  const auto take = [&] {
    const std::string_view text = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(text.size() + 1);
    return std::string(text);
  };
  while (!bytes.empty()) {
    std::string name = take();
    facts.emplace_back(std::move(name), take());
  }
  return facts;
}

// What differs between two ranks, for people; empty if nothing does.
TRAINHOOK_DECL std::string fact_differences(const Facts& mine, const Facts& chiefs) {
  std::string text;
  const auto add = [&](std::string difference) { text += (text.empty() ? "" : ", ") + difference; };
  for (const auto& [name, value] : mine) {
    const auto same = std::ranges::find(chiefs, name, &Facts::value_type::first);
    if (same == chiefs.end()) {
      add(fmt::format("{} is '{}' and not there", name, value));
    } else if (same->second != value) {
      add(fmt::format("{} is '{}' and not '{}'", name, value, same->second));
    }
  }
  for (const auto& [name, value] : chiefs) {
    if (std::ranges::find(mine, name, &Facts::value_type::first) == mine.end())
      add(fmt::format("{} is not there and not '{}'", name, value));
  }
  return text;
}

// True if a thread of this rank has failed. Takes no lock as long as none has asked to stop.
TRAINHOOK_DECL bool has_failed(RecoverableSession& session) {
  return session.session() == nullptr || (session.session()->coordinator().should_stop() && !session.errors().empty());
}

TRAINHOOK_DECL Facts facts_about(const Graph& graph, const Hooks& hooks) {
  const RunRecord record = run_record_of(graph);
  Facts facts = {{"the digest of the program's file", fmt::format("{:08x}", program_digest())},
                 {"the digest of the graph", fmt::format("{:08x}", record.graph_digest)},
                 {"the graph's random seed", fmt::format("{}", record.random_seed)}};
  for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
    const auto* stop = dynamic_cast<const StopAtStepHook*>(hook.get());
    if (stop == nullptr) continue;
    const bool is_last = stop->options().last_step.has_value();
    facts.emplace_back(is_last ? "StopAtStepHook's last_step" : "StopAtStepHook's num_steps",
                       fmt::format("{}", is_last ? *stop->options().last_step : *stop->options().num_steps));
  }
  return facts;
}

TRAINHOOK_DECL RankAgreement::RankAgreement(std::shared_ptr<Collective> ranks, const AgreementOptions& options)
    : ranks_(std::move(ranks)), options_(options) {
  if (options.every_n_steps < 1)
    throw InvalidArgumentError("agree_every_n_steps is {}; it must be above 0", options.every_n_steps);
  if (options.max_wait_secs <= Duration::zero())
    throw InvalidArgumentError("max_wait_secs is {} s; it must be above 0: ranks wait for each other",
                               std::chrono::duration<double>(options.max_wait_secs).count());
}

TRAINHOOK_DECL RankAgreement::~RankAgreement() = default;

TRAINHOOK_DECL Facts facts_about(const MonitoredTrainingSessionOptions& options) {
  const auto steps = [](const std::optional<std::int64_t>& period) {
    return period ? fmt::format("{}", *period) : std::string("none");
  };
  const auto time = [](const std::optional<Duration>& period) {
    return period ? fmt::format("{} s", std::chrono::duration<double>(*period).count()) : std::string("none");
  };
  return {{"checkpoint_dir", options.checkpoint_dir},
          {"save_checkpoint_steps", steps(options.save_checkpoint_steps)},
          {"save_checkpoint_secs", time(options.save_checkpoint_secs)},
          {"save_summaries_steps", steps(options.save_summaries_steps)},
          {"save_summaries_secs", time(options.save_summaries_secs)},
          {"agree_every_n_steps", fmt::format("{}", options.agree_every_n_steps)}};
}

template <class Talk>
auto RankAgreement::talking(Talk talk) {
  try {
    return talk();
  } catch (...) {
    is_over_ = true;
    is_under_way_ = false;
    const std::string why = describe(std::current_exception());
    ranks_->end_job(
        failure_.empty() ? why : fmt::format("{}. Its own error was: {}", why, std::string_view(failure_).substr(1)));
    throw;
  }
}

TRAINHOOK_DECL Votes RankAgreement::vote(std::uint64_t bits) const {
  Votes votes{.any = bits};
  const auto say = [&](Number which) { votes.least[which] = votes.greatest[which] = ranks_->rank(); };
  if ((bits & kFailed) != 0) say(kFirstFailed);
  if ((bits & kStop) != 0) say(kFirstToStop);
  return votes;
}

TRAINHOOK_DECL void RankAgreement::begin(Votes votes) {
  talking([&] { ranks_->begin(votes); });
  is_under_way_ = true;
}

TRAINHOOK_DECL Votes RankAgreement::end(Duration max_wait) {
  const Votes all = talking([&] { return ranks_->finish(max_wait); });
  is_under_way_ = false;
  if ((all.any & kFailed) != 0) {
    is_over_ = true;
    first_failed_ = static_cast<int>(all.least[kFirstFailed]);
    const std::string failure = talking([&] { return ranks_->broadcast(failure_, first_failed_, max_wait); });
    throw_error(failure_code(failure),
                fmt::format("rank {} has failed: {}", first_failed_, std::string_view(failure).substr(1)));
  }
  if (all.least[kBoundary] < all.greatest[kBoundary]) {
    is_over_ = true;
    throw FailedPreconditionError(
        "the loops of the ranks differ: one has asked should_stop() {} times between steps, another one {} times",
        all.least[kBoundary], all.greatest[kBoundary]);
  }
  if ((all.any & kStop) != 0) {
    const int first = static_cast<int>(all.least[kFirstToStop]);
    reason_ = talking([&] { return ranks_->broadcast(reason_, first, max_wait); });
    if (ranks_->size() > 1) reason_ = fmt::format("rank {}: {}", first, reason_);
    has_agreed_to_stop_ = true;
  }
  return all;
}

TRAINHOOK_DECL Votes RankAgreement::round(Votes votes) {
  begin(votes);
  return end(options_.max_wait_secs);
}

TRAINHOOK_DECL void RankAgreement::settle() { round(vote(kNothing)); }

TRAINHOOK_DECL void RankAgreement::expect_same(const Facts& facts) {
  settle();
  const std::vector<std::string> all =
      talking([&] { return ranks_->all_gather(fact_bytes(facts), options_.max_wait_secs); });
  const Facts chiefs = facts_in(all.front());
  std::string text;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::string different = fact_differences(facts_in(all[rank]), chiefs);
    if (!different.empty()) text += fmt::format("; on rank {} {}", rank, different);
  }
  if (text.empty()) return;
  is_over_ = true;  // all ranks see it
  throw InvalidArgumentError("the ranks of the job must be alike. Compared with rank 0{}", text.substr(1));
}

TRAINHOOK_DECL std::string RankAgreement::from_chief(std::string bytes) {
  settle();
  return talking([&] { return ranks_->broadcast(std::move(bytes), 0, options_.max_wait_secs); });
}

TRAINHOOK_DECL std::shared_ptr<SessionCreator> RankAgreement::session_creator(Graph& graph, SessionOpener open,
                                                                              ChiefSessionCreatorOptions options) {
  return std::make_shared<RankSessionCreator>(shared_from_this(), graph, std::move(open), std::move(options));
}

TRAINHOOK_DECL bool RankAgreement::is_due(const RecoverableSession& session) const {
  return boundary_ % options_.every_n_steps == 0 || session.session()->stops_on_all_ranks();
}

TRAINHOOK_DECL Votes RankAgreement::wishes(RecoverableSession& session, HookServices& services) {
  wants_stop_ |= session.should_stop();
  reason_ = services.stop_reason();
  Votes votes = vote((wants_stop_ ? kStop : kNothing) | (services.take_save_wish() ? kSave : kNothing));
  votes.least[kBoundary] = votes.greatest[kBoundary] = boundary_;
  return votes;
}

TRAINHOOK_DECL bool RankAgreement::follow(const Votes& all, RecoverableSession& session, HookServices& services) {
  if ((all.any & kSave) != 0) services.grant_save();
  if (has_agreed_to_stop_) {
    services.set_stop_reason(reason_);
    session.session()->request_stop();
  }
  return has_agreed_to_stop_;
}

TRAINHOOK_DECL void RankAgreement::begin_round(RecoverableSession& session, HookServices& services) {
  is_undecided_ = true;
  if (is_under_way_ || is_over_ || has_agreed_to_stop_ || has_failed(session)) return;
  if (is_due(session)) begin(wishes(session, services));
}

TRAINHOOK_DECL bool RankAgreement::decide(RecoverableSession& session, HookServices& services) {
  if (is_due(session) && !is_under_way_) begin(wishes(session, services));
  bool stop = false;
  if (is_under_way_) stop = follow(end(options_.max_wait_secs), session, services);
  // After a round that began before the last run, which may have been the last of all ranks.
  if (!stop && session.session()->stops_on_all_ranks())
    stop = follow(round(wishes(session, services)), session, services);
  ++boundary_;
  if (!stop && session.session()->take_back_stop()) wants_stop_ = true;  // until the others agree
  return stop;
}

TRAINHOOK_DECL bool RankAgreement::should_stop(RecoverableSession& session, HookServices& services) noexcept {
  if (is_over_ || has_agreed_to_stop_) return true;
  try {
    if (has_failed(session)) return true;  // `close` tells the others
    return std::exchange(is_undecided_, false) && decide(session, services);
  } catch (...) {
    take_failure(session);
    return true;
  }
}

TRAINHOOK_DECL void RankAgreement::ask_to_stop(const std::string& reason, RecoverableSession& session,
                                               HookServices& services) {
  if (is_over_ || has_agreed_to_stop_ || has_failed(session)) return;
  try {
    if (is_under_way_ && follow(end(options_.max_wait_secs), session, services)) return;
    services.set_stop_reason(reason);
    reason_ = services.stop_reason();
    follow(round(vote(kStop)), session, services);
  } catch (...) { take_failure(session); }
}

TRAINHOOK_DECL void RankAgreement::finish(const std::exception_ptr& error) {
  if (is_over_) return;
  if (error != nullptr) return fail(error);
  settle();
  is_over_ = true;
}

TRAINHOOK_DECL void RankAgreement::fail(const std::exception_ptr& error) noexcept {
  if (is_over_) return;
  try {
    failure_ = failure_bytes(error);
    if (is_under_way_) static_cast<void>(end(options_.stop_grace_period_secs));
    begin(vote(kFailed));
    static_cast<void>(end(options_.stop_grace_period_secs));
  } catch (...) {  // its own error again, or another one
    if (first_failed_ != ranks_->rank())
      log_error("rank {} has failed, and its error is not the first: {}", ranks_->rank(),
                describe(std::current_exception()));
  }
  is_over_ = true;
}

TRAINHOOK_DECL void RankAgreement::take_failure(RecoverableSession& session) noexcept {
  is_over_ = true;
  try {
    session.session()->coordinator().request_stop(std::current_exception());
  } catch (...) { log_error("the error of another rank is lost: {}", describe(std::current_exception())); }
}

}  // namespace trainhook::detail
