// SPDX-License-Identifier: Apache-2.0
/// @file
/// NeverTriggerTimer: a timer that is never due.
#pragma once

#include <cstdint>
#include <optional>

#include <trainhook/core/duration.hpp>
#include <trainhook/session/second_or_step_timer.hpp>

namespace trainhook {

class SessionRunContext;

/// Replaces a SecondOrStepTimer if something is due only at the end: never due, and records nothing. Source:
/// TensorFlow's `NeverTriggerTimer`.
class NeverTriggerTimer {
 public:
  [[nodiscard]] static constexpr bool should_trigger_for_step(std::int64_t /*step*/, Duration /*now*/) noexcept {
    return false;
  }
  [[nodiscard]] static bool should_trigger_for_step(std::int64_t /*step*/, SessionRunContext& /*context*/) noexcept {
    return false;
  }
  static std::optional<SecondOrStepTimer::Elapsed> update_last_triggered_step(std::int64_t /*step*/,
                                                                              Duration /*now*/) noexcept {
    return std::nullopt;
  }
  [[nodiscard]] static constexpr std::optional<std::int64_t> last_triggered_step() noexcept { return std::nullopt; }
  static constexpr void reset() noexcept {}
};

}  // namespace trainhook
