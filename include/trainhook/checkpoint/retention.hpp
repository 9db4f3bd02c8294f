// SPDX-License-Identifier: Apache-2.0
/// @file
/// Retention: decides which checkpoints of a directory are kept, and writes the state file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

struct RetentionPolicy {
  int max_to_keep = 5;  ///< 0 keeps all and lists only the newest
  double keep_checkpoint_every_n_hours =
      10'000;                       ///< keeps one of the checkpoints to be removed permanently every so many hours
  bool save_relative_paths = true;  ///< in the state file
};

/// Maintains the list of a directory's checkpoints of one basename and removes surplus ones. It removes only what a
/// saver wrote there: checkpoints of the directory and basename that the state file lists, and one whose writer was
/// killed before it could list it. That one is intact and newer, by step and file time, than all listed ones; if none
/// is listed, a file marks it (see bundle_protocol.hpp). It never lists or removes other checkpoints: permanent ones,
/// copies made by hand, those of other directories. A checkpoint stays listed until it is removed; a failed removal is
/// repeated at the next save. Each removal is logged with its reason.
class Retention {
 public:
  /// `save_path` is a prefix without step: `run/model.ckpt`. `started`, in seconds since the Unix epoch, is the start
  /// of the first period of `keep_checkpoint_every_n_hours`, unless the state file has one.
  TRAINHOOK_DECL Retention(FileSystem& file_system, const std::string& save_path, std::string latest_filename,
                           RetentionPolicy policy, double started = 0);

  [[nodiscard]] FileSystem& file_system() const noexcept { return *file_system_; }
  [[nodiscard]] std::string state_file() const { return join_path(directory_, latest_filename_); }

  /// Call it before `prefix` is written: it marks the checkpoint as a saver's, in case the process is killed before
  /// `add`.
  TRAINHOOK_DECL void begin(const std::string& prefix);

  /// Undoes `begin`, because `prefix` could not be written.
  TRAINHOOK_DECL void abandon(const std::string& prefix) noexcept;

  /// Makes `prefix`, committed at `time` (seconds since the Unix epoch), the newest: writes the state file, removes
  /// surplus checkpoints, and writes the state file without them.
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
  struct Kept {
    std::string prefix;
    double time;
    bool has_stamp = true;  // false: the time is that of its file
  };

  [[nodiscard]] bool keeps_all() const noexcept { return policy_.max_to_keep == 0; }
  [[nodiscard]] TRAINHOOK_DECL bool is_here(const std::string& prefix) const;
  [[nodiscard]] TRAINHOOK_DECL bool has_basename(const std::string& prefix) const;
  [[nodiscard]] TRAINHOOK_DECL double written_at(const std::string& prefix) const;
  TRAINHOOK_DECL void adopt_listed();

  // Lists a checkpoint that a killed writer committed but did not list.
  TRAINHOOK_DECL void adopt_recorded();
  TRAINHOOK_DECL void adopt_newer();
  TRAINHOOK_DECL void adopt_unlisted(const std::string& prefix);

  TRAINHOOK_DECL void forget(std::string_view base);
  TRAINHOOK_DECL void let_go(double now);
  TRAINHOOK_DECL void choose(double now);
  TRAINHOOK_DECL void settle(double now);
  TRAINHOOK_DECL void write_state();
  TRAINHOOK_DECL void sweep() noexcept;

  FileSystem* file_system_;
  std::string directory_;
  std::string basename_;
  std::string latest_filename_;
  RetentionPolicy policy_;
  std::vector<Kept> kept_;
  std::vector<Kept> doomed_;  // listed until their index is removed
  std::vector<std::string>
      records_;  // files that mark removals and begun saves; removed after the state file is written
  double last_preserved_;
  bool clock_went_back_ = false;
  bool is_listed_ = true;  // false: the state file differs
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/retention.ipp>
#endif
