// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>

#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/input_checkpoints.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/saved_input.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/peers.hpp>

namespace trainhook {

CheckpointInputPipelineHook::CheckpointInputPipelineHook(CheckpointInputPipelineHook&& other) noexcept = default;

CheckpointInputPipelineHook::~CheckpointInputPipelineHook() = default;

CheckpointInputPipelineHook::CheckpointInputPipelineHook(Options options) : options_(std::move(options)) {
  detail::expect_file_name("CheckpointInputPipelineHook", "checkpoint_basename", options_.checkpoint_basename);
  detail::expect_file_name("CheckpointInputPipelineHook", "latest_filename", options_.latest_filename);
  if (options_.checkpoint_basename == options_.latest_filename) {
    throw InvalidArgumentError("CheckpointInputPipelineHook: checkpoint_basename and latest_filename are both '{}'",
                               options_.latest_filename);
  }
  has_own_period_ = options_.save_secs || options_.save_steps;
  if (has_own_period_)
    timer_.emplace(SecondOrStepTimer::Options{.every_secs = options_.save_secs, .every_steps = options_.save_steps},
                   "CheckpointInputPipelineHook", "save_secs", "save_steps");
}

CheckpointInputPipelineHook::Options CheckpointInputPipelineHook::options_for(const detail::CheckpointTarget& target,
                                                                              ExternalStatePolicy policy) {
  const std::string task =
      target.num_worker_replicas > 1 ? fmt::format("_{}_{}", target.task_type, target.task_id) : std::string();
  return {.checkpoint_dir = target.checkpoint_dir,
          .external_state_policy = policy,
          .checkpoint_basename = fmt::format("input{}.ckpt", task),
          .latest_filename = fmt::format("checkpoint_input{}", task),
          .save_secs = target.save_secs,
          .save_steps = target.save_steps};
}

void CheckpointInputPipelineHook::begin(Graph& graph) {
  detail::require_global_step(graph, "CheckpointInputPipelineHook");
  check_iterators(graph);
  const Peers& peers = services().peers();
  files_ = std::make_shared<detail::InputCheckpoints>(
      services().file_system(), options_.checkpoint_basename, options_.latest_filename,
      detail::InputFiles::Process{.number = peers.process(), .count = peers.num_processes()});
  graph.offer(files_);
  if (detail::external_state_policy(graph) != options_.external_state_policy)
    graph.add_to_collection(detail::kExternalStatePolicies, options_.external_state_policy);
  graph.offer(std::shared_ptr<detail::CheckpointPart>(files_));
  is_following_ = false;
}

void CheckpointInputPipelineHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  restore_pending_ = true;
  services().before_step_function([this](SessionRef live) {
    if (restore_pending_) restore(live, read_global_step(live, *get_global_step(live.graph())));
  });
  if (files_->own_claim() != nullptr) return;
  if (const auto claim = find_claim(session.graph())) {
    files_->follow(claim);
    if (has_own_period_ && !std::exchange(is_following_, true)) {
      log_warning("CheckpointInputPipelineHook: {} is ignored: the input is saved with each checkpoint of the {}",
                  options_.save_secs ? "save_secs" : "save_steps", claim->hook);
    }
  } else {
    files_->go_alone(detail::claim_checkpoints(session.graph(), detail::SessionServices::of(services()),
                                               {.directory = options_.checkpoint_dir,
                                                .basename = options_.checkpoint_basename,
                                                .hook = "CheckpointInputPipelineHook",
                                                .directory_lock = options_.directory_lock}),
                     services().clock());
    timer_->reset();
    saved_.reset();
  }
}

SessionRunArgs CheckpointInputPipelineHook::before_run(SessionRunContext& context) {
  if (restore_pending_) restore(context.session(), context.global_step());
  return {};
}

void CheckpointInputPipelineHook::restore(SessionRef session, std::int64_t step) {
  if (files_->own_claim() == nullptr) {
    files_->restore(session, step, services().restored_from());
  } else if (files_->restore_newest(session)) {
    saved_ = step;
  } else {
    timer_->update_last_triggered_step(step, services().clock());
    save(session, step);
  }
  restore_pending_ = false;
}

void CheckpointInputPipelineHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  const auto& claim = files_->own_claim();
  if (claim == nullptr) return;
  const std::int64_t step = context.global_step();
  claim->keep_directory(context);
  if (timer_->trigger_if_due(step, context)) save(context.session(), step);
}

void CheckpointInputPipelineHook::end(SessionRef session) {
  const auto files = std::move(files_);
  if (files->own_claim() == nullptr || restore_pending_) return;
  const std::int64_t step = read_global_step(session, *get_global_step(session.graph()));
  if (saved_ != step) files->save(session, step);
}

void CheckpointInputPipelineHook::save(SessionRef session, std::int64_t step) {
  files_->save(session, step);
  saved_ = step;
}

void CheckpointInputPipelineHook::abort(const std::exception_ptr& /*error*/) noexcept { files_.reset(); }

void CheckpointInputPipelineHook::check_iterators(const Graph& graph) const {
  const auto all = graph.collection<detail::SavedInput>(detail::kSavedInputs);
  if (all.empty()) {
    throw InvalidArgumentError(
        "CheckpointInputPipelineHook: the graph has no iterator, so there is nothing to save; "
        "make one with make_iterator(), or leave the hook out");
  }
  for (const detail::SavedInput& input : all)
    input.check_external_state(options_.external_state_policy, "CheckpointInputPipelineHook");
}

std::shared_ptr<detail::CheckpointClaim> CheckpointInputPipelineHook::find_claim(const Graph& graph) const {
  const auto claims = graph.offered<detail::CheckpointClaim>();
  std::shared_ptr<detail::CheckpointClaim> found;
  for (const auto& claim : claims) {
    if (!options_.checkpoint_dir.empty() &&
        detail::plain_path(claim->directory) != detail::plain_path(options_.checkpoint_dir))
      continue;
    if (found != nullptr) {
      throw FailedPreconditionError(
          "CheckpointInputPipelineHook: several hooks save checkpoints; give the checkpoint_dir of the one to go with");
    }
    found = claim;
  }
  const bool can_save_alone = timer_ && !options_.checkpoint_dir.empty() && services().peers().num_processes() == 1;
  if (found != nullptr || can_save_alone) return found;
  const std::string where =
      options_.checkpoint_dir.empty() ? std::string() : fmt::format(" into '{}'", options_.checkpoint_dir);
  throw FailedPreconditionError(
      "CheckpointInputPipelineHook: no hook of this session saves the model{}; add a CheckpointSaverHook or "
      "AsyncCheckpointSaverHook, let the session make one by save_checkpoint_steps, "
      "or, in a process alone, give this hook checkpoint_dir and save_steps",
      where);
}

}  // namespace trainhook
