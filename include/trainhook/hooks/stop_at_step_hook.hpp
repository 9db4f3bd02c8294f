// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopAtStepHook: stops the loop at a step.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Requests a stop when the global step reaches `last_step`, or `num_steps` more than at the start of the session. A
/// session that starts at or after the last step makes no step. A recovery does not move the target. Source:
/// TensorFlow's `StopAtStepHook`, which always runs one step.
class StopAtStepHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> num_steps{};  ///< the number of steps in this session
    std::optional<std::int64_t> last_step{};  ///< the global step to stop at
  };

  /// @throws InvalidArgumentError unless exactly one of them is given, or if it is negative.
  TRAINHOOK_DECL explicit StopAtStepHook(Options options);
  TRAINHOOK_MISTAKE("say what the number counts: StopAtStepHook({.last_step = 1'000}) or {.num_steps = 1'000}",
                    std::integral Number)
  explicit StopAtStepHook(Number steps) TRAINHOOK_REFUSED;

  /// The step at which the loop ends; with `num_steps`, known once the session is created.
  [[nodiscard]] std::optional<std::int64_t> last_step() const noexcept { return last_step_; }

  [[nodiscard]] const Options& options() const noexcept { return options_; }

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 protected:
  [[nodiscard]] const Variable& global_step() const noexcept { return global_step_; }

 private:
  [[nodiscard]] TRAINHOOK_DECL std::string reason() const;

  Options options_;
  Variable global_step_;
  std::optional<std::int64_t> last_step_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/stop_at_step_hook.ipp>
#endif
