// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/looper_thread.hpp>

#include <chrono>
#include <stop_token>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook {

LooperThread::LooperThread(Coordinator& coordinator, LooperThreadOptions options)
    : coordinator_(&coordinator), options_(std::move(options)) {
  if (options_.timer_interval_secs && *options_.timer_interval_secs < Duration::zero()) {
    throw InvalidArgumentError(
        "LooperThread: timer_interval_secs is {}; it must not be negative, and none at all calls back to back",
        std::chrono::duration<double>(*options_.timer_interval_secs).count());
  }
  if (!options_.target) throw InvalidArgumentError("LooperThread: target is empty; give the function to be called");
}

void LooperThread::start() const {
  coordinator_->start_thread([options = options_, &clock = coordinator_->clock()](const std::stop_token& stop) {
    if (options.start_loop) options.start_loop();
    Duration next = clock.monotonic_now();
    while (!stop.stop_requested()) {
      options.target();
      if (!options.timer_interval_secs) continue;
      next += *options.timer_interval_secs;
      detail::wait_for_stop(stop, clock, next);
    }
    if (options.stop_loop) options.stop_loop();
  });
}

LooperThread LooperThread::loop(Coordinator& coordinator, std::optional<Duration> timer_interval_secs,
                                std::function<void()> target) {
  LooperThread looper(coordinator, {.timer_interval_secs = timer_interval_secs, .target = std::move(target)});
  looper.start();
  return looper;
}

}  // namespace trainhook
