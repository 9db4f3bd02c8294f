// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/stop_at_checkpoint_step_hook.hpp>

#include <optional>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

StopAtCheckpointStepHook::StopAtCheckpointStepHook(Options options) : options_(std::move(options)) {
  if (options_.model_dir.empty()) throw InvalidArgumentError("StopAtCheckpointStepHook: model_dir is empty");
  if (options_.last_step <= 0)
    throw InvalidArgumentError("StopAtCheckpointStepHook: last_step is {}; it must be positive", options_.last_step);
}

void StopAtCheckpointStepHook::begin(Graph& graph) {
  detail::require_global_step(graph, "StopAtCheckpointStepHook");
  is_saved_ = false;
}

void StopAtCheckpointStepHook::after_create_session(SessionRef /*session*/, Coordinator& coordinator) {
  coordinator_ = &coordinator;
  if (!is_saved_) return;
  services().set_stop_reason(reason());
  coordinator.request_stop();
}

void StopAtCheckpointStepHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (context.global_step() < options_.last_step) return;
  is_saved_ = saved_step() >= options_.last_step;
  if (is_saved_)
    context.request_stop(reason());
  else
    static_cast<void>(coordinator_->wait_for_stop(options_.wait_after_file_check_secs));
}

std::string StopAtCheckpointStepHook::reason() const {
  return fmt::format("step {} is saved in '{}'", options_.last_step, options_.model_dir);
}

std::int64_t StopAtCheckpointStepHook::saved_step() const {
  FileSystem& disk = services().file_system();
  const std::optional<std::string> newest = latest_checkpoint(disk, options_.model_dir);
  return newest ? load_variable(disk, *newest, "global_step").scalar<std::int64_t>() : 0;
}

}  // namespace trainhook
