// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/session/second_or_step_timer.hpp>

#include <limits>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook {

SecondOrStepTimer::SecondOrStepTimer(SessionRunHook& hook, Options options, std::string_view owner,
                                     std::string_view secs_name, std::string_view steps_name)
    : SecondOrStepTimer(options, owner, secs_name, steps_name) {
  kept_ = &detail::HookAccess::add_timer(hook);
}

SecondOrStepTimer::SecondOrStepTimer(Options options, std::string_view owner, std::string_view secs_name,
                                     std::string_view steps_name)
    : options_(options) {
  if (options.every_secs.has_value() == options.every_steps.has_value()) {
    throw InvalidArgumentError("{}: exactly one of {} and {} must be given, not {}", owner, secs_name, steps_name,
                               options.every_secs ? "both" : "neither");
  }
  if (options.every_secs && *options.every_secs <= Duration::zero()) {
    throw InvalidArgumentError("{}: {} is {} s; it must be above 0", owner, secs_name,
                               std::chrono::duration<double>(*options.every_secs).count());
  }
  if (options.every_steps && *options.every_steps <= 0) {
    throw InvalidArgumentError("{}: {} is {}; it must be above 0", owner, steps_name, *options.every_steps);
  }
  if (options.align && !options.every_steps) {
    throw InvalidArgumentError("{}: only a period in steps can be aligned; give {}", owner, steps_name);
  }
}

bool SecondOrStepTimer::should_trigger_for_step(std::int64_t step, Duration now) const noexcept {
  return is_due(step, [now] { return now; });
}

bool SecondOrStepTimer::should_trigger_for_step(std::int64_t step, SessionRunContext& context) const {
  return is_due(step, [&context] { return context.now(); });
}

std::optional<SecondOrStepTimer::Elapsed> SecondOrStepTimer::update_last_triggered_step(std::int64_t step,
                                                                                        Duration now) noexcept {
  std::optional<Elapsed> elapsed;
  detail::TimerMark& last = mark();
  if (last.step && last.time) elapsed = Elapsed{now - *last.time, step - *last.step};
  last.step = step;
  last.time = now;
  return elapsed;
}

void SecondOrStepTimer::update_last_triggered_step(std::int64_t step, SessionRunContext& context) {
  set_last_triggered_step(step);
  if (uses_seconds()) mark().time = context.now();
}

void SecondOrStepTimer::update_last_triggered_step(std::int64_t step, Clock& clock) {
  set_last_triggered_step(step);
  if (uses_seconds()) mark().time = clock.monotonic_now();
}

bool SecondOrStepTimer::trigger_if_due(std::int64_t step, SessionRunContext& context) {
  const bool triggers = should_trigger_for_step(step, context);
  if (triggers) update_last_triggered_step(step, context);
  return triggers;
}

std::optional<std::int64_t> SecondOrStepTimer::next_step() const noexcept {
  if (uses_seconds()) return std::nullopt;
  const std::optional<std::int64_t>& last = mark().step;
  if (!last) return std::numeric_limits<std::int64_t>::lowest();
  const std::int64_t start = options_.align ? periods(*last) * *options_.every_steps : *last;
  std::int64_t next = 0;
  const bool is_beyond = __builtin_add_overflow(start, *options_.every_steps, &next);
  return is_beyond ? (std::numeric_limits<std::int64_t>::max)() : next;
}

std::int64_t SecondOrStepTimer::periods(std::int64_t step) const noexcept {
  const std::int64_t every = *options_.every_steps;
  return step / every - (step % every < 0 ? 1 : 0);
}

}  // namespace trainhook
