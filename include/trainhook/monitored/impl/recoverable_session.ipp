// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of recoverable_session.hpp.
#pragma once

#include <trainhook/monitored/recoverable_session.hpp>

#include <cmath>
#include <stop_token>
#include <string_view>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

RecoverableSession::RecoverableSession(SessionCreator& creator, const Hooks& hooks, SessionServices& services,
                                       Duration stop_grace_period_secs, RetryPolicy policy)
    : creator_(&creator),
      hooks_(&hooks),
      services_(&services),
      stop_grace_period_secs_(stop_grace_period_secs),
      policy_(std::move(policy)) {
  validate(policy_);
  const Busy busy(is_busy_);
  with_retries([this] { create(); });
}

void RecoverableSession::run(const RunRequest& request, std::span<Tensor> results) {
  attempt(gives_results(request), [&] { session_->run(request, results); });
}

void RecoverableSession::run_with(FunctionRef<void(CoordinatedSession&)> body, bool gives_result) {
  attempt(gives_result, [&] {
    session_->guarded([&] {
      services_->prepare_step_function(session_->session());
      body(*session_);
    });
  });
}

void RecoverableSession::request_stop() noexcept {
  if (session_ != nullptr) {
    session_->request_stop();
  } else {
    stop_since_ = HookedSession::kAlways;
  }
}

bool RecoverableSession::should_stop() noexcept {
  if (session_ == nullptr) return true;
  if (is_busy_) {  // a loss is up to the outer run
    if (!session_->should_stop()) return false;
    const std::exception_ptr error = session_->coordinator().error();
    return session_->stop_requested() || error == nullptr || !is_loss(error);
  }
  const Busy busy(is_busy_);
  try {
    while (session_->should_stop()) {
      const std::exception_ptr error = session_->coordinator().error();
      if (error == nullptr || !is_loss(error)) return true;
      prepare_recovery(error);
      with_retries([this] { create(); });
    }
    return false;
  } catch (...) {
    loss_ = std::current_exception();
    log_error("the session could not be recreated: {}", describe(loss_));
    services_->set_session({});
    session_.reset();
    return true;
  }
}

std::vector<std::exception_ptr> RecoverableSession::errors() const {
  if (session_ != nullptr) return without_losses(session_->errors());
  return loss_ != nullptr ? std::vector{loss_} : std::vector<std::exception_ptr>();
}

std::vector<std::exception_ptr> RecoverableSession::close() {
  if (session_ == nullptr) return {};
  services_->set_session({});
  const std::unique_ptr<CoordinatedSession> last = std::move(session_);
  return without_losses(last->close());
}

void RecoverableSession::validate(const RetryPolicy& policy) {
  if (policy.max_attempts < 0)
    throw InvalidArgumentError("RetryPolicy: max_attempts is {}; it must not be negative", policy.max_attempts);
  const auto check_duration = [](std::string_view option, Duration value) {
    if (value < Duration::zero()) {
      throw InvalidArgumentError("RetryPolicy: {} is {} s; it must not be negative", option,
                                 std::chrono::duration<double>(value).count());
    }
  };
  check_duration("window", policy.window);
  check_duration("initial_backoff", policy.initial_backoff);
  check_duration("max_backoff", policy.max_backoff);
}

bool RecoverableSession::is_loss(const std::exception_ptr& error) const noexcept {
  if (policy_.max_attempts == 0 || !services_->process().is_here()) return false;
  if (is_preemption(error) || !policy_.is_transient) return is_preemption(error);
  try {
    return policy_.is_transient(error);
  } catch (...) {
    log_error("RetryPolicy: is_transient threw, which counts as no: {}", describe(std::current_exception()));
    return false;
  }
}

bool RecoverableSession::gives_results(const RunRequest& request) {
  return request.metadata != nullptr || request.step_gives_result ||
         std::ranges::any_of(request.fetches, [](const Fetch& fetch) { return !fetch.is_operation(); });
}

std::vector<std::exception_ptr> RecoverableSession::without_losses(std::vector<std::exception_ptr> errors) const {
  std::erase_if(errors, [this](const std::exception_ptr& error) { return is_loss(error); });
  return errors;
}

void RecoverableSession::create() {
  session_ = std::make_unique<CoordinatedSession>(*creator_, *hooks_, *services_, stop_grace_period_secs_,
                                                  [this](const std::exception_ptr& error) { return is_loss(error); });
  services_->set_session(session_->session());
  if (pending_ || stop_since_) {
    const std::optional<std::int64_t> resumed_at = step_of(session_->session());
    repeat_stop(resumed_at);
    if (pending_) report(resumed_at);
  }
  was_made_ = true;
}

bool RecoverableSession::is_over() { return session_->should_stop() && session_->coordinator().error() == nullptr; }

void RecoverableSession::prepare_recovery(const std::exception_ptr& error) {
  if (!pending_) pending_.emplace();
  pending_->cause = error;
  keep_stop();
  services_->set_session({});
  if (session_ != nullptr) {
    pending_->lost_at = step_of(session_->session());
    static_cast<void>(session_->close(true));  // its errors are in the log
    session_.reset();
  }
  const Duration now = services_->clock().monotonic_now();
  while (!recent_.empty() && now - recent_.front() > policy_.window) recent_.pop_front();
  if (static_cast<std::int64_t>(recent_.size()) >= policy_.max_attempts) {
    log_error(
        "the session is lost and not recreated: {} recoveries within the window of the retry policy, which allows {}",
        recent_.size(), policy_.max_attempts);
    std::rethrow_exception(error);
  }
  services_->wait_for_background_saves();
  if (policy_.require_checkpoint && was_made_ && !creator_->has_checkpoint()) {
    log_error("the session is lost, and there is no checkpoint to resume from; the retry policy requires one");
    std::rethrow_exception(error);
  }
  recent_.push_back(now);
  pending_->attempt = static_cast<std::int64_t>(recent_.size());
  log_warning("the session is lost and recreated, attempt {}: {}", pending_->attempt, describe(error));
  back_off(recent_.size());
}

void RecoverableSession::back_off(std::size_t attempt) {
  if (attempt < 2 || policy_.initial_backoff <= Duration::zero()) return;
  const double doublings = static_cast<double>((std::min<std::size_t>)(attempt - 2, 30));
  const double longest = static_cast<double>(policy_.max_backoff.count());
  const double wanted =
      (std::min)(longest, static_cast<double>(policy_.initial_backoff.count()) * std::exp2(doublings));
  const double jitter = std::uniform_real_distribution<double>(0.5, 1.0)(jitter_);
  Clock& clock = services_->clock();
  wait_for_stop(std::stop_token(), clock, deadline_after(clock, Duration(static_cast<Duration::rep>(wanted * jitter))));
}

void RecoverableSession::keep_stop() {
  const bool is_interruption = services_->is_interrupted();
  std::string reason = services_->take_stop_reason();
  if (session_ == nullptr) return;  // what hooks request while a session is created, they request again
  stop_is_interruption_ = false;
  if (const std::optional<std::int64_t> since = session_->stop_since()) {
    stop_since_ = since;
    stop_reason_ = std::move(reason);
    stop_is_interruption_ = is_interruption;
  }
  if (session_->thread_requested_stop()) {
    stop_since_ = HookedSession::kAlways;
    if (!stop_is_interruption_) stop_reason_ = "a background thread requested a stop";
  }
}

void RecoverableSession::repeat_stop(std::optional<std::int64_t> resumed_at) {
  const std::optional<std::int64_t> since = std::exchange(stop_since_, std::nullopt);
  if (!since) return;
  if (resumed_at && *resumed_at < *since) {
    log_warning(
        "a hook had requested a stop at step {} ({}), and the session continues from step {}: the request is dropped, "
        "and the hook is asked again",
        *since, stop_reason_, *resumed_at);
    return;
  }
  session_->request_stop(*since);
  services_->set_stop_reason(stop_reason_, stop_is_interruption_);
  log_warning("a stop had been requested before the session was lost: the loop ends here");
}

void RecoverableSession::report(std::optional<std::int64_t> resumed_at) {
  Recovery recovery = *std::exchange(pending_, std::nullopt);
  recovery.resumed_at = resumed_at;
  if (recovery.lost_at && recovery.resumed_at) {
    log_warning("recovered at step {}; {} steps are lost", *recovery.resumed_at,
                *recovery.lost_at - *recovery.resumed_at);
  } else {
    log_warning("recovered");
  }
  if (was_made_ && creator_->is_chief() && services_->restored_from().empty()) {
    log_warning("there was no checkpoint to resume from: training starts again from initial values");
  }
  if (policy_.on_recovery)
    detail::call_of_user("on_recovery of RetryPolicy", {}, [&] { policy_.on_recovery(recovery); });
}

std::optional<std::int64_t> RecoverableSession::step_of(SessionRef session) noexcept {
  try {
    if (const std::optional<Variable> step = get_global_step(session.graph())) return read_global_step(session, *step);
  } catch (...) {  // a lost session need not answer
  }
  return std::nullopt;
}

}  // namespace trainhook::detail
