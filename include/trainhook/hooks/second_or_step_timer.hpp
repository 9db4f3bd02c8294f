// SPDX-License-Identifier: Apache-2.0
/// @file
/// SecondOrStepTimer: decides when something periodic is due again, by steps or by time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Tells when something is due: every N steps or every T seconds. Asking changes nothing; `update_last_triggered_step`
/// notes that it was done. Time is monotonic and passed in, so that a period in steps never reads a clock. Source:
/// TensorFlow's `SecondOrStepTimer`.
///
/// A timer that is made with its hook is part of the hook's state: a run that is killed and goes on triggers at the
/// same steps as one that was not. Made without a hook it is TensorFlow's, and starts over with each process.
///
///     class EveryHundredSteps : public SessionRunHook {
///       SecondOrStepTimer timer_{*this, {.every_steps = 100}};
///     };
class SecondOrStepTimer {
 public:
  struct Options {
    OptionalDuration every_secs{};
    std::optional<std::int64_t> every_steps{};
    bool align = false;  ///< with `every_steps`: due at its multiples, whatever the last step was
  };

  SecondOrStepTimer(SecondOrStepTimer&&) noexcept = default;  // with its hook
  SecondOrStepTimer& operator=(SecondOrStepTimer&&) noexcept = default;

  /// What elapsed between two triggers. `steps` is negative if the step went back.
  struct Elapsed {
    Duration time{};
    std::int64_t steps = 0;
  };

  /// A timer that is saved and restored with the state of `hook`, of which it is a member. A period in seconds is due
  /// at once after a restart. @throws as below.
  TRAINHOOK_DECL SecondOrStepTimer(SessionRunHook& hook, Options options, std::string_view owner = "SecondOrStepTimer",
                                   std::string_view secs_name = "every_secs",
                                   std::string_view steps_name = "every_steps");

  /// @throws InvalidArgumentError unless exactly one positive period is given; its message uses `owner` and the names
  /// of the options.
  TRAINHOOK_DECL explicit SecondOrStepTimer(Options options, std::string_view owner = "SecondOrStepTimer",
                                            std::string_view secs_name = "every_secs",
                                            std::string_view steps_name = "every_steps");

  /// True if it is due at `step`: never twice at the same step, and always before the first trigger.
  [[nodiscard]] TRAINHOOK_DECL bool should_trigger_for_step(std::int64_t step, Duration now) const noexcept;

  /// The same in a run. The run's time is read only for a period in seconds.
  [[nodiscard]] TRAINHOOK_DECL bool should_trigger_for_step(std::int64_t step, SessionRunContext& context) const;

  /// Notes a trigger. Returns what elapsed since the last one, or nothing for the first.
  TRAINHOOK_DECL std::optional<Elapsed> update_last_triggered_step(std::int64_t step, Duration now) noexcept;

  /// Notes a trigger. The time is read only for a period in seconds.
  TRAINHOOK_DECL void update_last_triggered_step(std::int64_t step, SessionRunContext& context);
  TRAINHOOK_DECL void update_last_triggered_step(std::int64_t step, Clock& clock);

  /// The step of a trigger in an earlier process; a period in seconds is due at once.
  void set_last_triggered_step(std::int64_t step) noexcept {
    mark().step = step;
    mark().time.reset();
  }

  [[nodiscard]] std::optional<std::int64_t> last_triggered_step() const noexcept { return mark().step; }
  [[nodiscard]] bool uses_seconds() const noexcept { return options_.every_secs.has_value(); }

  /// From which step on a period in steps is due; the lowest of all before the first trigger, nothing for seconds.
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
  detail::TimerMark* kept_ = nullptr;  // by the hook, if there is one
  detail::TimerMark own_;
};

namespace detail {

/// The global step, which `hook` needs. @throws FailedPreconditionError if the graph has none.
TRAINHOOK_DECL Variable require_global_step(const Graph& graph, std::string_view hook);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/second_or_step_timer.ipp>
#endif
