// SPDX-License-Identifier: Apache-2.0
/// @file
/// SecondOrStepTimer: decides when something periodic is due again, by steps or by time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

/// Tells when something is due: every N steps or every T seconds. Asking changes nothing; `update_last_triggered_step`
/// notes that it was done. Time is monotonic and passed in, so that a period in steps never reads a clock. Source:
/// TensorFlow's `SecondOrStepTimer`.
class SecondOrStepTimer {
 public:
  struct Options {
    std::optional<Duration> every_secs{};
    std::optional<std::int64_t> every_steps{};
    bool align = false;  ///< with `every_steps`: due at its multiples, whatever the last step was
  };

  /// What elapsed between two triggers. `steps` is negative if the step went back.
  struct Elapsed {
    Duration time{};
    std::int64_t steps = 0;
  };

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
    last_step_ = step;
    last_time_.reset();
  }

  [[nodiscard]] std::optional<std::int64_t> last_triggered_step() const noexcept { return last_step_; }
  [[nodiscard]] bool uses_seconds() const noexcept { return options_.every_secs.has_value(); }

  /// Forgets all triggers.
  void reset() noexcept {
    last_step_.reset();
    last_time_.reset();
  }

 private:
  template <class Now>
  [[nodiscard]] bool is_due(std::int64_t step, const Now& now) const {
    if (!last_step_) return true;
    if (step == *last_step_) return false;
    if (uses_seconds()) return !last_time_ || now() - *last_time_ >= *options_.every_secs;
    if (options_.align) return periods(step) > periods(*last_step_);
    return step - *last_step_ >= *options_.every_steps;
  }

  // The number of whole periods up to `step`, rounded down for negative steps too.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t periods(std::int64_t step) const noexcept;

  Options options_;
  std::optional<std::int64_t> last_step_;
  std::optional<Duration> last_time_;
};

namespace detail {

/// The global step, which `hook` needs. @throws FailedPreconditionError if the graph has none.
TRAINHOOK_DECL Variable require_global_step(const Graph& graph, std::string_view hook);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/second_or_step_timer.ipp>
#endif
