// SPDX-License-Identifier: Apache-2.0
/// @file
/// LooperThread: a thread that calls a function repeatedly.
#pragma once

#include <functional>
#include <optional>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/coordinator.hpp>

namespace trainhook {

/// The functions that a LooperThread calls. Source: the methods of TensorFlow's `LooperThread`.
struct LooperThreadOptions {
  OptionalDuration timer_interval_secs{};  ///< from the start of one call to the next; none: no pause
  std::function<void()> target{};          ///< called in each round
  std::function<void()> start_loop{};      ///< called once before the first round; may be empty
  std::function<void()> stop_loop{};       ///< called once after the last round, except after an error; may be empty
};

/// Calls `target` immediately and then at fixed multiples of the interval: late calls catch up, and the schedule does
/// not drift. Uses the coordinator's clock; a stop request ends the wait. An exception from `target` requests a stop
/// with that error. Source: TensorFlow's `LooperThread`.
class LooperThread {
 public:
  /// `coordinator` must outlive this object; its clock, and everything that the functions use, must outlive the thread.
  /// @throws InvalidArgumentError for a negative interval or an empty target.
  TRAINHOOK_DECL LooperThread(Coordinator& coordinator, LooperThreadOptions options);

  /// Starts a thread of the coordinator, which joins it.
  TRAINHOOK_DECL void start() const;

  /// Creates a looper thread and starts it.
  TRAINHOOK_DECL static LooperThread loop(Coordinator& coordinator, std::optional<Duration> timer_interval_secs,
                                          std::function<void()> target);

 private:
  Coordinator* coordinator_;
  LooperThreadOptions options_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/looper_thread.ipp>
#endif
