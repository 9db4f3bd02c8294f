// SPDX-License-Identifier: Apache-2.0
/// @file
/// Retention: decides which checkpoints of a directory are kept, and writes the state file.
#pragma once

#include <optional>
#include <string>
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

/// Keeps the list of one directory's checkpoints of one basename. What there is, it learns from the state file and the
/// directory, not from what this process happens to have saved. One sweep removes all that is too much; what cannot be
/// removed is tried again at the next.
class Retention {
 public:
  /// `save_path` is a prefix without step: `run/model.ckpt`.
  TRAINHOOK_DECL Retention(FileSystem& file_system, const std::string& save_path, std::string latest_filename,
                           RetentionPolicy policy);

  [[nodiscard]] FileSystem& file_system() const noexcept { return *file_system_; }
  [[nodiscard]] std::string state_file() const { return join_path(directory_, latest_filename_); }

  /// Counts `prefix`, just committed at `time` (seconds since 1970), as the newest: first the state file says so, then
  /// what is too much goes.
  TRAINHOOK_DECL void add(const std::string& prefix, double time);

  /// Takes these, oldest first, as what there is; those that are not on disk do not count.
  TRAINHOOK_DECL void replace(const std::vector<std::string>& prefixes);

  /// The checkpoints that will be deleted one day, oldest first: none if all are kept.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> prefixes() const;

 private:
  struct Kept {
    std::string prefix;
    double time;
  };

  [[nodiscard]] bool keeps_all() const noexcept { return policy_.max_to_keep == 0; }

  [[nodiscard]] TRAINHOOK_DECL double written_at(const std::string& prefix) const;
  TRAINHOOK_DECL void adopt();

  // What a crash left between two steps of a sweep, or another max_to_keep: unlisted, and older than the newest.
  TRAINHOOK_DECL void adopt_unlisted(const std::string& newest);

  // A policy under which checkpoints may stay for ever unlisted: then an unlisted one is not known to be a leftover.
  [[nodiscard]] bool preserves_some() const noexcept {
    return policy_.keep_checkpoint_every_n_hours < RetentionPolicy{}.keep_checkpoint_every_n_hours;
  }

  TRAINHOOK_DECL void let_go();
  TRAINHOOK_DECL void write_state();
  TRAINHOOK_DECL void sweep() noexcept;

  FileSystem* file_system_;
  std::string directory_;
  std::string basename_;
  std::string latest_filename_;
  RetentionPolicy policy_;
  std::vector<Kept> kept_;
  std::vector<std::string> doomed_;
  std::optional<double> last_preserved_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/retention.ipp>
#endif
