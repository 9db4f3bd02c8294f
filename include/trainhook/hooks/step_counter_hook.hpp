// SPDX-License-Identifier: Apache-2.0
/// @file
/// StepCounterHook: tells how many steps a second training makes.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/core/log.hpp>
#include <trainhook/events/file_writers.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Logs the rate of the global step, and writes it for TensorBoard as `global_step/sec`. The first run of a session is where counting
/// begins, after a recovery anew; a step that went back, or no time between two measurements, gives no rate. Source: TensorFlow's
/// `StepCounterHook`.
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
  explicit StepCounterHook(Options options)
      : output_dir_(std::move(options.output_dir)),
        given_writer_(std::move(options.summary_writer)),
        timer_(timer_options(options), "StepCounterHook", "every_n_secs", "every_n_steps") {
    if (given_writer_ != nullptr && !output_dir_.empty()) {
      throw InvalidArgumentError("StepCounterHook: output_dir '", output_dir_, "' and summary_writer are both given; give one of them");
    }
  }

  void begin(Graph& graph) override {
    tag_ = detail::require_global_step(graph, "StepCounterHook").name() + "/sec";
    writer_ = given_writer_.get();
    if (!output_dir_.empty()) writer_ = &environment().writers().at(output_dir_);
    warnings_ = 0;
  }

  void after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) override {
    timer_.reset();
    last_step_.reset();
    idle_runs_ = 0;
  }

  void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    const std::int64_t step = context.global_step();
    if (timer_.should_trigger_for_step(step, context)) {
      if (const auto elapsed = timer_.update_last_triggered_step(step, context.now())) report(step, *elapsed);
    }
    watch(step);
  }

 private:
  static constexpr int kIdleRunsBeforeWarning = 20;
  static constexpr int kMostWarnings = 5;

  static SecondOrStepTimer::Options timer_options(const Options& options) {
    if (!options.every_n_secs && !options.every_n_steps) return {.every_steps = 100};
    return {.every_secs = options.every_n_secs, .every_steps = options.every_n_steps};
  }

  void report(std::int64_t step, const SecondOrStepTimer::Elapsed& elapsed) {
    if (elapsed.time <= Duration::zero() || elapsed.steps <= 0) return;
    const double rate = static_cast<double>(elapsed.steps) / std::chrono::duration<double>(elapsed.time).count();
    if (writer_ != nullptr) writer_->add_scalar(tag_, rate, step);
    char text[32];
    std::snprintf(text, sizeof text, "%g", rate);
    log_info(tag_, ": ", text);
  }

  // A few runs that train nothing are ordinary; a step that never rises means that the train op does not know of it.
  void watch(std::int64_t step) {
    const bool rose = !last_step_ || step > *last_step_;
    last_step_ = step;
    idle_runs_ = rose ? 0 : idle_runs_ + 1;
    if (idle_runs_ < kIdleRunsBeforeWarning || warnings_ >= kMostWarnings) return;
    idle_runs_ = 0;
    ++warnings_;
    log_warning("StepCounterHook: the global step has not been increased in ", kIdleRunsBeforeWarning, " runs; it is ", step,
                ". Give it to the optimizer's minimize(), or add to it in your step");
  }

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
