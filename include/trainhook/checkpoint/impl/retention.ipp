// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of retention.hpp.
#pragma once

#include <trainhook/checkpoint/retention.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <trainhook/checkpoint/bundle_cleanup.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/checkpoint/tensor_bundle_format.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL Retention::Retention(FileSystem& file_system, const std::string& save_path, std::string latest_filename,
                                    RetentionPolicy policy)
    : file_system_(&file_system),
      directory_(parent_path(save_path)),
      basename_(base_name(save_path)),
      latest_filename_(std::move(latest_filename)),
      policy_(policy) {
  adopt();
}

TRAINHOOK_DECL void Retention::add(const std::string& prefix, double time) {
  std::erase_if(kept_, [&](const Kept& kept) { return keeps_all() || kept.prefix == prefix; });
  std::erase(doomed_, prefix);
  kept_.push_back({prefix, time});
  if (!last_preserved_) last_preserved_ = time;
  while (!keeps_all() && kept_.size() > static_cast<std::size_t>(policy_.max_to_keep)) let_go();
  write_state();
  sweep();
}

TRAINHOOK_DECL void Retention::replace(const std::vector<std::string>& prefixes) {
  kept_.clear();
  for (const std::string& prefix : prefixes) {
    if (checkpoint_exists(*file_system_, prefix)) kept_.push_back({prefix, written_at(prefix)});
  }
}

TRAINHOOK_DECL std::vector<std::string> Retention::prefixes() const {
  std::vector<std::string> prefixes;
  if (keeps_all()) return prefixes;
  for (const Kept& kept : kept_) prefixes.push_back(kept.prefix);
  return prefixes;
}

TRAINHOOK_DECL double Retention::written_at(const std::string& prefix) const {
  return file_system_->modification_time(bundle_index_path(prefix));
}

TRAINHOOK_DECL void Retention::adopt() {
  CheckpointState state;
  try {
    state = get_checkpoint_state(*file_system_, directory_, latest_filename_).value_or(CheckpointState{});
  } catch (const InvalidArgumentError& error) {
    log_warning("{}", error.what());  // the next save replaces it
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

TRAINHOOK_DECL void Retention::adopt_unlisted(const std::string& newest) {
  const auto newest_step = step_of_checkpoint(newest);
  if (!newest_step || preserves_some()) return;
  std::vector<Kept> unlisted;
  for (const std::string& prefix : checkpoints_on_disk(*file_system_, directory_, basename_)) {
    const bool listed =
        std::ranges::any_of(kept_, [&](const Kept& kept) { return base_name(kept.prefix) == base_name(prefix); });
    if (!listed && step_of_checkpoint(prefix) < newest_step) unlisted.push_back({prefix, written_at(prefix)});
  }
  kept_.insert(kept_.begin(), unlisted.begin(), unlisted.end());
}

TRAINHOOK_DECL void Retention::let_go() {
  const Kept oldest = kept_.front();
  kept_.erase(kept_.begin());
  if (oldest.time - policy_.keep_checkpoint_every_n_hours * 3600 >= *last_preserved_) {
    last_preserved_ = oldest.time;  // stays on disk, no longer listed
    return;
  }
  doomed_.push_back(oldest.prefix);
}

TRAINHOOK_DECL void Retention::write_state() {
  CheckpointState state;
  state.model_checkpoint_path = kept_.back().prefix;
  for (const Kept& kept : kept_) {
    state.all_model_checkpoint_paths.push_back(kept.prefix);
    state.all_model_checkpoint_timestamps.push_back(kept.time);
  }
  state.last_preserved_timestamp = last_preserved_;
  update_checkpoint_state(*file_system_, directory_, std::move(state), latest_filename_, policy_.save_relative_paths);
}

TRAINHOOK_DECL void Retention::sweep() noexcept {
  std::erase_if(doomed_, [this](const std::string& prefix) {
    try {
      remove_checkpoint(*file_system_, prefix);
      return true;
    } catch (...) {
      log_warning("the old checkpoint {} could not be removed and is tried again at the next save: {}", prefix,
                  describe(std::current_exception()));
      return false;
    }
  });
}

}  // namespace trainhook::detail
