// SPDX-License-Identifier: Apache-2.0
/// @file
/// GlobalStepWaiterHook: delays a worker's first run until others have trained to a step.
#pragma once

#include <chrono>
#include <cstdint>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Waits once, in the first `before_run`, until the global step reaches `wait_until_step`, which it reads twice a
/// second. A stop request ends the wait at once: the loop makes this run and stops. If `after_create_session` was not
/// called, only the step and the timeout end the wait. Source: TensorFlow's `GlobalStepWaiterHook`, which cannot be
/// interrupted and has no timeout.
class GlobalStepWaiterHook final : public SessionRunHook {
 public:
  struct Options {
    std::int64_t wait_until_step = 0;  ///< 0 or less: does not wait or read the step
    OptionalDuration timeout{};        ///< none: no limit
  };

  /// @throws InvalidArgumentError for a timeout that is not above zero.
  TRAINHOOK_DECL explicit GlobalStepWaiterHook(Options options);

  TRAINHOOK_DECL void begin(Graph& graph) override;

  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;

  /// @throws DeadlineExceededError if the step is not reached in time.
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;

 private:
  static constexpr Duration kBetweenLooks = std::chrono::milliseconds(500);
  static constexpr std::int64_t kStepsBetweenLines = 1'000;

  TRAINHOOK_DECL void wait(SessionRunContext& context);

  // Waits for `period` or until a stop is requested. True if a stop was requested; always false without a coordinator.
  [[nodiscard]] TRAINHOOK_DECL bool stops_within(Duration period);

  Options options_;
  Variable global_step_;
  Coordinator* coordinator_ = nullptr;
  bool waited_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/global_step_waiter_hook.ipp>
#endif
