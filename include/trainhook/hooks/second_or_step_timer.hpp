// SPDX-License-Identifier: Apache-2.0
/// @file
/// SecondOrStepTimer: decides when something periodic is due again, by steps or by time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

/// Says every how many steps, or after how much time, something is due. Time is monotonic and handed in, so that a period in steps never
/// reads a clock. Asking changes nothing: whoever acts says so by `update_last_triggered_step`.
/// Source: TensorFlow's `SecondOrStepTimer`.
class SecondOrStepTimer {
 public:
  struct Options {
    std::optional<Duration> every_secs{};
    std::optional<std::int64_t> every_steps{};
    bool align = false;  ///< with `every_steps`: due whenever a multiple of it is reached, wherever the last time was
  };

  /// What lies between two triggers. `steps` is negative where the step went back.
  struct Elapsed {
    Duration time{};
    std::int64_t steps = 0;
  };

  /// @throws InvalidArgumentError unless exactly one period is given and it is above zero; `owner` and the names of the options are for its
  /// message.
  explicit SecondOrStepTimer(Options options, std::string_view owner = "SecondOrStepTimer", std::string_view secs_name = "every_secs",
                             std::string_view steps_name = "every_steps")
      : options_(options) {
    if (options.every_secs.has_value() == options.every_steps.has_value()) {
      throw InvalidArgumentError(owner, ": exactly one of ", secs_name, " and ", steps_name, " must be given, not ",
                                 options.every_secs ? "both" : "neither");
    }
    if (options.every_secs && *options.every_secs <= Duration::zero()) {
      throw InvalidArgumentError(owner, ": ", secs_name, " is ", std::chrono::duration<double>(*options.every_secs).count(),
                                 " s; it must be above 0");
    }
    if (options.every_steps && *options.every_steps <= 0) {
      throw InvalidArgumentError(owner, ": ", steps_name, " is ", *options.every_steps, "; it must be above 0");
    }
    if (options.align && !options.every_steps) {
      throw InvalidArgumentError(owner, ": only a period in steps can be aligned; give ", steps_name);
    }
  }

  /// Whether it is due at `step`: never twice at the same step, and always where it never triggered.
  [[nodiscard]] bool should_trigger_for_step(std::int64_t step, Duration now) const noexcept {
    return is_due(step, [now] { return now; });
  }

  /// The same within a run, whose time is read only for a period in seconds.
  [[nodiscard]] bool should_trigger_for_step(std::int64_t step, SessionRunContext& context) const {
    return is_due(step, [&context] { return context.now(); });
  }

  /// Notes that it triggered. What elapsed since the time before, or nothing at the first time.
  std::optional<Elapsed> update_last_triggered_step(std::int64_t step, Duration now) noexcept {
    std::optional<Elapsed> elapsed;
    if (last_step_ && last_time_) elapsed = Elapsed{now - *last_time_, step - *last_step_};
    last_step_ = step;
    last_time_ = now;
    return elapsed;
  }

  /// Notes a trigger whose time does not matter: it is only known, or needed, for a period in seconds.
  void update_last_triggered_step(std::int64_t step, SessionRunContext& context) {
    set_last_triggered_step(step);
    if (uses_seconds()) last_time_ = context.now();
  }
  void update_last_triggered_step(std::int64_t step, Clock& clock) {
    set_last_triggered_step(step);
    if (uses_seconds()) last_time_ = clock.monotonic_now();
  }

  /// The step of a trigger in an earlier process; a period in seconds is due at once.
  void set_last_triggered_step(std::int64_t step) noexcept {
    last_step_ = step;
    last_time_.reset();
  }

  [[nodiscard]] std::optional<std::int64_t> last_triggered_step() const noexcept { return last_step_; }
  [[nodiscard]] bool uses_seconds() const noexcept { return options_.every_secs.has_value(); }

  /// Forgets that it ever triggered.
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

  // How many whole periods lie below `step`, rounded down for negative steps too.
  [[nodiscard]] std::int64_t periods(std::int64_t step) const noexcept {
    const std::int64_t every = *options_.every_steps;
    return step / every - (step % every < 0 ? 1 : 0);
  }

  Options options_;
  std::optional<std::int64_t> last_step_;
  std::optional<Duration> last_time_;
};

namespace detail {

/// The global step that `hook` cannot do without. @throws FailedPreconditionError where the graph has none.
inline Variable require_global_step(const Graph& graph, std::string_view hook) {
  if (std::optional<Variable> step = get_global_step(graph)) return *std::move(step);
  throw FailedPreconditionError("Global step should be created to use ", hook,
                                ": call get_or_create_global_step(graph) before the session is made");
}

}  // namespace detail
}  // namespace trainhook
