// SPDX-License-Identifier: Apache-2.0
/// @file
/// InputCheckpoints: the files that hold positions of input pipelines, one for each checkpoint of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/restore_condition.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// Bundles `<basename>-<step>` beside those of the model, with a state file that lists them. They are committed before
/// the model's of their step: a kill in between leaves one too many, which changes nothing. One goes when the model's
/// of its step is gone.
class InputCheckpoints final : public CheckpointCompanion, public std::enable_shared_from_this<InputCheckpoints> {
 public:
  TRAINHOOK_DECL InputCheckpoints(FileSystem& file_system, std::string basename, std::string latest_filename);

  /// From now on goes with the checkpoints of that hook.
  TRAINHOOK_DECL void follow(const std::shared_ptr<CheckpointClaim>& model);

  [[nodiscard]] TRAINHOOK_DECL Commit take(SessionRef session, std::int64_t global_step) override;

  /// Brings the iterators to where they were at `step`, where the model was restored from this directory's checkpoint
  /// of that step.
  /// @throws FailedPreconditionError where an earlier checkpoint has the input's state and this one does not.
  TRAINHOOK_DECL void restore(SessionRef session, std::int64_t step, const std::string& restored_from);

  /// What keeps a model from being restored without its input. Holds no longer than `files` lives.
  [[nodiscard]] TRAINHOOK_DECL static RestoreCondition restore_condition(
      const std::shared_ptr<InputCheckpoints>& files);

 private:
  [[nodiscard]] TRAINHOOK_DECL std::string prefix_of(std::int64_t step) const;
  [[nodiscard]] TRAINHOOK_DECL bool is_mine(std::string_view prefix) const;

  // Whether the input was saved at that step or before. Where it was not, the hook is new there and takes the model as
  // it is.
  [[nodiscard]] TRAINHOOK_DECL bool was_there(const std::string& directory, std::int64_t step) const;

  // Reads all of it: a damaged one is no better than none.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> why_not(const std::string& prefix) const;

  TRAINHOOK_DECL void write(const Snapshot& snapshot, std::int64_t step) const;

  // Those of later steps are left alone: one may belong to a save that is on its way.
  TRAINHOOK_DECL void remove_obsolete(std::int64_t saved_step) const noexcept;

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

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/input_checkpoints.ipp>
#endif
