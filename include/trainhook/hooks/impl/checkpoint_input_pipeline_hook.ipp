// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of checkpoint_input_pipeline_hook.hpp.
#pragma once

#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>

#include <utility>

#include <fmt/core.h>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/input_checkpoints.hpp>
#include <trainhook/checkpoint/iterator_saveable.hpp>
#include <trainhook/checkpoint/restore_condition.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook {

TRAINHOOK_DECL CheckpointInputPipelineHook::CheckpointInputPipelineHook(CheckpointInputPipelineHook&& other) noexcept =
    default;

TRAINHOOK_DECL CheckpointInputPipelineHook::~CheckpointInputPipelineHook() = default;

TRAINHOOK_DECL CheckpointInputPipelineHook::CheckpointInputPipelineHook(Options options)
    : options_(std::move(options)) {
  check_name("checkpoint_basename", options_.checkpoint_basename);
  check_name("latest_filename", options_.latest_filename);
  if (options_.checkpoint_basename == options_.latest_filename) {
    throw InvalidArgumentError("CheckpointInputPipelineHook: checkpoint_basename and latest_filename are both '{}'",
                               options_.latest_filename);
  }
}

TRAINHOOK_DECL void CheckpointInputPipelineHook::begin(Graph& graph) {
  detail::require_global_step(graph, "CheckpointInputPipelineHook");
  check_iterators(graph);
  files_ = std::make_shared<detail::InputCheckpoints>(services().file_system(), options_.checkpoint_basename,
                                                      options_.latest_filename);
  graph.add_to_collection(kExternalStatePolicies, options_.external_state_policy);
  graph.add_to_collection(kRestoreConditions, detail::InputCheckpoints::restore_condition(files_));
}

TRAINHOOK_DECL void CheckpointInputPipelineHook::after_create_session(SessionRef session,
                                                                      Coordinator& /*coordinator*/) {
  files_->follow(find_claim(session.graph()));
  restore_pending_ = true;
}

TRAINHOOK_DECL SessionRunArgs CheckpointInputPipelineHook::before_run(SessionRunContext& context) {
  if (restore_pending_) {
    files_->restore(context.session(), context.global_step(), services().restored_from());
    restore_pending_ = false;
  }
  return {};
}

TRAINHOOK_DECL void CheckpointInputPipelineHook::end(SessionRef /*session*/) { files_.reset(); }

TRAINHOOK_DECL void CheckpointInputPipelineHook::abort(const std::exception_ptr& /*error*/) noexcept { files_.reset(); }

TRAINHOOK_DECL void CheckpointInputPipelineHook::check_name(std::string_view option, const std::string& name) {
  if (!name.empty() && name.find('/') == std::string::npos) return;
  throw InvalidArgumentError("CheckpointInputPipelineHook: {} is '{}'; it must be a file name without directory",
                             option, name);
}

TRAINHOOK_DECL void CheckpointInputPipelineHook::check_iterators(const Graph& graph) const {
  const std::vector<IteratorResource> all = iterators(graph);
  if (all.empty()) {
    throw InvalidArgumentError(
        "CheckpointInputPipelineHook: the graph has no iterator, so there is nothing to save; make one with "
        "make_iterator(), or leave "
        "the hook out");
  }
  for (const IteratorResource& iterator : all) {
    detail::check_external_state(iterator, options_.external_state_policy, "CheckpointInputPipelineHook");
  }
}

TRAINHOOK_DECL std::shared_ptr<detail::CheckpointClaim> CheckpointInputPipelineHook::find_claim(
    const Graph& graph) const {
  const auto claims = detail::checkpoint_claims(graph);
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
  if (found != nullptr) return found;
  const std::string where =
      options_.checkpoint_dir.empty() ? std::string() : fmt::format(" into '{}'", options_.checkpoint_dir);
  throw FailedPreconditionError(
      "CheckpointInputPipelineHook: no hook of this session saves the model{}; add a CheckpointSaverHook or "
      "AsyncCheckpointSaverHook, or let the session make one by save_checkpoint_steps",
      where);
}

}  // namespace trainhook
