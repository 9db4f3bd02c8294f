// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointDirectory: which checkpoints a state file lists, and the order in which others go. Retention: which ones
/// of a saver stay.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/keep_rule.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

/// The checkpoints in a directory that one of its state files lists. Its user decides which ones stay; this class
/// lists and removes them. bundle_protocol.hpp has the steps and what a crash between them leaves:
///
///     mark      before the save of a checkpoint, which none would know if the process were killed before the next step
///     list      those that go, then those that stay: a checkpoint is listed until it is removed
///     remove    those that go
///     list      those that stay, then remove the marks and the files that record removals
///
/// A removal that fails is logged and tried again at the next `update`; that checkpoint stays listed.
class CheckpointDirectory {
 public:
  using List = std::vector<ListedCheckpoint>;

  struct Options {
    bool save_relative_paths = true;  ///< see update_checkpoint_state
    bool lists_what_goes = true;      ///< false: a mark names it when it is removed, since listed it would seem damaged
  };

  TRAINHOOK_DECL CheckpointDirectory(FileSystem& file_system, std::string path, std::string latest_filename,
                                     Options options);

  [[nodiscard]] FileSystem& file_system() const noexcept { return *file_system_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string state_file() const { return join_path(path_, latest_filename_); }

  /// Whether `prefix` is in this directory, by its path.
  [[nodiscard]] TRAINHOOK_DECL bool has(std::string_view prefix) const;

  /// The contents of the state file, empty if there is none; nothing, and a warning with what `follows`, if damaged.
  [[nodiscard]] TRAINHOOK_DECL std::optional<CheckpointState> read(std::string_view follows = "") const;

  /// True if the state file lists exactly these, in this order.
  [[nodiscard]] TRAINHOOK_DECL bool lists(const List& stays) const;

  /// False if there is no state file of this class, so that a killed writer may have saved what none lists.
  [[nodiscard]] bool lists_all() const { return last_own_step(*file_system_, state_file()).has_value(); }

  /// The prefixes that a killed process marked, of those whose name `is_wanted`. The next `update` removes the marks.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> find_marked(FunctionRef<bool(std::string_view name)> is_wanted =
                                                                        [](std::string_view) { return true; });

  /// Whether this object knows a mark of that checkpoint: its own, or one that it found.
  [[nodiscard]] TRAINHOOK_DECL bool has_mark_of(const std::string& prefix) const;

  /// @throws FailedPreconditionError if files of that checkpoint are there which the state file does not list, of a
  /// later step than the run has reached, without such a mark: they are somebody else's, and a save would replace them.
  TRAINHOOK_DECL void expect_free(const std::string& prefix) const;

  /// Marks a checkpoint that is about to be saved; the next `update`, which lists it, removes the mark.
  TRAINHOOK_DECL void mark(const std::string& prefix);

  /// Removes the mark of a checkpoint that could not be saved.
  TRAINHOOK_DECL void unmark(const std::string& prefix) noexcept;

  /// True if an `update` has marks to remove, or files that record removals.
  [[nodiscard]] bool has_records() const noexcept { return !records_.empty(); }

  /// Removes the marks and the files that record removals. A failure is logged.
  TRAINHOOK_DECL void remove_records() noexcept;

  /// Lists `stays`, the newest last, and removes `goes`, each with a call of `removed`. What could not be removed is
  /// left in `goes`. If nothing stays, there is no state file afterwards.
  /// @param last_preserved if given, the state file also has it and the time of each checkpoint
  /// @throws the error of the first listing, before anything is removed; later ones are logged.
  TRAINHOOK_DECL void update(const List& stays, List& goes, std::optional<double> last_preserved,
                             FunctionRef<void(const ListedCheckpoint&)> removed);

 private:
  TRAINHOOK_DECL void list(const List& goes, const List& stays, std::optional<double> last_preserved) const;
  TRAINHOOK_DECL bool begin_removal(const std::string& prefix) noexcept;
  TRAINHOOK_DECL void log_unfinished() const noexcept;  // what fails after a removal

  FileSystem* file_system_;
  std::string path_;
  std::string latest_filename_;
  Options options_;
  std::vector<std::string> records_;  // files that mark saves and record removals
};

struct RetentionPolicy {
  int max_to_keep = 5;                            ///< 0 keeps all and lists only the newest
  double keep_checkpoint_every_n_hours = 10'000;  ///< keeps the first one of each so many hours permanently
  KeepRules keep{};                               ///< instead of both, unless it is empty
  bool save_relative_paths = true;                ///< in the state file
};

/// Keeps a saver's newest checkpoints of one basename in a directory. It removes and replaces only what a saver wrote
/// there: checkpoints that the state file lists, and one that a mark names, whose writer was killed before it could
/// list it. Without marks, as before version 0.3, that one is intact and newer, by step and file time, than all listed
/// ones. It never lists, removes or replaces others: permanent ones, copies made by hand, those of other directories.
class Retention {
 public:
  /// `save_path` is a prefix without step: `run/model.ckpt`. `started`, in seconds since the Unix epoch, is the start
  /// of the first period of `keep_checkpoint_every_n_hours`, unless the state file has one.
  TRAINHOOK_DECL Retention(FileSystem& file_system, const std::string& save_path, std::string latest_filename,
                           RetentionPolicy policy, double started = 0);

  [[nodiscard]] FileSystem& file_system() const noexcept { return directory_.file_system(); }
  [[nodiscard]] std::string state_file() const { return directory_.state_file(); }

  /// Call it before `prefix` is written, in case the process is killed before `add`.
  /// @throws FailedPreconditionError if its step is that of a checkpoint which is not this saver's.
  TRAINHOOK_DECL void begin(const std::string& prefix);

  /// Undoes `begin`, because `prefix` could not be written.
  void abandon(const std::string& prefix) noexcept { directory_.unmark(prefix); }

  /// Makes `prefix`, committed at `time` (seconds since the Unix epoch), the newest, and removes surplus ones.
  TRAINHOOK_DECL void add(const std::string& prefix, double time);

  /// Finishes at `now` the work of a killed process after its last save: lists an unlisted checkpoint, removes surplus
  /// ones. Failures are logged, and the next save tries again.
  TRAINHOOK_DECL void tidy(double now) noexcept;

  /// The checkpoints that `tidy` would remove at `now`, oldest first. Changes nothing.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> too_many(double now) const;

  /// Replaces the list by these checkpoints, oldest first; ignores those that are not in the directory.
  TRAINHOOK_DECL void replace(const std::vector<std::string>& prefixes);

  /// The checkpoints that will be removed in future, oldest first; none if all are kept.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> prefixes() const;

 private:
  [[nodiscard]] bool keeps_all() const noexcept { return policy_.keep.empty() && policy_.max_to_keep == 0; }
  [[nodiscard]] TRAINHOOK_DECL double written_at(const std::string& prefix) const;
  TRAINHOOK_DECL void adopt_listed();

  // Lists a checkpoint that a killed writer committed but did not list.
  TRAINHOOK_DECL void adopt_marked();
  TRAINHOOK_DECL void adopt_newer();
  TRAINHOOK_DECL void adopt_unlisted(const std::string& prefix);

  TRAINHOOK_DECL void keep(const ListedCheckpoint& newest);  // instead of another one of that name
  TRAINHOOK_DECL void let_go(double now);
  TRAINHOOK_DECL void choose(double now);
  TRAINHOOK_DECL void list_and_remove(double now);

  CheckpointDirectory directory_;
  std::string basename_;
  RetentionPolicy policy_;
  CheckpointDirectory::List kept_;
  CheckpointDirectory::List doomed_;   // listed until they are removed
  std::shared_ptr<KeepChoice> rules_;  // null: none
  double last_preserved_;
  bool clock_went_back_ = false;
  bool is_listed_ = true;  // false: the state file differs
  bool lists_all_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoint_directory.ipp>
#endif
