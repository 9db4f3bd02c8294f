// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of retention.hpp.
#pragma once

#include <trainhook/checkpoint/retention.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <trainhook/checkpoint/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::detail {

Retention::Retention(FileSystem& file_system, const std::string& save_path, std::string latest_filename,
                     RetentionPolicy policy, double started)
    : file_system_(&file_system),
      directory_(parent_path(save_path)),
      basename_(base_name(save_path)),
      latest_filename_(std::move(latest_filename)),
      policy_(policy),
      last_preserved_(started) {
  adopt_listed();
  adopt_recorded();
  adopt_newer();
}

void Retention::begin(const std::string& prefix) {
  if (!kept_.empty()) return;
  file_system_->make_directories(directory_);
  const std::string record = unlisted_index_path(prefix, bundle_temporary_suffix());
  file_system_->create_writable(record, WriteMode::Exclusive)->close();
  records_.push_back(record);
}

void Retention::abandon(const std::string& prefix) noexcept {
  try {
    if (checkpoint_exists(*file_system_, prefix)) return;
    const std::string beginning = unlisted_index_path(prefix, "");
    std::erase_if(records_, [&](const std::string& record) {
      if (!record.starts_with(beginning)) return false;
      remove_if_there(*file_system_, record);
      return true;
    });
  } catch (...) {  // the next start removes it
  }
}

void Retention::add(const std::string& prefix, double time) {
  if (keeps_all()) kept_.clear();
  forget(base_name(prefix));
  kept_.push_back({prefix, time});
  settle(time);
}

void Retention::tidy(double now) noexcept {
  if (kept_.empty() || keeps_all()) return;
  if (is_listed_ && records_.empty() && kept_.size() <= static_cast<std::size_t>(policy_.max_to_keep)) return;
  try {
    settle(now);
  } catch (...) {
    log_warning("checkpoints in {} could not be tidied up, which is tried again at the next save: {}", directory_,
                describe(std::current_exception()));
  }
}

std::vector<std::string> Retention::too_many(double now) const {
  Retention trial = *this;
  trial.choose(now);
  std::vector<std::string> prefixes;
  for (const Kept& doomed : trial.doomed_) prefixes.push_back(doomed.prefix);
  return prefixes;
}

void Retention::settle(double now) {
  choose(now);
  write_state();
  sweep();
}

void Retention::choose(double now) {
  for (Kept& kept : kept_) {
    if (!kept.has_stamp) kept.time = (std::min)(kept.time, now);  // a file system's clock may be ahead
  }
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
    if (!is_here(prefix)) {
      log_warning("checkpoint {} is not in {}: this saver never removes it", prefix, directory_);
      continue;
    }
    if (!checkpoint_exists(*file_system_, prefix)) continue;
    forget(base_name(prefix));
    kept_.push_back({prefix, written_at(prefix), false});
  }
}

std::vector<std::string> Retention::prefixes() const {
  std::vector<std::string> prefixes;
  if (keeps_all()) return prefixes;
  for (const Kept& kept : kept_) prefixes.push_back(kept.prefix);
  return prefixes;
}

bool Retention::is_here(const std::string& prefix) const {
  return plain_path(parent_path(prefix)) == plain_path(directory_);
}

bool Retention::has_basename(const std::string& prefix) const {
  const std::string_view base = base_name(prefix);
  return base == basename_ || without_step(base) == basename_;
}

double Retention::written_at(const std::string& prefix) const {
  const std::vector<double> times = get_checkpoint_mtimes(*file_system_, {prefix});
  return times.empty() ? 0 : times.front();
}

void Retention::adopt_listed() {
  CheckpointState state;
  try {
    state = read_checkpoint_state(*file_system_, directory_, latest_filename_).value_or(CheckpointState{});
  } catch (const DataLossError& error) {
    log_warning("checkpoint state of {} is ignored, and the next save replaces it: {}", directory_, error.what());
    return;
  }
  if (state.model_checkpoint_path.empty() && file_system_->exists(state_file()))
    log_warning("state file {} names no model_checkpoint_path; the next save replaces it", state_file());
  last_preserved_ = state.last_preserved_timestamp.value_or(last_preserved_);
  std::vector<std::string>& listed = state.all_model_checkpoint_paths;
  const bool stamped = state.all_model_checkpoint_timestamps.size() == listed.size();
  if (std::ranges::find(listed, state.model_checkpoint_path) == listed.end() && !state.model_checkpoint_path.empty())
    listed.push_back(state.model_checkpoint_path);
  std::vector<std::string> foreign;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const std::string prefix = own_or_listed(*file_system_, directory_, listed[i]);
    if (!checkpoint_exists(*file_system_, prefix)) {
      is_listed_ = false;
      continue;
    }
    if (!is_here(prefix) || !has_basename(prefix)) {
      foreign.push_back(prefix);
      continue;
    }
    const bool has_stamp = stamped && i < state.all_model_checkpoint_timestamps.size();
    forget(base_name(prefix));
    kept_.push_back({prefix, has_stamp ? state.all_model_checkpoint_timestamps[i] : written_at(prefix), has_stamp});
  }
  if (foreign.empty()) return;
  log_warning(
      "state file {} lists {} checkpoints that are not this saver's ({} in {}), the first is {}: they are never "
      "removed, and the next save no longer lists them",
      state_file(), foreign.size(), basename_, directory_, foreign.front());
}

void Retention::adopt_recorded() {
  if (!file_system_->is_directory(directory_)) return;
  const std::vector<Kept> listed = kept_;
  for (const std::string& name : file_system_->list_directory(directory_)) {
    const std::optional<TemporaryIndex> record = unlisted_index(name);
    if (!record || !has_basename(record->base)) continue;
    const std::string prefix = join_path(directory_, record->base);
    records_.push_back(join_path(directory_, name));
    const bool is_listed =
        std::ranges::any_of(listed, [&](const Kept& kept) { return base_name(kept.prefix) == record->base; });
    if (!is_listed) adopt_unlisted(prefix);
  }
}

void Retention::adopt_newer() {
  std::int64_t newest_step = -1;
  double newest_time = -std::numeric_limits<double>::infinity();
  for (const Kept& kept : kept_) {
    newest_step = (std::max)(newest_step, step_of_checkpoint(kept.prefix).value_or(-1));
    newest_time = (std::max)(newest_time, written_at(kept.prefix));
  }
  if (newest_step < 0) return;
  for (const std::string& prefix : checkpoints_on_disk(*file_system_, directory_, basename_)) {
    if (step_of_checkpoint(prefix) > newest_step && written_at(prefix) > newest_time) adopt_unlisted(prefix);
  }
}

void Retention::adopt_unlisted(const std::string& prefix) {
  try {
    const BundleReader whole(prefix, {.file_system = file_system_});
  } catch (const Error&) { return; }
  log_info(
      "Checkpoint {} is not listed in {}: "
      "its writer was killed before it could list it. It counts as saved from now on.",
      prefix, state_file());
  forget(base_name(prefix));
  kept_.push_back({prefix, written_at(prefix), false});
  is_listed_ = false;
}

void Retention::forget(std::string_view base) {
  const auto is_it = [&](const Kept& kept) { return base_name(kept.prefix) == base; };
  std::erase_if(kept_, is_it);
  std::erase_if(doomed_, is_it);
}

void Retention::let_go(double now) {
  const Kept oldest = kept_.front();
  kept_.erase(kept_.begin());
  const double hours = policy_.keep_checkpoint_every_n_hours;
  const bool from_the_future = oldest.time > now;
  if (!clock_went_back_ && !from_the_future && oldest.time - hours * 3600 < last_preserved_) {
    doomed_.push_back(oldest);
    return;
  }
  last_preserved_ = (std::min)(oldest.time, now);
  if (std::exchange(clock_went_back_, false) || from_the_future) {
    log_warning("Keeps {} permanently: according to the clock, it or the last one kept was saved in the future.",
                oldest.prefix);
  } else {
    log_info("Keeps {} permanently: keep_checkpoint_every_n_hours is {}.", oldest.prefix, hours);
  }
}

void Retention::write_state() {
  CheckpointState state;
  const auto list = [&](const Kept& kept) {
    state.all_model_checkpoint_paths.push_back(kept.prefix);
    state.all_model_checkpoint_timestamps.push_back(kept.time);
  };
  for (const Kept& doomed : doomed_) {
    if (checkpoint_exists(*file_system_, doomed.prefix)) list(doomed);
  }
  for (const Kept& kept : kept_) list(kept);
  state.model_checkpoint_path = kept_.back().prefix;
  state.last_preserved_timestamp = last_preserved_;
  update_checkpoint_state(*file_system_, directory_, std::move(state), latest_filename_, policy_.save_relative_paths);
  is_listed_ = true;
}

void Retention::sweep() noexcept {
  if (doomed_.empty() && records_.empty()) return;
  std::erase_if(doomed_, [&](const Kept& doomed) {
    if (!begin_removal(*file_system_, doomed.prefix, records_)) return false;
    log_info("Removed {}: max_to_keep is {}.", doomed.prefix, policy_.max_to_keep);
    return true;
  });
  end_removals(*file_system_, state_file(), records_, [this] { write_state(); });
}

}  // namespace trainhook::detail
