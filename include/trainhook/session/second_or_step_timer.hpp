// SPDX-License-Identifier: Apache-2.0
/// @file
/// SecondOrStepTimer: tells when something periodic is due, by steps or by time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class Clock;

/// Tells when something is due: every N steps or every T seconds. `should_trigger_for_step` changes nothing;
/// `update_last_triggered_step` records a trigger; `trigger_if_due`, an addition, does both. The caller passes
/// monotonic time, so a period in steps never reads a clock. Source: TensorFlow's `SecondOrStepTimer`.
///
/// A timer that is constructed with its hook is part of the hook's state: a resumed run triggers at the same steps as
/// an uninterrupted one. A timer without a hook, as in TensorFlow, starts over in each process.
///
///     class EveryHundredSteps : public SessionRunHook {
///       SecondOrStepTimer timer_{*this, {.every_steps = 100}};
///     };
class SecondOrStepTimer {
 public:
  struct Options {
    OptionalDuration every_secs{};
    std::optional<std::int64_t> every_steps{};
    bool align = false;  ///< with `every_steps`: due at multiples of it, whatever the last step was
  };

  SecondOrStepTimer(SecondOrStepTimer&&) noexcept = default;  // moves with its hook
  SecondOrStepTimer& operator=(SecondOrStepTimer&&) noexcept = default;

  /// The time and steps between two triggers. `steps` is negative if the step went back.
  struct Elapsed {
    Duration time{};
    std::int64_t steps = 0;
  };

  /// A timer that is a member of `hook`, and is saved and restored with the state of that. A period in seconds is due
  /// immediately after a restart. @throws as below.
  TRAINHOOK_DECL SecondOrStepTimer(SessionRunHook& hook, Options options, std::string_view owner = "SecondOrStepTimer",
                                   std::string_view secs_name = "every_secs",
                                   std::string_view steps_name = "every_steps");

  /// @throws InvalidArgumentError, which names `owner` and its options, unless exactly one positive period is given.
  TRAINHOOK_DECL explicit SecondOrStepTimer(Options options, std::string_view owner = "SecondOrStepTimer",
                                            std::string_view secs_name = "every_secs",
                                            std::string_view steps_name = "every_steps");

  /// True if it is due at `step`: never twice at the same step, and always before the first trigger.
  [[nodiscard]] TRAINHOOK_DECL bool should_trigger_for_step(std::int64_t step, Duration now) const noexcept;

  /// The same in a run. Reads the run's time only for a period in seconds.
  [[nodiscard]] TRAINHOOK_DECL bool should_trigger_for_step(std::int64_t step, SessionRunContext& context) const;

  /// Records a trigger. Returns the time and steps since the last one, or nothing for the first.
  TRAINHOOK_DECL std::optional<Elapsed> update_last_triggered_step(std::int64_t step, Duration now) noexcept;

  /// Records a trigger. Reads the time only for a period in seconds.
  TRAINHOOK_DECL void update_last_triggered_step(std::int64_t step, SessionRunContext& context);
  TRAINHOOK_DECL void update_last_triggered_step(std::int64_t step, Clock& clock);

  /// Both: records a trigger if it is due at `step`, and returns whether it was.
  [[nodiscard]] TRAINHOOK_DECL bool trigger_if_due(std::int64_t step, SessionRunContext& context);

  /// Records the step of a trigger in an earlier process; a period in seconds is then due immediately.
  void set_last_triggered_step(std::int64_t step) noexcept {
    mark().step = step;
    mark().time.reset();
  }

  [[nodiscard]] std::optional<std::int64_t> last_triggered_step() const noexcept { return mark().step; }
  [[nodiscard]] bool uses_seconds() const noexcept { return options_.every_secs.has_value(); }

  /// The first step at which a period in steps is due, the lowest integer before the first trigger; nothing for
  /// seconds.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> next_step() const noexcept;

  /// Forgets all triggers.
  void reset() noexcept { mark() = {}; }

  /// For `after_create_session`: forgets all triggers, unless they were restored with this session.
  void reset_unless_restored() noexcept {
    if (!std::exchange(mark().restored, false)) reset();
  }

 private:
  [[nodiscard]] detail::TimerMark& mark() noexcept { return kept_ != nullptr ? *kept_ : own_; }
  [[nodiscard]] const detail::TimerMark& mark() const noexcept { return kept_ != nullptr ? *kept_ : own_; }

  template <class Now>
  [[nodiscard]] bool is_due(std::int64_t step, const Now& now) const {
    const detail::TimerMark& last = mark();
    if (!last.step) return true;
    if (step == *last.step) return false;
    if (uses_seconds()) return !last.time || now() - *last.time >= *options_.every_secs;
    if (options_.align) return periods(step) > periods(*last.step);
    return step - *last.step >= *options_.every_steps;
  }

  // The number of whole periods up to `step`, rounded down for negative steps too.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t periods(std::int64_t step) const noexcept;

  Options options_;
  detail::TimerMark* kept_ = nullptr;  // owned by the hook, if there is one
  detail::TimerMark own_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/second_or_step_timer.ipp>
#endif
