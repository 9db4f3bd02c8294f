// SPDX-License-Identifier: Apache-2.0
/// @file
/// LooperThread: a thread that does the same thing again and again until it is asked to stop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

class Coordinator;

/// What such a thread does. Source: the methods of TensorFlow's `LooperThread`.
struct LooperThreadOptions {
  std::optional<Duration> timer_interval_secs{};  ///< between the beginnings of two calls; nothing: back to back
  std::function<void()> target{};                 ///< called in each round
  std::function<void()> start_loop{};             ///< once before the first round; may be empty
  std::function<void()> stop_loop{};              ///< once after the last round, unless an error ended it; may be empty
};

/// Calls its target at once, then at fixed multiples of the interval from there: late calls catch up and the schedule
/// does not drift. It waits on the coordinator's clock and is woken by a stop request. An error of the target requests
/// a stop with it. Source: TensorFlow's `LooperThread`.
class LooperThread {
 public:
  /// `coordinator` must outlive this object; its clock, and what the functions use, must outlive the thread.
  /// @throws InvalidArgumentError for a negative interval, or without a target.
  TRAINHOOK_DECL LooperThread(Coordinator& coordinator, LooperThreadOptions options);

  /// Starts a thread of the coordinator, which joins it.
  TRAINHOOK_DECL void start() const;

  /// Makes one and starts it.
  TRAINHOOK_DECL static LooperThread loop(Coordinator& coordinator, std::optional<Duration> timer_interval_secs,
                                          std::function<void()> target);

 private:
  Coordinator* coordinator_;
  LooperThreadOptions options_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/looper_thread.ipp>
#endif
