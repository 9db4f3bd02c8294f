// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of checkpoint_input_pipeline_hook.hpp.
#pragma once

#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/input_checkpoints.hpp>
#include <trainhook/checkpoint/iterator_saveable.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook {

/// Saves and restores the input of a session that saves no model.
class CheckpointInputPipelineHook::Alone {
 public:
  Alone(Graph& graph, detail::SessionServices& services, const Options& options)
      : services_(&services),
        options_(&options),
        claim_(detail::claim_checkpoints(graph, services,
                                         {.directory = options.checkpoint_dir,
                                          .basename = options.checkpoint_basename,
                                          .hook = "CheckpointInputPipelineHook",
                                          .directory_lock = options.directory_lock})),
        saver_({.kinds = {StateKind::Input},
                .with_saveables = false,
                .file_system = &services.file_system(),
                .clock = &services.clock()}),
        timer_(periods(options), "CheckpointInputPipelineHook", "save_secs", "save_steps") {}

  [[nodiscard]] static SecondOrStepTimer::Options periods(const Options& options) {
    return {.every_secs = options.save_secs, .every_steps = options.save_steps};
  }

  /// Continues from the newest file; if there is none, saves the initial position.
  void restore(SessionRef session, std::int64_t step) {
    FileSystem& disk = services_->file_system();
    const std::vector<std::string> saved = detail::read_from_device([&] {
      return detail::checkpoint_candidates(disk, options_->checkpoint_dir, options_->checkpoint_basename,
                                           options_->latest_filename);
    });
    for (const std::string& prefix : saved) {
      if (!detail::read_from_device([&] { return checkpoint_exists(disk, prefix); })) {
        log_warning("input checkpoint {} is skipped: {}.index does not exist", prefix, prefix);
        continue;
      }
      saver_.restore(session, prefix);
      log_info("Restored the input pipeline from {}.", prefix);
      saved_ = step;
      return;
    }
    if (!saved.empty()) {
      throw DataLossError(
          "none of the {} input checkpoints that {}/{} lists is there, the newest is {}; put one back, or remove that "
          "file to start the input from the beginning",
          saved.size(), options_->checkpoint_dir, options_->latest_filename, saved.front());
    }
    timer_.update_last_triggered_step(step, services_->clock());
    save(session, step);
  }

  void save_if_due(SessionRunContext& context) {
    const std::int64_t step = context.global_step();
    claim_->keep_directory(context);
    if (!timer_.should_trigger_for_step(step, context)) return;
    timer_.update_last_triggered_step(step, context);
    save(context.session(), step);
  }

  void save_last(SessionRef session) {
    const std::int64_t step = read_global_step(session, *get_global_step(session.graph()));
    if (saved_ != step) save(session, step);
  }

 private:
  void save(SessionRef session, std::int64_t step) {
    static_cast<void>(
        saver_.save(session, {.save_path = join_path(options_->checkpoint_dir, options_->checkpoint_basename),
                              .global_step = step,
                              .latest_filename = options_->latest_filename,
                              .before_commit = [this, step] { claim_->confirm_directory(step); }}));
    saved_ = step;
  }

  detail::SessionServices* services_;
  const Options* options_;
  std::shared_ptr<detail::CheckpointClaim> claim_;  // keeps other savers out of the directory
  Saver saver_;
  SecondOrStepTimer timer_;
  std::optional<std::int64_t> saved_;
};

CheckpointInputPipelineHook::CheckpointInputPipelineHook(CheckpointInputPipelineHook&& other) noexcept = default;

CheckpointInputPipelineHook::~CheckpointInputPipelineHook() = default;

CheckpointInputPipelineHook::CheckpointInputPipelineHook(Options options) : options_(std::move(options)) {
  check_name("checkpoint_basename", options_.checkpoint_basename);
  check_name("latest_filename", options_.latest_filename);
  if (options_.checkpoint_basename == options_.latest_filename) {
    throw InvalidArgumentError("CheckpointInputPipelineHook: checkpoint_basename and latest_filename are both '{}'",
                               options_.latest_filename);
  }
  has_own_period_ = options_.save_secs || options_.save_steps;
  if (has_own_period_)
    static_cast<void>(
        SecondOrStepTimer(Alone::periods(options_), "CheckpointInputPipelineHook", "save_secs", "save_steps"));
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
  files_ = std::make_shared<detail::InputCheckpoints>(services().file_system(), options_.checkpoint_basename,
                                                      options_.latest_filename);
  if (detail::external_state_policy(graph) != options_.external_state_policy)
    graph.add_to_collection(detail::kExternalStatePolicies, options_.external_state_policy);
  condition_ = std::make_shared<detail::RestoreCondition>(detail::InputCheckpoints::restore_condition(files_));
  graph.offer(condition_);
  is_following_ = false;
}

void CheckpointInputPipelineHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  restore_pending_ = true;
  services().before_step_function([this](SessionRef live) {
    if (restore_pending_) restore(live, read_global_step(live, *get_global_step(live.graph())));
  });
  if (alone_ != nullptr) return;
  if (const auto claim = find_claim(session.graph())) {
    files_->follow(claim);
    if (has_own_period_ && !std::exchange(is_following_, true)) {
      log_warning("CheckpointInputPipelineHook: {} is ignored: the input is saved with each checkpoint of the {}",
                  options_.save_secs ? "save_secs" : "save_steps", claim->hook);
    }
  } else {
    alone_ = std::make_unique<Alone>(session.graph(), detail::SessionServices::of(services()), options_);
  }
}

SessionRunArgs CheckpointInputPipelineHook::before_run(SessionRunContext& context) {
  if (restore_pending_) restore(context.session(), context.global_step());
  return {};
}

void CheckpointInputPipelineHook::restore(SessionRef session, std::int64_t step) {
  if (alone_ != nullptr)
    alone_->restore(session, step);
  else
    files_->restore(session, step, services().restored_from());
  restore_pending_ = false;
}

void CheckpointInputPipelineHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (alone_ != nullptr) alone_->save_if_due(context);
}

void CheckpointInputPipelineHook::end(SessionRef session) {
  files_.reset();
  condition_.reset();
  if (const auto alone = std::move(alone_); alone != nullptr && !restore_pending_) alone->save_last(session);
}

void CheckpointInputPipelineHook::abort(const std::exception_ptr& /*error*/) noexcept {
  files_.reset();
  condition_.reset();
  alone_.reset();
}

void CheckpointInputPipelineHook::check_name(std::string_view option, const std::string& name) {
  if (!name.empty() && name.find('/') == std::string::npos) return;
  throw InvalidArgumentError("CheckpointInputPipelineHook: {} is '{}'; it must be a file name without directory",
                             option, name);
}

void CheckpointInputPipelineHook::check_iterators(const Graph& graph) const {
  const std::vector<detail::IteratorResource> all = detail::iterators(graph);
  if (all.empty()) {
    throw InvalidArgumentError(
        "CheckpointInputPipelineHook: the graph has no iterator, so there is nothing to save; "
        "make one with make_iterator(), or leave the hook out");
  }
  for (const detail::IteratorResource& iterator : all) {
    detail::check_external_state(iterator, options_.external_state_policy, "CheckpointInputPipelineHook");
  }
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
  if (found != nullptr || can_save_alone()) return found;
  const std::string where =
      options_.checkpoint_dir.empty() ? std::string() : fmt::format(" into '{}'", options_.checkpoint_dir);
  throw FailedPreconditionError(
      "CheckpointInputPipelineHook: no hook of this session saves the model{}; add a CheckpointSaverHook or "
      "AsyncCheckpointSaverHook, let the session make one by save_checkpoint_steps, "
      "or give this hook checkpoint_dir and save_steps",
      where);
}

}  // namespace trainhook
