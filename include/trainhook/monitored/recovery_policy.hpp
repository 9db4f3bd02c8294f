// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecoveryPolicy: which errors are losses of a session, how often it may be made again, and how long to wait before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/monitored_session_options.hpp>

namespace trainhook {

class Clock;

namespace detail {

/// Applies a RetryPolicy to one monitored session, of which it knows nothing but the errors.
class RecoveryPolicy {
 public:
  /// @throws InvalidArgumentError for a negative number. `clock` must outlive this.
  TRAINHOOK_DECL RecoveryPolicy(RetryPolicy policy, Clock& clock);

  /// True for errors after which the session is made again: AbortedError and UnavailableError, as in TensorFlow, and
  /// what the user calls transient.
  [[nodiscard]] TRAINHOOK_DECL bool is_loss(const std::exception_ptr& error) const noexcept;

  [[nodiscard]] TRAINHOOK_DECL std::vector<std::exception_ptr> without_losses(
      std::vector<std::exception_ptr> errors) const;

  /// Returns if one more recovery is allowed now. @throws `error`, after a log line, if not.
  TRAINHOOK_DECL void expect_another(const std::exception_ptr& error);

  [[nodiscard]] bool requires_checkpoint() const noexcept { return policy_.require_checkpoint; }

  /// Notes a recovery and returns its number: 1 for the first within the policy's window.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t begin_attempt();

  /// Waits before the second attempt in a row and those after it.
  TRAINHOOK_DECL void back_off() const;

  /// Tells the user's `on_recovery`.
  TRAINHOOK_DECL void report(const Recovery& recovery) const;

 private:
  RetryPolicy policy_;
  Clock* clock_;
  std::vector<Duration> recent_;  // when the recoveries within the window began
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/recovery_policy.ipp>
#endif
