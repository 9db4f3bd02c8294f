// SPDX-License-Identifier: Apache-2.0
/// @file
/// InputCheckpoints: the files that hold positions of input pipelines, one for each checkpoint of a model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/bundle_cleanup.hpp>
#include <trainhook/checkpoint/restore_condition.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/hooks/checkpoint_claim.hpp>

namespace trainhook {

/// Bundles `<basename>-<step>` beside those of the model, with a state file that lists them. They are committed before the model's of their
/// step: a kill in between leaves one too many, which changes nothing. One goes when the model's of its step is gone.
class InputCheckpoints final : public CheckpointCompanion, public std::enable_shared_from_this<InputCheckpoints> {
 public:
  InputCheckpoints(FileSystem& file_system, std::string basename, std::string latest_filename)
      : file_system_(&file_system),
        basename_(std::move(basename)),
        latest_filename_(std::move(latest_filename)),
        saver_({.kinds = {StateKind::Input}, .with_saveables = false, .file_system = &file_system}) {}

  /// From now on goes with the checkpoints of that hook.
  void follow(const std::shared_ptr<CheckpointClaim>& model) {
    taken_.reset();
    if (model_.lock() == model) return;
    model_ = model;
    directory_ = model->directory;
    model_basename_ = model->basename;
    model->companions.push_back(shared_from_this());
  }

  [[nodiscard]] Commit take(SessionRef session, std::int64_t global_step) override {
    taken_ = global_step;
    auto snapshot = std::make_shared<const Snapshot>(saver_.snapshot(session));
    const auto self = shared_from_this();
    return {.before_model = [self, snapshot, global_step] { self->write(*snapshot, global_step); },
            .after_model = [self, global_step] { self->remove_obsolete(global_step); }};
  }

  /// Brings the iterators to where they were at `step`, where the model was restored from this directory's checkpoint of that step.
  /// @throws FailedPreconditionError where an earlier checkpoint has the input's state and this one does not.
  void restore(SessionRef session, std::int64_t step, const std::string& restored_from) {
    if (taken_ == step || !is_checkpoint_of(*file_system_, restored_from, directory_, model_basename_, step)) return;
    const std::string prefix = prefix_of(step);
    if (file_system_->exists(prefix + ".index")) {
      saver_.restore(session, prefix);
      log_info("Restored the input pipeline from ", prefix, ".");
      return;
    }
    if (!was_there(directory_, step)) {
      log_warning("'", directory_, "' was trained without input checkpoints until step ", step, ": the input starts anew.");
      return;
    }
    throw FailedPreconditionError("the model was restored at step ", step, " from '", directory_,
                                  "', which has no state of the input pipeline for that step (", prefix,
                                  " is missing), so the input would start anew; restore a checkpoint that has it, train into another "
                                  "directory, or leave the CheckpointInputPipelineHook out");
  }

  /// What keeps a model from being restored without its input. Holds no longer than `files` lives.
  [[nodiscard]] static RestoreCondition restore_condition(const std::shared_ptr<InputCheckpoints>& files) {
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

 private:
  [[nodiscard]] std::string prefix_of(std::int64_t step) const { return str_cat(join_path(directory_, basename_), "-", step); }

  [[nodiscard]] bool is_mine(std::string_view prefix) const { return base_name(prefix).starts_with(basename_ + "-"); }

  // Whether the input was saved at that step or before. Where it was not, the hook is new there and takes the model as it is.
  [[nodiscard]] bool was_there(const std::string& directory, std::int64_t step) const {
    const std::vector<std::string> saved = checkpoints_on_disk(*file_system_, directory, basename_);
    return !saved.empty() && step_of_checkpoint(saved.front()) <= step;
  }

  // Reads all of it: a damaged one is no better than none.
  [[nodiscard]] std::optional<std::string> why_not(const std::string& prefix) const {
    const std::optional<std::int64_t> step = step_of_checkpoint(prefix);
    if (!step || !was_there(parent_path(prefix), *step)) return std::nullopt;
    const std::string mine = str_cat(join_path(parent_path(prefix), basename_), "-", *step);
    try {
      const BundleReader reader(mine, {.file_system = file_system_});
      for (const auto& [name, entry] : reader.entries()) static_cast<void>(reader.get_tensor(name));
      return std::nullopt;
    } catch (const Error& error) {
      return str_cat("the input pipeline's state of its step cannot be had: ", error.what(),
                     " (without the CheckpointInputPipelineHook the model alone is restored)");
    }
  }

  void write(const Snapshot& snapshot, std::int64_t step) const {
    BundleWriter writer(prefix_of(step), {.file_system = file_system_, .overwrite = true});
    for (const NamedTensor& entry : snapshot.entries) writer.add(entry.name, entry.tensor);
    writer.finish();
  }

  // Those of later steps are left alone: one may belong to a save that is on its way.
  void remove_obsolete(std::int64_t saved_step) const noexcept {
    try {
      std::vector<std::string> kept;
      std::vector<std::string> obsolete;
      const auto models = checkpoints_on_disk(*file_system_, directory_, model_basename_);
      for (const std::string& prefix : checkpoints_on_disk(*file_system_, directory_, basename_)) {
        const std::optional<std::int64_t> step = step_of_checkpoint(prefix);
        const bool has_model = std::ranges::any_of(models, [&](const std::string& model) { return step_of_checkpoint(model) == step; });
        if (step > saved_step) continue;
        (has_model ? kept : obsolete).push_back(prefix);
      }
      CheckpointState state;
      state.model_checkpoint_path = prefix_of(saved_step);
      state.all_model_checkpoint_paths = kept;
      update_checkpoint_state(*file_system_, directory_, std::move(state), latest_filename_);
      for (const std::string& prefix : obsolete) remove_checkpoint(*file_system_, prefix);
    } catch (...) {
      log_warning("input checkpoints in ", directory_,
                  " could not be tidied up and are tried again at the next save: ", describe(std::current_exception()));
    }
  }

  FileSystem* file_system_;
  std::string basename_;
  std::string latest_filename_;
  Saver saver_;
  std::weak_ptr<CheckpointClaim> model_;
  std::string directory_;
  std::string model_basename_;
  std::optional<std::int64_t> taken_;  // the step whose state was taken in the session at hand
};

}  // namespace trainhook
