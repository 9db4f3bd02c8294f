// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of input_checkpoints.hpp.
#pragma once

#include <trainhook/checkpoint/input_checkpoints.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <trainhook/checkpoint/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL InputCheckpoints::InputCheckpoints(FileSystem& file_system, std::string basename,
                                                  std::string latest_filename)
    : file_system_(&file_system),
      basename_(std::move(basename)),
      latest_filename_(std::move(latest_filename)),
      saver_({.kinds = {StateKind::Input}, .with_saveables = false, .file_system = &file_system}) {}

TRAINHOOK_DECL void InputCheckpoints::follow(const std::shared_ptr<CheckpointClaim>& model) {
  taken_.reset();
  if (model_.lock() == model) return;
  model_ = model;
  directory_ = model->directory;
  model_basename_ = model->basename;
  model->companions.push_back(shared_from_this());
}

TRAINHOOK_DECL InputCheckpoints::Commit InputCheckpoints::take(SessionRef session, std::int64_t global_step) {
  taken_ = global_step;
  auto snapshot = std::make_shared<const Snapshot>(saver_.snapshot(session));
  const auto self = shared_from_this();
  return {.before_model = [self, snapshot, global_step] { self->write(*snapshot, global_step); },
          .after_model = [self, global_step] { self->remove_obsolete(global_step); }};
}

TRAINHOOK_DECL void InputCheckpoints::restore(SessionRef session, std::int64_t step, const std::string& restored_from) {
  if (taken_ == step || !is_checkpoint_of(*file_system_, restored_from, directory_, model_basename_, step)) return;
  const std::string prefix = prefix_of(step);
  if (file_system_->exists(prefix + ".index")) {
    saver_.restore(session, prefix);
    log_info("Restored the input pipeline from {}.", prefix);
    return;
  }
  if (!was_there(directory_, step)) {
    log_warning("'{}' was trained without input checkpoints until step {}: the input starts anew.", directory_, step);
    return;
  }
  throw FailedPreconditionError(
      "the model was restored at step {} from '{}', which has no state of the input pipeline for that step ({} is "
      "missing), so the input would start anew; restore a checkpoint that has it, train into another directory, or "
      "leave the CheckpointInputPipelineHook out",
      step, directory_, prefix);
}

TRAINHOOK_DECL RestoreCondition InputCheckpoints::restore_condition(const std::shared_ptr<InputCheckpoints>& files) {
  const std::weak_ptr<InputCheckpoints> weak = files;
  RestoreCondition condition;
  condition.why_not = [weak](const std::string& prefix) -> std::optional<std::string> {
    const auto self = weak.lock();
    return self == nullptr ? std::nullopt : self->why_not(prefix);
  };
  condition.is_other = [weak](const std::string& prefix) {
    const auto self = weak.lock();
    return self != nullptr && self->is_mine(prefix);
  };
  return condition;
}

TRAINHOOK_DECL std::string InputCheckpoints::prefix_of(std::int64_t step) const {
  return fmt::format("{}-{}", join_path(directory_, basename_), step);
}

TRAINHOOK_DECL bool InputCheckpoints::is_mine(std::string_view prefix) const {
  return base_name(prefix).starts_with(basename_ + "-");
}

TRAINHOOK_DECL bool InputCheckpoints::was_there(const std::string& directory, std::int64_t step) const {
  const std::vector<std::string> saved = checkpoints_on_disk(*file_system_, directory, basename_);
  return !saved.empty() && step_of_checkpoint(saved.front()) <= step;
}

TRAINHOOK_DECL std::optional<std::string> InputCheckpoints::why_not(const std::string& prefix) const {
  const std::optional<std::int64_t> step = step_of_checkpoint(prefix);
  if (!step || !was_there(parent_path(prefix), *step)) return std::nullopt;
  const std::string mine = fmt::format("{}-{}", join_path(parent_path(prefix), basename_), *step);
  try {
    const BundleReader reader(mine, {.file_system = file_system_});
    for (const auto& [name, entry] : reader.entries()) static_cast<void>(reader.get_tensor(name));
    return std::nullopt;
  } catch (const Error& error) {
    return fmt::format(
        "the input pipeline's state of its step cannot be had: {} (without the CheckpointInputPipelineHook the model "
        "alone is restored)",
        error.what());
  }
}

TRAINHOOK_DECL void InputCheckpoints::write(const Snapshot& snapshot, std::int64_t step) const {
  BundleWriter writer(prefix_of(step), {.file_system = file_system_, .overwrite = true});
  for (const NamedTensor& entry : snapshot.entries) writer.add(entry.name, entry.tensor);
  writer.finish();
}

TRAINHOOK_DECL void InputCheckpoints::remove_obsolete(std::int64_t saved_step) const noexcept {
  try {
    std::vector<std::string> kept;
    std::vector<std::string> obsolete;
    const auto models = checkpoints_on_disk(*file_system_, directory_, model_basename_);
    for (const std::string& prefix : checkpoints_on_disk(*file_system_, directory_, basename_)) {
      const std::optional<std::int64_t> step = step_of_checkpoint(prefix);
      const bool has_model =
          std::ranges::any_of(models, [&](const std::string& model) { return step_of_checkpoint(model) == step; });
      if (step > saved_step) continue;
      (has_model ? kept : obsolete).push_back(prefix);
    }
    CheckpointState state;
    state.model_checkpoint_path = prefix_of(saved_step);
    state.all_model_checkpoint_paths = kept;
    update_checkpoint_state(*file_system_, directory_, std::move(state), latest_filename_);
    for (const std::string& prefix : obsolete) remove_checkpoint(*file_system_, prefix);
  } catch (...) {
    log_warning("input checkpoints in {} could not be tidied up and are tried again at the next save: {}", directory_,
                describe(std::current_exception()));
  }
}

}  // namespace trainhook::detail
