// SPDX-License-Identifier: Apache-2.0
/// @file
/// RetryPolicy: when a lost session is made again. RecoveryPolicy: applies it to one session.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

class Clock;

/// The report of one recovery.
struct Recovery {
  std::exception_ptr cause{};                ///< the error that ended the session
  std::int64_t attempt = 0;                  ///< 1 for the first within the policy's window
  std::optional<std::int64_t> lost_at{};     ///< the global step at the loss, if it could be read
  std::optional<std::int64_t> resumed_at{};  ///< the global step of the new session
};

/// When a lost session is recreated. The defaults recover from AbortedError and UnavailableError, up to ten times in
/// ten minutes.
struct RetryPolicy {
  int max_attempts = 10;                            ///< recoveries within `window`; 0: never recover
  Duration window = std::chrono::minutes(10);       ///< older recoveries are forgotten
  Duration initial_backoff = Duration::zero();      ///< before the second attempt in a row; doubles, with jitter
  Duration max_backoff = std::chrono::seconds(30);  ///< the longest such wait
  bool require_checkpoint = false;                  ///< no recovery if training would restart from initial values
  std::function<bool(const std::exception_ptr&)> is_transient{};  ///< true for further errors that count as a loss
  std::function<void(const Recovery&)> on_recovery{};             ///< called after every recovery
};

namespace detail {

/// True for the errors after which TensorFlow makes a session again: AbortedError and UnavailableError.
[[nodiscard]] inline bool is_preemption(const std::exception_ptr& error) noexcept {
  return is_any_of<AbortedError, UnavailableError>(error);
}

/// Applies a RetryPolicy to one monitored session, and knows only its errors.
class RecoveryPolicy {
 public:
  /// `clock` must outlive this.
  RecoveryPolicy(RetryPolicy policy, Clock& clock) : policy_(std::move(policy)), clock_(&clock) {}

  /// @throws InvalidArgumentError for a negative number.
  TRAINHOOK_DECL void validate() const;

  /// True for errors after which the session is made again: a preemption, and what the user calls transient.
  [[nodiscard]] TRAINHOOK_DECL bool is_loss(const std::exception_ptr& error) const noexcept;

  [[nodiscard]] TRAINHOOK_DECL std::vector<std::exception_ptr> without_losses(
      std::vector<std::exception_ptr> errors) const;

  /// Returns if one more recovery is allowed now. @throws `error`, after a log line, if not.
  TRAINHOOK_DECL void expect_another(const std::exception_ptr& error);

  [[nodiscard]] bool requires_checkpoint() const noexcept { return policy_.require_checkpoint; }

  /// Notes that recovery and returns its number: 1 for the first within the policy's window.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t begin_attempt();

  /// Waits before the second attempt in a row and those after it.
  TRAINHOOK_DECL void back_off() const;

  /// Tells the user's `on_recovery`.
  TRAINHOOK_DECL void report(const Recovery& recovery) const;

 private:
  RetryPolicy policy_;
  Clock* clock_;
  Duration asked_at_{};
  std::vector<Duration> recent_;  // when the recoveries within the window began
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/recovery_policy.ipp>
#endif
