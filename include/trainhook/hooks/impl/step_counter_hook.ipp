// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/step_counter_hook.hpp>

#include <utility>

#include <trainhook/core/log.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

StepCounterHook::StepCounterHook(StepCounterHook&& other) noexcept = default;
StepCounterHook::~StepCounterHook() = default;

StepCounterHook::StepCounterHook(Options options)
    : output_dir_(std::move(options.output_dir)),
      given_writer_(std::move(options.summary_writer)),
      timer_({.every_secs = options.every_n_secs,
              .every_steps = options.every_n_secs || options.every_n_steps ? options.every_n_steps : 100},
             "StepCounterHook", "every_n_secs", "every_n_steps") {}

std::string StepCounterHook::writes_to() const {
  return given_writer_ != nullptr ? given_writer_->get_logdir() : output_dir_;
}

void StepCounterHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "StepCounterHook");
  tag_ = global_step_.name() + "/sec";
  writer_ = given_writer_.get();
  if (writer_ != nullptr) {
    writer_->check_name();
  } else if (!output_dir_.empty()) {
    writer_ = &services().writers().at(output_dir_);
  }
  warnings_ = 0;
}

void StepCounterHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  if (given_writer_ != nullptr) given_writer_->restart_at(read_global_step(session, global_step_) + 1);
  timer_.reset();
  last_step_.reset();
  idle_runs_ = 0;
}

void StepCounterHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  const std::int64_t step = context.global_step();
  if (timer_.should_trigger_for_step(step, context)) {
    if (const auto elapsed = timer_.update_last_triggered_step(step, context.now())) report(step, *elapsed);
  }
  watch(step);
}

void StepCounterHook::report(std::int64_t step, const SecondOrStepTimer::Elapsed& elapsed) {
  if (elapsed.time <= Duration::zero() || elapsed.steps <= 0) return;
  const double rate = static_cast<double>(elapsed.steps) / std::chrono::duration<double>(elapsed.time).count();
  if (writer_ != nullptr) writer_->add_scalar(tag_, rate, step);
  log_info("{}: {:g}", tag_, rate);
}

void StepCounterHook::watch(std::int64_t step) {
  const bool rose = !last_step_ || step > *last_step_;
  last_step_ = step;
  idle_runs_ = rose ? 0 : idle_runs_ + 1;
  if (idle_runs_ < kIdleRunsBeforeWarning || warnings_ >= kMostWarnings) return;
  idle_runs_ = 0;
  ++warnings_;
  log_warning(
      "StepCounterHook: the global step has not been increased in {} runs; it is {}. Give it to the optimizer's "
      "minimize(), or add to it in your step",
      kIdleRunsBeforeWarning, step);
}

}  // namespace trainhook
