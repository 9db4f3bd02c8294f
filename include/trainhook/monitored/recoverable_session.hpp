// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecoverableSession: makes the session anew when it is lost, within a retry policy, and reports every time it does.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/monitored/coordinated_session.hpp>

namespace trainhook {

/// One recovery, as it is reported.
struct Recovery {
  std::exception_ptr cause{};                ///< what the session was lost to
  std::int64_t attempt = 0;                  ///< 1 for the first within the policy's window
  std::optional<std::int64_t> lost_at{};     ///< global step when it was lost, where that could be told
  std::optional<std::int64_t> resumed_at{};  ///< global step of the new session
};

/// When a lost session is made anew. The defaults recover from Aborted and Unavailable up to ten times in ten minutes.
struct RetryPolicy {
  int max_attempts = 10;                               ///< recoveries within `window`; 0 recovers never: a loss is an error as any other
  Duration window = std::chrono::minutes(10);          ///< recoveries longer ago than this are forgotten
  Duration initial_backoff = std::chrono::seconds(0);  ///< wait before the second attempt in a row; doubles each time, with jitter
  Duration max_backoff = std::chrono::seconds(30);
  bool require_checkpoint = false;                                ///< refuse to recover where that would train again from initial values
  std::function<bool(const std::exception_ptr&)> is_transient{};  ///< further errors that count as a loss; must not throw, which says no
  std::function<void(const Recovery&)> on_recovery{};             ///< told after every recovery
};

/// What becomes of a run whose session was lost, when the loop is over with the new one, so that the run is not repeated.
enum class IfOver {
  Return,  ///< nobody waits for a result: the loop ends at its next `should_stop()`
  Throw,   ///< OutOfRangeError, as at the end of input
};

/// Keeps a coordinated session alive. Source: TensorFlow's `_RecoverableSession`, which retries for ever and at once.
class RecoverableSession {
 public:
  RecoverableSession(SessionCreator& creator, const Hooks& hooks, Environment& environment, Duration stop_grace_period_secs,
                     RetryPolicy policy)
      : creator_(&creator),
        hooks_(&hooks),
        environment_(&environment),
        stop_grace_period_secs_(stop_grace_period_secs),
        policy_(std::move(policy)) {
    check(policy_);
    with_retries([this] { create(); });
  }

  [[nodiscard]] CoordinatedSession* session() const noexcept { return session_.get(); }

  /// Runs; a loss of the session is answered by a new one and the whole request again, unless the loop is over with it.
  void run(const RunRequest& request, std::span<Tensor> results) {
    attempt(gives_results(request) ? IfOver::Throw : IfOver::Return, [&] { session_->run(request, results); });
  }

  /// Calls `body(session)` in the same way: from its start again after a loss.
  void run_with(FunctionRef<void(CoordinatedSession&)> body, IfOver if_over) {
    attempt(if_over, [&] { session_->guarded([&] { body(*session_); }); });
  }

  /// Whether the loop should end. A background thread that lost the session is answered here too. Never throws: where the session cannot
  /// be made anew, `loss()` has the error.
  [[nodiscard]] bool should_stop() noexcept {
    if (session_ == nullptr) return true;
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
      log_error("the session could not be made anew: ", describe(loss_));
      session_.reset();
      return true;
    }
  }

  /// Why `should_stop()` could not make the session anew; null where it could, or where a run has taken it up since.
  [[nodiscard]] const std::exception_ptr& loss() const noexcept { return loss_; }

  /// What background threads have reported, first error first; a loss of the session, which no longer matters at its end, is left out
  /// unless it is that end.
  [[nodiscard]] std::vector<std::exception_ptr> errors() const {
    if (session_ != nullptr) return without_losses(session_->coordinator().errors());
    return loss_ != nullptr ? std::vector{loss_} : std::vector<std::exception_ptr>();
  }

  /// Closes the session. Gives the same.
  std::vector<std::exception_ptr> close() {
    if (session_ == nullptr) return {};
    const std::unique_ptr<CoordinatedSession> last = std::move(session_);
    return without_losses(last->close());
  }

 private:
  static void check(const RetryPolicy& policy) {
    if (policy.max_attempts < 0)
      throw InvalidArgumentError("RetryPolicy: max_attempts is ", policy.max_attempts, "; it must not be negative");
    const auto check_duration = [](std::string_view option, Duration value) {
      if (value < Duration::zero()) {
        throw InvalidArgumentError("RetryPolicy: ", option, " is ", std::chrono::duration<double>(value).count(),
                                   " s; it must not be negative");
      }
    };
    check_duration("window", policy.window);
    check_duration("initial_backoff", policy.initial_backoff);
    check_duration("max_backoff", policy.max_backoff);
  }

  [[nodiscard]] bool is_loss(const std::exception_ptr& error) const noexcept {
    if (policy_.max_attempts == 0) return false;
    if (is_preemption(error) || !policy_.is_transient) return is_preemption(error);
    try {
      return policy_.is_transient(error);
    } catch (...) {
      log_error("RetryPolicy: is_transient threw, which counts as no: ", describe(std::current_exception()));
      return false;
    }
  }

  static bool gives_results(const RunRequest& request) {
    return request.metadata != nullptr || request.step_gives_result ||
           std::ranges::any_of(request.fetches, [](const Fetch& fetch) { return !fetch.is_operation(); });
  }

  [[nodiscard]] std::vector<std::exception_ptr> without_losses(std::vector<std::exception_ptr> errors) const {
    std::erase_if(errors, [this](const std::exception_ptr& error) { return is_loss(error); });
    return errors;
  }

  void create() {
    session_ = std::make_unique<CoordinatedSession>(*creator_, *hooks_, *environment_, stop_grace_period_secs_);
    if (stop_requested_) session_->request_stop();
    if (pending_) report();
    was_made_ = true;
  }

  // A hook asked for the end, before the loss or of the new session. What a thread reports is no such thing: the run hears of it.
  [[nodiscard]] bool is_over() { return session_->should_stop() && session_->coordinator().error() == nullptr; }

  template <class Body>
  void attempt(IfOver if_over, Body body) {
    loss_ = nullptr;
    bool over = false;
    with_retries([&] {
      if (session_ == nullptr) {
        create();
        over = is_over();
      }
      if (!over) body();
    });
    if (over && if_over == IfOver::Throw)
      throw OutOfRangeError(
          "the session was lost and made anew at its end, so the run is not repeated; leave the loop as at the end of input");
  }

  template <class Body>
  void with_retries(Body body) {
    for (;;) {
      try {
        return body();
      } catch (...) {
        const std::exception_ptr error = std::current_exception();
        if (!is_loss(error)) throw;
        prepare_recovery(error);
      }
    }
  }

  // Takes down what is lost and waits; rethrows where the policy allows no further attempt.
  void prepare_recovery(const std::exception_ptr& error) {
    if (!pending_) pending_.emplace();
    pending_->cause = error;
    if (session_ != nullptr) {
      pending_->lost_at = step_of(session_->session());
      stop_requested_ |= session_->stop_requested();
      static_cast<void>(session_->close());  // its errors are in the log
      session_.reset();
    }
    const Duration now = environment_->clock().monotonic_now();
    while (!recent_.empty() && now - recent_.front() > policy_.window) recent_.pop_front();
    if (static_cast<std::int64_t>(recent_.size()) >= policy_.max_attempts) {
      log_error("the session is lost and not made anew: ", recent_.size(),
                " recoveries within the window of the retry policy, which allows ", policy_.max_attempts);
      std::rethrow_exception(error);
    }
    if (policy_.require_checkpoint && was_made_ && !creator_->has_checkpoint()) {
      log_error("the session is lost, and there is no checkpoint to go on from; the retry policy requires one");
      std::rethrow_exception(error);
    }
    recent_.push_back(now);
    pending_->attempt = static_cast<std::int64_t>(recent_.size());
    log_warning("the session is lost and made anew, attempt ", pending_->attempt, ": ", describe(error));
    back_off(recent_.size());
  }

  void back_off(std::size_t attempt) {
    if (attempt < 2 || policy_.initial_backoff <= Duration::zero()) return;
    const double doublings = static_cast<double>(std::min<std::size_t>(attempt - 2, 30));
    const double longest = static_cast<double>(policy_.max_backoff.count());
    const double wanted = (std::min)(longest, static_cast<double>(policy_.initial_backoff.count()) * std::exp2(doublings));
    const double jitter = std::uniform_real_distribution<double>(0.5, 1.0)(jitter_);
    Clock& clock = environment_->clock();
    wait_for_stop(std::stop_token(), clock, deadline_after(clock, Duration(static_cast<Duration::rep>(wanted * jitter))));
  }

  void report() {
    Recovery recovery = *std::exchange(pending_, std::nullopt);
    recovery.resumed_at = step_of(session_->session());
    if (recovery.lost_at && recovery.resumed_at) {
      log_warning("recovered at step ", *recovery.resumed_at, "; ", *recovery.lost_at - *recovery.resumed_at, " steps are lost");
    } else {
      log_warning("recovered");
    }
    if (stop_requested_) log_warning("a hook had requested a stop before the session was lost: the loop ends here");
    if (was_made_ && creator_->is_chief() && environment_->restored_from().empty()) {
      log_warning("there was no checkpoint to go on from: training starts again from initial values");
    }
    if (policy_.on_recovery) policy_.on_recovery(recovery);
  }

  static std::optional<std::int64_t> step_of(SessionRef session) noexcept {
    try {
      if (const std::optional<Variable> step = get_global_step(session.graph())) return read_global_step(session, *step);
    } catch (...) {  // a lost session need not answer
    }
    return std::nullopt;
  }

  SessionCreator* creator_;
  const Hooks* hooks_;
  Environment* environment_;
  Duration stop_grace_period_secs_;
  RetryPolicy policy_;
  std::unique_ptr<CoordinatedSession> session_;
  std::optional<Recovery> pending_;
  std::deque<Duration> recent_;
  std::minstd_rand jitter_{std::random_device{}()};  // every process waits another while
  bool stop_requested_ = false;                      // by a hook, of a session that was lost
  bool was_made_ = false;                            // before that there is nothing to lose
  std::exception_ptr loss_;
};

}  // namespace trainhook
