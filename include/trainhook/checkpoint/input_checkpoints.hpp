// SPDX-License-Identifier: Apache-2.0
/// @file
/// InputCheckpoints: files with the positions of input pipelines, one per checkpoint of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/input_files.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {
class Clock;
}

namespace trainhook::detail {

/// Bundles `<basename>-<step>` in the model's directory, with a state file that lists them. Each is committed before
/// the model checkpoint of its step; a kill between the two leaves a surplus file, which is harmless. Each save deletes
/// the files that no model checkpoint of the directory needs. In a session that saves no model they are the checkpoints
/// themselves, and a Saver keeps the newest.
///
/// In a job of several processes each has a file, `input_worker_<process>.ckpt-<step>` for the basename `input.ckpt`,
/// which contains the number of processes. The first process writes and removes those of all, and one state file lists
/// them.
class InputCheckpoints final : public CheckpointPart, public std::enable_shared_from_this<InputCheckpoints> {
 public:
  TRAINHOOK_DECL InputCheckpoints(FileSystem& file_system, std::string basename, std::string latest_filename,
                                  InputFiles::Process process = {});

  /// From now on, saves with the checkpoints of that hook.
  TRAINHOOK_DECL void follow(const std::shared_ptr<CheckpointClaim>& model);

  /// For a session that saves no model: from now on, saves by itself, into the directory of that claim.
  TRAINHOOK_DECL void go_alone(std::shared_ptr<CheckpointClaim> own_claim, Clock& clock);

  /// Null if a model is followed.
  [[nodiscard]] const std::shared_ptr<CheckpointClaim>& own_claim() const noexcept { return own_claim_; }

  /// Once alone: `restore_newest` returns false if nothing was saved yet. @throws DataLossError if all that
  /// was saved is gone.
  [[nodiscard]] TRAINHOOK_DECL bool restore_newest(SessionRef session);
  TRAINHOOK_DECL void save(SessionRef session, std::int64_t step);

  /// For a process that does not save: its input, as its file will contain it. Restores it first, as `restore` does, if
  /// that was not done yet.
  [[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> give(SessionRef session, std::int64_t step,
                                                             const std::string& restored_from);

  /// In a job that does not know the inputs of all processes, nothing is saved, with a warning.
  TRAINHOOK_DECL void take(const SaveMoment& moment, TakenParts& taken) override;
  TRAINHOOK_DECL void tidy(std::optional<std::int64_t> global_step) noexcept override;
  [[nodiscard]] TRAINHOOK_DECL bool is_mine(std::string_view prefix) const override;
  TRAINHOOK_DECL void join(const std::shared_ptr<CheckpointClaim>& other) const override;

  /// The files that `tidy` removes once the models `gone` are removed.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> obsolete(std::int64_t global_step,
                                                                 const std::set<std::string>& gone) const;

  /// Sets the iterators to their positions at `step`, if the model was restored from this directory's checkpoint of
  /// that step. If none was saved at that step, uses the newest earlier one, with a warning; if there is none, the
  /// input starts from the beginning. If another number of processes saved it, continues from the position that was the
  /// same for all of them. @throws DataLossError if the one of that step has lost its index, FailedPreconditionError if
  /// these positions differ.
  TRAINHOOK_DECL void restore(SessionRef session, std::int64_t step, const std::string& restored_from) override;

  /// Excludes models whose input checkpoint is damaged or has lost its index. Reads the whole file.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> why_not(const std::string& prefix) const override;

 private:
  class TakenInputs;
  using File = InputFiles::File;

  // Restores the newest undamaged file before `step`. Returns its step, or nothing if there is none.
  TRAINHOOK_DECL std::optional<std::int64_t> restore_earlier(SessionRef session, std::int64_t step) const;

  // The files of all processes, then no other one of that step is there that `find` would prefer.
  TRAINHOOK_DECL void write_all(const std::vector<std::vector<NamedTensor>>& inputs, std::int64_t step) const;
  TRAINHOOK_DECL void write(const std::vector<NamedTensor>& input, File file) const;

  // The steps of the directory's models, of any basename but those that are `gone`, lowest first, and these files.
  struct OnDisk {
    std::vector<std::int64_t> models{};
    std::set<File> inputs{};

    [[nodiscard]] TRAINHOOK_DECL bool has(std::int64_t step) const;

    // Whether restoring one of the models would use the files of this step: each uses those of its own step or the
    // newest earlier ones.
    [[nodiscard]] TRAINHOOK_DECL bool needs(std::int64_t step) const;
  };
  [[nodiscard]] TRAINHOOK_DECL OnDisk on_disk(const std::set<std::string>& gone = {}) const;

  // Lists the files that a model of the directory needs, and removes the others. Keeps files of later steps, which may
  // belong to a save in progress.
  TRAINHOOK_DECL void list_and_remove(std::int64_t saved_step) const noexcept;

  FileSystem* file_system_;
  InputFiles files_;
  Saver saver_;
  std::weak_ptr<CheckpointClaim> model_;
  std::shared_ptr<CheckpointClaim> own_claim_;  // null unless the session saves no model
  std::string directory_;
  std::optional<std::int64_t> taken_;  // the step whose state was taken last in this session
  bool was_restored_ = false;          // `restore` was called in this session
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/input_checkpoints.ipp>
#endif
