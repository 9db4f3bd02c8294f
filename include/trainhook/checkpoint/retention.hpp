// SPDX-License-Identifier: Apache-2.0
/// @file
/// Retention: which checkpoints of a directory stay, and the state file that says so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/bundle_cleanup.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook {

struct RetentionPolicy {
  int max_to_keep = 5;                            ///< 0 keeps all, and lists the newest only
  double keep_checkpoint_every_n_hours = 10'000;  ///< one that would go stays for ever when so much time has passed since the last that did
  bool save_relative_paths = true;                ///< in the state file
};

/// Keeps the list of one directory's checkpoints of one basename. What there is, it learns from the state file and the directory, not from
/// what this process happens to have saved. One sweep removes all that is too much; what cannot be removed is tried again at the next.
class Retention {
 public:
  /// `save_path` is a prefix without step: `run/model.ckpt`.
  Retention(FileSystem& file_system, const std::string& save_path, std::string latest_filename, RetentionPolicy policy)
      : file_system_(&file_system),
        directory_(parent_path(save_path)),
        basename_(base_name(save_path)),
        latest_filename_(std::move(latest_filename)),
        policy_(policy) {
    adopt();
  }

  [[nodiscard]] FileSystem& file_system() const noexcept { return *file_system_; }
  [[nodiscard]] std::string state_file() const { return join_path(directory_, latest_filename_); }

  /// Counts `prefix`, just committed at `time` (seconds since 1970), as the newest: first the state file says so, then what is too much
  /// goes.
  void add(const std::string& prefix, double time) {
    std::erase_if(kept_, [&](const Kept& kept) { return keeps_all() || kept.prefix == prefix; });
    std::erase(doomed_, prefix);
    kept_.push_back({prefix, time});
    if (!last_preserved_) last_preserved_ = time;
    while (!keeps_all() && kept_.size() > static_cast<std::size_t>(policy_.max_to_keep)) let_go();
    write_state();
    sweep();
  }

  /// Takes these, oldest first, as what there is; those that are not on disk do not count.
  void replace(const std::vector<std::string>& prefixes) {
    kept_.clear();
    for (const std::string& prefix : prefixes) {
      if (checkpoint_exists(*file_system_, prefix)) kept_.push_back({prefix, written_at(prefix)});
    }
  }

  /// Those that will have to go one day, oldest first: none where all are kept.
  [[nodiscard]] std::vector<std::string> prefixes() const {
    std::vector<std::string> prefixes;
    if (keeps_all()) return prefixes;
    for (const Kept& kept : kept_) prefixes.push_back(kept.prefix);
    return prefixes;
  }

 private:
  struct Kept {
    std::string prefix;
    double time;
  };

  [[nodiscard]] bool keeps_all() const noexcept { return policy_.max_to_keep == 0; }

  [[nodiscard]] double written_at(const std::string& prefix) const { return file_system_->modification_time(prefix + ".index"); }

  void adopt() {
    CheckpointState state;
    try {
      state = get_checkpoint_state(*file_system_, directory_, latest_filename_).value_or(CheckpointState{});
    } catch (const InvalidArgumentError& error) {
      log_warning(error.what());  // the next save writes it anew
    }
    last_preserved_ = state.last_preserved_timestamp;
    const bool stamped = state.all_model_checkpoint_timestamps.size() == state.all_model_checkpoint_paths.size();
    for (std::size_t i = 0; i < state.all_model_checkpoint_paths.size(); ++i) {
      const std::string& prefix = state.all_model_checkpoint_paths[i];
      if (checkpoint_exists(*file_system_, prefix))
        kept_.push_back({prefix, stamped ? state.all_model_checkpoint_timestamps[i] : written_at(prefix)});
    }
    adopt_unlisted(state.model_checkpoint_path);
  }

  // What a crash left between two steps of a sweep, or another max_to_keep: unlisted, and older than the newest.
  void adopt_unlisted(const std::string& newest) {
    const auto newest_step = step_of_checkpoint(newest);
    if (!newest_step || preserves_some()) return;
    std::vector<Kept> unlisted;
    for (const std::string& prefix : checkpoints_on_disk(*file_system_, directory_, basename_)) {
      const bool listed = std::ranges::any_of(kept_, [&](const Kept& kept) { return base_name(kept.prefix) == base_name(prefix); });
      if (!listed && step_of_checkpoint(prefix) < newest_step) unlisted.push_back({prefix, written_at(prefix)});
    }
    kept_.insert(kept_.begin(), unlisted.begin(), unlisted.end());
  }

  // A policy under which checkpoints may stay for ever unlisted: then an unlisted one is not known to be a leftover.
  [[nodiscard]] bool preserves_some() const noexcept {
    return policy_.keep_checkpoint_every_n_hours < RetentionPolicy{}.keep_checkpoint_every_n_hours;
  }

  void let_go() {
    const Kept oldest = kept_.front();
    kept_.erase(kept_.begin());
    if (oldest.time - policy_.keep_checkpoint_every_n_hours * 3600 >= *last_preserved_) {
      last_preserved_ = oldest.time;  // stays on disk, no longer listed
      return;
    }
    doomed_.push_back(oldest.prefix);
  }

  void write_state() {
    CheckpointState state;
    state.model_checkpoint_path = kept_.back().prefix;
    for (const Kept& kept : kept_) {
      state.all_model_checkpoint_paths.push_back(kept.prefix);
      state.all_model_checkpoint_timestamps.push_back(kept.time);
    }
    state.last_preserved_timestamp = last_preserved_;
    update_checkpoint_state(*file_system_, directory_, std::move(state), latest_filename_, policy_.save_relative_paths);
  }

  void sweep() noexcept {
    std::erase_if(doomed_, [this](const std::string& prefix) {
      try {
        remove_checkpoint(*file_system_, prefix);
        return true;
      } catch (...) {
        log_warning("the old checkpoint ", prefix,
                    " could not be removed and is tried again at the next save: ", describe(std::current_exception()));
        return false;
      }
    });
  }

  FileSystem* file_system_;
  std::string directory_;
  std::string basename_;
  std::string latest_filename_;
  RetentionPolicy policy_;
  std::vector<Kept> kept_;
  std::vector<std::string> doomed_;
  std::optional<double> last_preserved_;
};

}  // namespace trainhook
