// SPDX-License-Identifier: Apache-2.0
/// @file
/// StepCounterHook: tells how many steps a second training makes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Logs the rate of the global step, and writes it for TensorBoard as `global_step/sec`. The first run of a session is
/// where counting begins, after a recovery anew; a step that went back, or no time between two measurements, gives no
/// rate. Source: TensorFlow's `StepCounterHook`.
class StepCounterHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> every_n_steps{};  ///< 100 where no period is given
    std::optional<Duration> every_n_secs{};
    std::string output_dir{};  ///< where events go; empty, and no writer given: log lines only
    std::shared_ptr<FileWriter> summary_writer{};
  };

  StepCounterHook() : StepCounterHook(Options{}) {}
  /// @throws InvalidArgumentError for two periods, one that is not above zero, or both places for events.
  TRAINHOOK_DECL explicit StepCounterHook(Options options);

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override;

 private:
  static constexpr int kIdleRunsBeforeWarning = 20;
  static constexpr int kMostWarnings = 5;

  TRAINHOOK_DECL static SecondOrStepTimer::Options timer_options(const Options& options);
  TRAINHOOK_DECL void report(std::int64_t step, const SecondOrStepTimer::Elapsed& elapsed);

  // A few runs that train nothing are ordinary; a step that never rises means that the train op does not know of it.
  TRAINHOOK_DECL void watch(std::int64_t step);

  std::string output_dir_;
  std::shared_ptr<FileWriter> given_writer_;
  SecondOrStepTimer timer_;
  std::string tag_;
  FileWriter* writer_ = nullptr;
  std::optional<std::int64_t> last_step_;
  int idle_runs_ = 0;
  int warnings_ = 0;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/step_counter_hook.ipp>
#endif
