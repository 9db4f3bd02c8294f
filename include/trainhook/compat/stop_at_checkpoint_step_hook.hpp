// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopAtCheckpointStepHook: stops a worker once the chief has saved the last step.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Requests a stop when a directory has a checkpoint of the last step. Once this session reaches that step it waits, so
/// that workers do not end before the model is saved. Source: TensorFlow's `_StopAtCheckpointStepHook`.
class StopAtCheckpointStepHook final : public SessionRunHook {
 public:
  struct Options {
    std::string model_dir{};
    std::int64_t last_step = 0;
    Duration wait_after_file_check_secs = std::chrono::seconds(30);  ///< the wait in each run without such a checkpoint
  };

  /// @throws InvalidArgumentError without a `model_dir` or a positive `last_step`.
  TRAINHOOK_DECL explicit StopAtCheckpointStepHook(Options options);

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::int64_t saved_step() const;
  [[nodiscard]] TRAINHOOK_DECL std::string reason() const;

  Options options_;
  Coordinator* coordinator_ = nullptr;
  bool is_saved_ = false;  // the chief has saved the last step, which no recovery of this session changes
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/stop_at_checkpoint_step_hook.ipp>
#endif
