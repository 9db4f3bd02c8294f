// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/checkpoint_directory.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::detail {

CheckpointDirectory::CheckpointDirectory(FileSystem& file_system, std::string path, std::string latest_filename,
                                         Options options)
    : file_system_(&file_system),
      path_(std::move(path)),
      latest_filename_(std::move(latest_filename)),
      options_(options) {}

bool CheckpointDirectory::has(std::string_view prefix) const {
  return plain_path(parent_path(prefix)) == plain_path(path_);
}

std::optional<CheckpointState> CheckpointDirectory::read(std::string_view follows) const {
  try {
    return read_checkpoint_state(*file_system_, path_, latest_filename_).value_or(CheckpointState{});
  } catch (const DataLossError& error) {
    log_warning("checkpoint state of {} is ignored{}: {}", path_, follows, error.what());
    return std::nullopt;
  }
}

bool CheckpointDirectory::lists(const List& stays) const {
  const std::optional<CheckpointState> state = read();
  if (!state) return stays.empty();
  return (stays.empty() || state->model_checkpoint_path == stays.back().prefix) &&
         std::ranges::equal(state->all_model_checkpoint_paths, stays, {}, {}, &ListedCheckpoint::prefix);
}

/// Whether it is `basename`, alone or with a step.
inline bool has_basename(std::string_view prefix, std::string_view basename) {
  const std::string_view base = base_name(prefix);
  return base == basename || without_step(base) == basename;
}

std::vector<std::string> CheckpointDirectory::find_marked(FunctionRef<bool(std::string_view name)> is_wanted) {
  std::vector<std::string> prefixes;
  if (!file_system_->is_directory(path_)) return prefixes;
  for (const std::string& name : file_system_->list_directory(path_)) {
    const std::optional<TemporaryIndex> mark = unlisted_index(name);
    if (!mark || !is_temporary_name(name) || !is_wanted(mark->base)) continue;
    records_.push_back(join_path(path_, name));
    prefixes.push_back(join_path(path_, mark->base));
  }
  return prefixes;
}

/// Whether the directory has an index or data of that checkpoint.
inline bool has_files_of(FileSystem& file_system, const std::string& prefix) {
  const std::string directory = parent_path(prefix);
  if (!file_system.is_directory(directory)) return false;
  const std::string_view base = base_name(prefix);
  return std::ranges::any_of(file_system.list_directory(directory), [&](const std::string& name) {
    return base_of_data(name) == base || name == bundle_index_path(base);
  });
}

bool CheckpointDirectory::has_mark_of(const std::string& prefix) const {
  const std::string mark = unlisted_index_path(prefix, "");
  return std::ranges::any_of(records_, [&](const std::string& record) { return record.starts_with(mark); });
}

void CheckpointDirectory::expect_free(const std::string& prefix) const {
  if (has_mark_of(prefix) || !has_files_of(*file_system_, prefix)) return;
  const CheckpointState now = read().value_or(CheckpointState{});  // another saver of this process may have written it
  const auto is_it = [&](const std::string& listed) { return base_name(listed) == base_name(prefix); };
  if (std::ranges::any_of(now.all_model_checkpoint_paths, is_it)) return;
  if (step_of_checkpoint(prefix) <= last_own_step(*file_system_, state_file())) return;
  throw FailedPreconditionError(
      "{} is not written over: files of that name are there, and {} does not list them, so they may be a copy. Move "
      "them away, or save into another directory",
      prefix, state_file());
}

void CheckpointDirectory::mark(const std::string& prefix) {
  file_system_->make_directories(path_);
  const std::string mark = unlisted_index_path(prefix, bundle_temporary_suffix());
  file_system_->create_writable(mark, WriteMode::Exclusive)->close();
  records_.push_back(mark);
}

void CheckpointDirectory::unmark(const std::string& prefix) noexcept {
  try {
    if (has_files_of(*file_system_, prefix)) return;
    const std::string beginning = unlisted_index_path(prefix, "");
    std::erase_if(records_, [&](const std::string& record) {
      if (!record.starts_with(beginning)) return false;
      remove_if_there(*file_system_, record);
      return true;
    });
  } catch (...) {  // the next start removes it
  }
}

void CheckpointDirectory::remove_records() noexcept {
  try {
    for (; !records_.empty(); records_.pop_back()) remove_if_there(*file_system_, records_.back());
  } catch (...) { log_unfinished(); }
}

void CheckpointDirectory::log_unfinished() const noexcept {
  log_warning("until the next save, {} lists checkpoints that were removed, or the last file of one is left: {}",
              state_file(), describe(std::current_exception()));
}

void CheckpointDirectory::update(const List& stays, List& goes, std::optional<double> last_preserved,
                                 FunctionRef<void(const ListedCheckpoint&)> removed) {
  if (!options_.lists_what_goes && !goes.empty()) {
    for (const ListedCheckpoint& one : goes) mark(one.prefix);
    file_system_->sync_directory(path_);
  }
  list(goes, stays, last_preserved);
  if (goes.empty()) return remove_records();
  std::erase_if(goes, [&](const ListedCheckpoint& one) {
    if (!begin_removal(one.prefix)) return false;
    removed(one);
    return true;
  });
  try {
    if (options_.lists_what_goes) {
      list(goes, stays, last_preserved);  // syncs the directory, too
    } else {
      file_system_->sync_directory(path_);
    }
  } catch (...) { return log_unfinished(); }
  if (options_.lists_what_goes || goes.empty()) remove_records();  // or else the marks of what could not be removed
}

void CheckpointDirectory::list(const List& goes, const List& stays, std::optional<double> last_preserved) const {
  CheckpointState state{.last_preserved_timestamp = last_preserved};
  const auto add = [&](const ListedCheckpoint& one) {
    state.all_model_checkpoint_paths.push_back(one.prefix);
    if (last_preserved) state.all_model_checkpoint_timestamps.push_back(one.time);
  };
  for (const ListedCheckpoint& one : goes) {
    if (options_.lists_what_goes && checkpoint_exists(*file_system_, one.prefix)) add(one);
  }
  for (const ListedCheckpoint& one : stays) add(one);
  if (!state.all_model_checkpoint_paths.empty()) {
    state.model_checkpoint_path = state.all_model_checkpoint_paths.back();
    std::int64_t last = last_own_step(*file_system_, state_file()).value_or(0);
    for (const std::string& path : state.all_model_checkpoint_paths)
      last = (std::max)(last, step_of_checkpoint(path).value_or(0));
    write_checkpoint_state(*file_system_, path_, std::move(state), latest_filename_, options_.save_relative_paths,
                           last);
    return;
  }
  const std::optional<CheckpointState> now = read();
  if (!now || now->all_model_checkpoint_paths.empty()) return;  // there is none, or it is not ours
  file_system_->remove_file(state_file());
  file_system_->sync_directory(path_);
}

bool CheckpointDirectory::begin_removal(const std::string& prefix) noexcept {
  try {
    std::ranges::move(remove_checkpoint_files(*file_system_, prefix), std::back_inserter(records_));
    return true;
  } catch (...) {
    log_warning("the old checkpoint {} could not be removed and is tried again at the next save: {}", prefix,
                describe(std::current_exception()));
    return false;
  }
}

Retention::Retention(FileSystem& file_system, const std::string& save_path, std::string latest_filename,
                     RetentionPolicy policy, double started)
    : directory_(file_system, std::string(parent_path(save_path)), std::move(latest_filename),
                 {.save_relative_paths = policy.save_relative_paths}),
      basename_(base_name(save_path)),
      policy_(std::move(policy)),
      rules_(policy_.keep.start()),
      last_preserved_(started),
      lists_all_(directory_.lists_all()) {
  adopt_listed();
  adopt_marked();
  adopt_newer();
}

void Retention::begin(const std::string& prefix) {
  const auto is_it = [&](const ListedCheckpoint& own) { return base_name(own.prefix) == base_name(prefix); };
  const bool is_kept = std::ranges::any_of(kept_, is_it);
  if (is_kept && is_listed_) return;
  if (lists_all_ && !is_kept && std::ranges::none_of(doomed_, is_it) && step_of_checkpoint(prefix))
    directory_.expect_free(prefix);
  directory_.mark(prefix);
}

void Retention::add(const std::string& prefix, double time) {
  if (keeps_all()) kept_.clear();
  keep({prefix, time, true});
  list_and_remove(time);
}

void Retention::tidy(double now) noexcept {
  if (kept_.empty() || keeps_all()) return;
  try {
    const bool is_enough =
        rules_ == nullptr ? kept_.size() <= static_cast<std::size_t>(policy_.max_to_keep) : too_many(now).empty();
    if (is_listed_ && !directory_.has_records() && is_enough) return;
    list_and_remove(now);
  } catch (...) {
    log_warning("checkpoints in {} could not be tidied up, which is tried again at the next save: {}",
                directory_.path(), describe(std::current_exception()));
  }
}

std::vector<std::string> Retention::too_many(double now) const {
  Retention trial = *this;
  trial.choose(now);
  std::vector<std::string> prefixes;
  for (const ListedCheckpoint& doomed : trial.doomed_) prefixes.push_back(doomed.prefix);
  return prefixes;
}

void Retention::list_and_remove(double now) {
  choose(now);
  is_listed_ = false;
  directory_.update(kept_, doomed_, last_preserved_, [this](const ListedCheckpoint& removed) {
    if (rules_ == nullptr) {
      log_info("Removed {}: max_to_keep is {}.", removed.prefix, policy_.max_to_keep);
    } else {
      log_info("Removed {}: no rule of `keep` keeps it.", removed.prefix);
    }
  });
  is_listed_ = true;
  lists_all_ = true;
}

void Retention::choose(double now) {
  for (ListedCheckpoint& kept : kept_) {
    if (!kept.has_stamp) kept.time = (std::min)(kept.time, now);  // a file system's clock may be ahead
  }
  if (rules_ != nullptr) return rules_->choose(file_system(), kept_, doomed_);
  if (last_preserved_ > now) {
    log_warning(
        "state file {}: its last_preserved_timestamp is {:.0f} seconds ahead of the clock, so how much time has passed "
        "is not known; the next checkpoint that would be removed is kept",
        state_file(), last_preserved_ - now);
    last_preserved_ = now;
    clock_went_back_ = true;
  }
  while (!keeps_all() && kept_.size() > static_cast<std::size_t>(policy_.max_to_keep)) let_go(now);
}

void Retention::replace(const std::vector<std::string>& prefixes) {
  kept_.clear();
  for (const std::string& prefix : prefixes) {
    if (!directory_.has(prefix)) {
      log_warning("checkpoint {} is not in {}: this saver never removes it", prefix, directory_.path());
      continue;
    }
    if (!checkpoint_exists(file_system(), prefix)) continue;
    keep({prefix, written_at(prefix), false});
  }
}

std::vector<std::string> Retention::prefixes() const {
  std::vector<std::string> prefixes;
  if (keeps_all()) return prefixes;
  for (const ListedCheckpoint& kept : kept_) prefixes.push_back(kept.prefix);
  return prefixes;
}

double Retention::written_at(const std::string& prefix) const {
  const std::vector<double> times = get_checkpoint_mtimes(file_system(), {prefix});
  return times.empty() ? 0 : times.front();
}

void Retention::adopt_listed() {
  std::optional<CheckpointState> found = directory_.read(", and the next save replaces it");
  if (!found) return;
  CheckpointState& state = *found;
  if (state.model_checkpoint_path.empty() && file_system().exists(state_file()))
    log_warning("state file {} names no model_checkpoint_path; the next save replaces it", state_file());
  last_preserved_ = state.last_preserved_timestamp.value_or(last_preserved_);
  std::vector<std::string>& listed = state.all_model_checkpoint_paths;
  const bool stamped = state.all_model_checkpoint_timestamps.size() == listed.size();
  if (std::ranges::find(listed, state.model_checkpoint_path) == listed.end() && !state.model_checkpoint_path.empty())
    listed.push_back(state.model_checkpoint_path);
  std::vector<std::string> foreign;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const std::string prefix = own_or_listed(file_system(), directory_.path(), listed[i]);
    if (!checkpoint_exists(file_system(), prefix)) {
      is_listed_ = false;
      continue;
    }
    if (!directory_.has(prefix) || !has_basename(prefix, basename_)) {
      foreign.push_back(prefix);
      continue;
    }
    const bool has_stamp = stamped && i < state.all_model_checkpoint_timestamps.size();
    keep({prefix, has_stamp ? state.all_model_checkpoint_timestamps[i] : written_at(prefix), has_stamp});
  }
  if (foreign.empty()) return;
  log_warning(
      "state file {} lists {} checkpoints that are not this saver's ({} in {}), the first is {}: they are never "
      "removed, and the next save no longer lists them",
      state_file(), foreign.size(), basename_, directory_.path(), foreign.front());
}

void Retention::adopt_marked() {
  const CheckpointDirectory::List listed = kept_;
  for (const std::string& prefix :
       directory_.find_marked([this](std::string_view name) { return has_basename(name, basename_); })) {
    const auto is_it = [&](const ListedCheckpoint& kept) { return base_name(kept.prefix) == base_name(prefix); };
    if (std::ranges::none_of(listed, is_it)) adopt_unlisted(prefix);
  }
}

void Retention::adopt_newer() {
  std::int64_t newest_step = -1;
  double newest_time = -std::numeric_limits<double>::infinity();
  for (const ListedCheckpoint& kept : kept_) {
    newest_step = (std::max)(newest_step, step_of_checkpoint(kept.prefix).value_or(-1));
    newest_time = (std::max)(newest_time, written_at(kept.prefix));
  }
  if (newest_step < 0) return;
  for (const std::string& prefix : checkpoints_on_disk(file_system(), directory_.path(), basename_)) {
    if (step_of_checkpoint(prefix) <= newest_step || directory_.has_mark_of(prefix)) continue;
    if (lists_all_) {
      log_warning(
          "checkpoint {} is not listed in {} and is left alone; a save of its step is an error, so move it away",
          prefix, state_file());
    } else if (written_at(prefix) > newest_time) {
      adopt_unlisted(prefix);
    }
  }
}

void Retention::adopt_unlisted(const std::string& prefix) {
  try {
    const BundleReader whole(prefix, {.file_system = &file_system()});
  } catch (const NotFoundError&) { return; } catch (const DataLossError&) {
    return;
  }
  log_info(
      "Checkpoint {} is not listed in {}: "
      "its writer was killed before it could list it. It counts as saved from now on.",
      prefix, state_file());
  keep({prefix, written_at(prefix), false});
  is_listed_ = false;
}

void Retention::keep(const ListedCheckpoint& newest) {
  const auto is_it = [&](const ListedCheckpoint& one) { return base_name(one.prefix) == base_name(newest.prefix); };
  std::erase_if(kept_, is_it);
  std::erase_if(doomed_, is_it);
  if (rules_ != nullptr) rules_->forget(newest.prefix);
  kept_.push_back(newest);
}

void Retention::let_go(double now) {
  const ListedCheckpoint oldest = kept_.front();
  kept_.erase(kept_.begin());
  const double hours = policy_.keep_checkpoint_every_n_hours;
  const double periods = std::floor((oldest.time - last_preserved_) / (hours * 3600));
  const bool is_unknown = clock_went_back_ || oldest.time > now || !std::isfinite(periods);
  if (!is_unknown && periods < 1) {
    doomed_.push_back(oldest);
    return;
  }
  last_preserved_ = is_unknown ? (std::min)(oldest.time, now) : last_preserved_ + periods * hours * 3600;
  clock_went_back_ = false;
  if (is_unknown) {
    log_warning("Keeps {} permanently: according to the clock, it or the last one kept was saved in the future.",
                oldest.prefix);
  } else {
    log_info("Keeps {} permanently: keep_checkpoint_every_n_hours is {}.", oldest.prefix, hours);
  }
}

}  // namespace trainhook::detail
