// SPDX-License-Identifier: Apache-2.0
/// @file
/// StepCounterHook: logs steps per second.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileWriter;

/// Logs the steps per second and writes them for TensorBoard as `global_step/sec`. Counting starts at the first run,
/// and again after a recovery. If the step went back or no time has passed, there is no rate. Source: TensorFlow's
/// `StepCounterHook`.
class StepCounterHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> every_n_steps{};  ///< default: 100 if no period is given
    OptionalDuration every_n_secs{};
    std::string output_dir{};                      ///< for event files; empty, and no writer: only logs
    std::shared_ptr<FileWriter> summary_writer{};  ///< instead of `output_dir`, which is then ignored
  };

  explicit StepCounterHook(detail::NoOptions = {}) : StepCounterHook(Options{}) {}
  /// @throws InvalidArgumentError if both periods are given, or if one is not positive.
  TRAINHOOK_DECL explicit StepCounterHook(Options options);
  TRAINHOOK_DECL StepCounterHook(StepCounterHook&& other) noexcept;
  TRAINHOOK_DECL ~StepCounterHook() override;

  [[nodiscard]] TRAINHOOK_DECL std::string writes_to() const override;
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  static constexpr int kIdleRunsBeforeWarning = 20;
  static constexpr int kMostWarnings = 5;

  TRAINHOOK_DECL void report(std::int64_t step, const SecondOrStepTimer::Elapsed& elapsed);

  // Logs a warning if the step does not rise for several runs, because then the train op probably does not increment
  // it.
  TRAINHOOK_DECL void watch(std::int64_t step);

  std::string output_dir_;
  std::shared_ptr<FileWriter> given_writer_;
  SecondOrStepTimer timer_;
  std::string tag_;
  FileWriter* writer_ = nullptr;
  Variable global_step_;
  std::optional<std::int64_t> last_step_;
  int idle_runs_ = 0;
  int warnings_ = 0;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/step_counter_hook.ipp>
#endif
