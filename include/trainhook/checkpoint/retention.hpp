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
  int max_to_keep = 5;  ///< 0 keeps all, and lists the newest only
  double keep_checkpoint_every_n_hours =
      10'000;  ///< one that would go stays for ever when so much time has passed since the last that did
  bool save_relative_paths = true;  ///< in the state file
};

/// Keeps the list of one directory's checkpoints of one basename, and removes those that are too many. It removes only
/// what a saver wrote there: checkpoints of the directory and basename that the directory's state file lists, and one
/// whose writer was killed before it could list it: it is whole and newer, by step and by file time, than all that are
/// listed, or, if none is listed, a file says so (see bundle_protocol.hpp). Whatever else is there or listed, it leaves
/// alone and never lists: what was kept for ever, copies made by hand, other directories' checkpoints. A checkpoint
/// stays listed until it is removed, and what cannot be removed is tried again at the next save. Each removal is logged
/// with its reason.
class Retention {
 public:
  /// `save_path` is a prefix without step: `run/model.ckpt`. `started`, in seconds since 1970, is when the time until
  /// the first checkpoint that stays for ever begins, if the state file does not say.
  TRAINHOOK_DECL Retention(FileSystem& file_system, const std::string& save_path, std::string latest_filename,
                           RetentionPolicy policy, double started = 0);

  [[nodiscard]] FileSystem& file_system() const noexcept { return *file_system_; }
  [[nodiscard]] std::string state_file() const { return join_path(directory_, latest_filename_); }

  /// Call it before `prefix` is written, so that it is known who did it if the process is killed before `add`.
  TRAINHOOK_DECL void begin(const std::string& prefix);

  /// Takes `begin` back: `prefix` could not be written.
  TRAINHOOK_DECL void abandon(const std::string& prefix) noexcept;

  /// Counts `prefix`, just committed at `time` (seconds since 1970), as the newest: first the state file says so, then
  /// what is too much goes, then the state file no longer lists that.
  TRAINHOOK_DECL void add(const std::string& prefix, double time);

  /// Does at `now` what a process that was killed had left to do after its last save: lists what it had not listed,
  /// removes what is too much. Does nothing if there is nothing to do. What fails is logged, and done by the next save.
  TRAINHOOK_DECL void tidy(double now) noexcept;

  /// The checkpoints that `tidy` would remove at `now`, oldest first. Changes nothing.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> too_many(double now) const;

  /// Takes these, oldest first, as what savers wrote here; those that are not in the directory do not count.
  TRAINHOOK_DECL void replace(const std::vector<std::string>& prefixes);

  /// The checkpoints that will be deleted one day, oldest first: none if all are kept.
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

  // What a writer that was killed had committed, but not listed.
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
  std::vector<Kept> doomed_;          // listed until their index is gone
  std::vector<std::string> records_;  // of removals and of begun saves: to be removed when the state file is written
  double last_preserved_;
  bool clock_went_back_ = false;
  bool is_listed_ = true;  // false: the state file lists something else
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/retention.ipp>
#endif
