// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/recovery_policy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stop_token>
#include <string_view>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/io/random_number.hpp>
#include <trainhook/session/coordinator.hpp>

namespace trainhook::detail {

inline void check_duration(std::string_view option, Duration value) {
  if (value >= Duration::zero()) return;
  throw InvalidArgumentError("RetryPolicy: {} is {} s; it must not be negative", option,
                             std::chrono::duration<double>(value).count());
}

void RecoveryPolicy::validate() const {
  if (policy_.max_attempts < 0)
    throw InvalidArgumentError("RetryPolicy: max_attempts is {}; it must not be negative", policy_.max_attempts);
  check_duration("window", policy_.window);
  check_duration("initial_backoff", policy_.initial_backoff);
  check_duration("max_backoff", policy_.max_backoff);
}

bool RecoveryPolicy::is_loss(const std::exception_ptr& error) const noexcept {
  if (policy_.max_attempts == 0) return false;
  if (is_preemption(error) || !policy_.is_transient) return is_preemption(error);
  try {
    return policy_.is_transient(error);
  } catch (...) {
    log_error("RetryPolicy: is_transient threw, which counts as no: {}", describe(std::current_exception()));
    return false;
  }
}

std::vector<std::exception_ptr> RecoveryPolicy::without_losses(std::vector<std::exception_ptr> errors) const {
  std::erase_if(errors, [this](const std::exception_ptr& error) { return is_loss(error); });
  return errors;
}

void RecoveryPolicy::expect_another(const std::exception_ptr& error) {
  asked_at_ = clock_->monotonic_now();
  std::erase_if(recent_, [&](Duration begin) { return asked_at_ - begin > policy_.window; });
  if (static_cast<std::int64_t>(recent_.size()) < policy_.max_attempts) return;
  log_error(
      "the session is lost and not recreated: {} recoveries within the window of the retry policy, which allows {}",
      recent_.size(), policy_.max_attempts);
  std::rethrow_exception(error);
}

std::int64_t RecoveryPolicy::begin_attempt() {
  recent_.push_back(asked_at_);
  return static_cast<std::int64_t>(recent_.size());
}

void RecoveryPolicy::back_off() const {
  if (recent_.size() < 2 || policy_.initial_backoff <= Duration::zero()) return;
  const double doublings = static_cast<double>((std::min<std::size_t>)(recent_.size() - 2, 30));
  const Duration wanted = (std::min)(policy_.max_backoff, Duration(policy_.initial_backoff * std::exp2(doublings)));
  // Half of it or more, so that processes that were lost together do not come back together.
  const double jitter = 0.5 + std::ldexp(static_cast<double>(random_number() >> 11), -54);
  wait_for_stop(std::stop_token(), *clock_, clock_->monotonic_now() + Duration(wanted * jitter));
}

void RecoveryPolicy::report(const Recovery& recovery) const {
  if (policy_.on_recovery) call_of_user("on_recovery of RetryPolicy", {}, [&] { policy_.on_recovery(recovery); });
}

}  // namespace trainhook::detail
