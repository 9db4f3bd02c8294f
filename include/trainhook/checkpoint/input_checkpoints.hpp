// SPDX-License-Identifier: Apache-2.0
/// @file
/// InputCheckpoints: files with the positions of input pipelines, one for each checkpoint of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/restore_condition.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// Bundles `<basename>-<step>` in the model's directory, with a state file that lists them. Each is committed before
/// the model checkpoint of its step; after a kill between the two there is one more, which is harmless. A save deletes
/// those that no model checkpoint of the directory would be restored with.
class InputCheckpoints final : public CheckpointCompanion, public std::enable_shared_from_this<InputCheckpoints> {
 public:
  TRAINHOOK_DECL InputCheckpoints(FileSystem& file_system, std::string basename, std::string latest_filename);

  /// Joins the checkpoints of that hook from now on.
  TRAINHOOK_DECL void follow(const std::shared_ptr<CheckpointClaim>& model);

  [[nodiscard]] TRAINHOOK_DECL Commit take(SessionRef session, std::int64_t global_step) override;
  TRAINHOOK_DECL void tidy(std::int64_t global_step) noexcept override;
  TRAINHOOK_DECL void tidy_all() noexcept override;
  [[nodiscard]] TRAINHOOK_DECL bool is_mine(std::string_view prefix) const override;
  TRAINHOOK_DECL void join(const std::shared_ptr<CheckpointClaim>& other) const override;

  /// Sets the iterators to their positions at `step`, if the model was restored from this directory's checkpoint of
  /// that step. Without a file of that step the newest earlier one is used, with a warning; without any, the input
  /// starts from the beginning.
  TRAINHOOK_DECL void restore(SessionRef session, std::int64_t step, const std::string& restored_from) override;

  /// The steps of the files that restoring one of the models would use: its own, or else the newest before it.
  /// `inputs` is sorted.
  [[nodiscard]] TRAINHOOK_DECL static std::set<std::int64_t> needed_for(const std::vector<std::int64_t>& models,
                                                                        const std::vector<std::int64_t>& inputs);

  /// Prevents that a model is restored whose input is damaged. Valid as long as `files` lives.
  [[nodiscard]] TRAINHOOK_DECL static RestoreCondition restore_condition(
      const std::shared_ptr<InputCheckpoints>& files);

 private:
  [[nodiscard]] TRAINHOOK_DECL std::string prefix_of(std::int64_t step) const;

  // Restores the newest good file before `step`. Returns its step, or nothing if there is none.
  TRAINHOOK_DECL std::optional<std::int64_t> restore_earlier(SessionRef session, std::int64_t step) const;

  // Why the model must not be restored, or nothing: its input is damaged. Reads all of the file.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> why_not(const std::string& prefix) const;

  TRAINHOOK_DECL void write(const Snapshot& snapshot, std::int64_t step) const;

  // The steps of the directory's models, of whatever basename, or of the files of this.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::int64_t> steps_of_models() const;
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::int64_t> steps_of_inputs() const;

  // Whether the state file says the same.
  [[nodiscard]] TRAINHOOK_DECL bool lists(const CheckpointState& state) const;

  // Keeps what a model of the directory would be restored with, so also what was just restored while that model is
  // there, and the files of later steps: one may belong to a save in progress.
  TRAINHOOK_DECL void remove_obsolete(std::int64_t saved_step) const noexcept;

  FileSystem* file_system_;
  std::string basename_;
  std::string latest_filename_;
  Saver saver_;
  std::weak_ptr<CheckpointClaim> model_;
  std::string directory_;
  std::optional<std::int64_t> taken_;  // the step whose state was taken in this session
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/input_checkpoints.ipp>
#endif
