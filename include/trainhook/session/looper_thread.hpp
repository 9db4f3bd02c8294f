// SPDX-License-Identifier: Apache-2.0
/// @file
/// LooperThread: a thread that does the same thing again and again until it is asked to stop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include <trainhook/session/coordinator.hpp>

namespace trainhook {

/// What such a thread does. Source: the methods of TensorFlow's `LooperThread`.
struct LooperThreadOptions {
  std::optional<Duration> timer_interval_secs{};  ///< between the beginnings of two calls; nothing: back to back
  std::function<void()> target{};                 ///< called in each round
  std::function<void()> start_loop{};             ///< once before the first round; may be empty
  std::function<void()> stop_loop{};              ///< once after the last round, unless an error ended it; may be empty
};

/// Calls its target at once, then at fixed multiples of the interval from there: late calls catch up and the schedule does not drift. It
/// waits on the coordinator's clock and is woken by a stop request. An error of the target requests a stop with it.
/// Source: TensorFlow's `LooperThread`.
class LooperThread {
 public:
  /// `coordinator` must outlive this object; its clock, and what the functions use, must outlive the thread.
  /// @throws InvalidArgumentError for a negative interval, or without a target.
  LooperThread(Coordinator& coordinator, LooperThreadOptions options) : coordinator_(&coordinator), options_(std::move(options)) {
    if (options_.timer_interval_secs && *options_.timer_interval_secs < Duration::zero()) {
      throw InvalidArgumentError("LooperThread: timer_interval_secs is ",
                                 std::chrono::duration<double>(*options_.timer_interval_secs).count(),
                                 "; it must not be negative, and none at all calls back to back");
    }
    if (!options_.target) throw InvalidArgumentError("LooperThread: target is empty; give the function to be called");
  }

  /// Starts a thread of the coordinator, which joins it.
  void start() const {
    coordinator_->start_thread([options = options_, &clock = coordinator_->clock()](const std::stop_token& stop) {
      if (options.start_loop) options.start_loop();
      Duration next = clock.monotonic_now();
      while (!stop.stop_requested()) {
        options.target();
        if (!options.timer_interval_secs) continue;
        next += *options.timer_interval_secs;
        wait_for_stop(stop, clock, next);
      }
      if (options.stop_loop) options.stop_loop();
    });
  }

  /// Makes one and starts it.
  static LooperThread loop(Coordinator& coordinator, std::optional<Duration> timer_interval_secs, std::function<void()> target) {
    LooperThread looper(coordinator, {.timer_interval_secs = timer_interval_secs, .target = std::move(target)});
    looper.start();
    return looper;
  }

 private:
  Coordinator* coordinator_;
  LooperThreadOptions options_;
};

}  // namespace trainhook
