// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of input_checkpoints.hpp.
#pragma once

#include <trainhook/checkpoint/input_checkpoints.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/directory_checks.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

InputCheckpoints::InputCheckpoints(FileSystem& file_system, std::string basename, std::string latest_filename)
    : file_system_(&file_system),
      basename_(std::move(basename)),
      latest_filename_(std::move(latest_filename)),
      saver_({.kinds = {StateKind::Input}, .with_saveables = false, .file_system = &file_system}) {}

void InputCheckpoints::follow(const std::shared_ptr<CheckpointClaim>& model) {
  taken_.reset();
  if (model_.lock() == model) return;
  model_ = model;
  directory_ = model->directory;
  expect_name_fits(*file_system_, longest_bundle_path(join_path(directory_, basename_)),
                   fmt::format("CheckpointInputPipelineHook: checkpoint_basename '{}'", basename_));
  model->companions.push_back(shared_from_this());
}

void InputCheckpoints::go_alone(std::shared_ptr<CheckpointClaim> own_claim, Clock& clock) {
  own_claim_ = std::move(own_claim);
  directory_ = own_claim_->directory;
  saver_.use(*file_system_, clock);
}

bool InputCheckpoints::restore_newest(SessionRef session) {
  const std::vector<std::string> saved =
      read_from_device([&] { return checkpoint_candidates(*file_system_, directory_, basename_, latest_filename_); });
  for (const std::string& prefix : saved) {
    if (!read_from_device([&] { return checkpoint_exists(*file_system_, prefix); })) {
      log_warning("input checkpoint {} is skipped: {}.index does not exist", prefix, prefix);
      continue;
    }
    saver_.restore(session, prefix);
    log_info("Restored the input pipeline from {}.", prefix);
    return true;
  }
  if (saved.empty()) return false;
  throw DataLossError(
      "none of the {} input checkpoints that {}/{} lists is there, the newest is {}; put one back, or remove that "
      "file to start the input from the beginning",
      saved.size(), directory_, latest_filename_, saved.front());
}

void InputCheckpoints::save(SessionRef session, std::int64_t step) {
  static_cast<void>(saver_.save(session, {.save_path = join_path(directory_, basename_),
                                          .global_step = step,
                                          .latest_filename = latest_filename_,
                                          .before_commit = [this, step] { own_claim_->confirm_directory(step); }}));
}

InputCheckpoints::Commit InputCheckpoints::take(SessionRef session, std::int64_t global_step) {
  taken_ = global_step;
  const std::shared_ptr<const Snapshot> snapshot = detail::make_shared_object<Snapshot>(saver_.snapshot(session));
  const auto self = shared_from_this();
  return {.before_model = [self, snapshot, global_step] { self->write(*snapshot, global_step); },
          .after_model = [self, global_step] { self->settle(global_step); }};
}

void InputCheckpoints::tidy(std::int64_t global_step) noexcept {
  try {
    if (!checkpoint_exists(*file_system_, prefix_of(global_step))) return;
  } catch (...) { return; }  // the code that needs the file reports it
  settle(global_step);
}

void InputCheckpoints::tidy_all() noexcept { settle((std::numeric_limits<std::int64_t>::max)()); }

void InputCheckpoints::join(const std::shared_ptr<CheckpointClaim>& other) const {
  std::make_shared<InputCheckpoints>(*file_system_, basename_, latest_filename_)->follow(other);
}

void InputCheckpoints::restore(SessionRef session, std::int64_t step, const std::string& restored_from) {
  if (taken_ == step) return;
  const bool is_ours =
      read_from_device([&] { return is_checkpoint_of(*file_system_, restored_from, directory_, std::nullopt, step); });
  if (!is_ours) return;
  const std::string prefix = prefix_of(step);
  if (read_from_device([&] { return checkpoint_exists(*file_system_, prefix); })) {
    saver_.restore(session, prefix);
    log_info("Restored the input pipeline from {}.", prefix);
    return;
  }
  if (saved_steps(directory_).contains(step)) {
    throw DataLossError(
        "input checkpoint {} is damaged: {}.index does not exist; put it back, or restore an older checkpoint", prefix,
        prefix);
  }
  if (const std::optional<std::int64_t> earlier = restore_earlier(session, step)) {
    log_warning(
        "the model of step {} was restored from '{}', but {} does not exist: the input continues from its position at "
        "step {}, and elements that were used after that come again",
        step, directory_, prefix, *earlier);
  } else {
    log_warning(
        "the model of step {} was restored from '{}', but {} does not exist, nor an earlier one: the input starts from "
        "the beginning, as at step 0",
        step, directory_, prefix);
  }
}

std::optional<std::int64_t> InputCheckpoints::restore_earlier(SessionRef session, std::int64_t step) const {
  std::set<std::int64_t> saved = saved_steps(directory_);
  for (saved.erase(saved.lower_bound(step), saved.end()); !saved.empty(); saved.erase(std::prev(saved.end()))) {
    const std::int64_t earlier = *saved.rbegin();
    const std::string prefix = prefix_of(earlier);
    if (!read_from_device([&] { return checkpoint_exists(*file_system_, prefix); })) {
      log_warning("input checkpoint {} is skipped: {}.index does not exist", prefix, prefix);
      continue;
    }
    try {
      saver_.restore(session, prefix);
      return earlier;
    } catch (const DataLossError& error) { log_warning("input checkpoint {} is skipped: {}", prefix, error.what()); }
  }
  return std::nullopt;
}

std::set<std::int64_t> InputCheckpoints::saved_steps(const std::string& directory) const {
  std::set<std::int64_t> steps = listed_steps(directory);
  for (const std::string& name : read_from_device([&] { return file_system_->list_directory(directory); })) {
    if (!is_mine(name)) continue;
    const std::string_view prefix = std::string_view(name).substr(0, name.find('.', basename_.size()));
    if (const auto step = step_of_checkpoint(prefix); step && without_step(prefix) == basename_) steps.insert(*step);
  }
  return steps;
}

CheckpointDirectory InputCheckpoints::listing(const std::string& directory) const {
  return CheckpointDirectory(*file_system_, directory, latest_filename_, {.lists_what_goes = false});
}

std::set<std::int64_t> InputCheckpoints::listed_steps(const std::string& directory) const {
  std::set<std::int64_t> steps;
  const auto state = listing(directory).read();
  for (const std::string& prefix : state.value_or(CheckpointState{}).all_model_checkpoint_paths) {
    if (base_name(without_step(prefix)) == basename_) steps.insert(step_of_checkpoint(prefix).value_or(0));
  }
  return steps;
}

RestoreCondition InputCheckpoints::restore_condition(const std::shared_ptr<InputCheckpoints>& files) {
  const std::weak_ptr<InputCheckpoints> weak = files;
  RestoreCondition condition;
  condition.why_not = [weak](const std::string& prefix) -> std::optional<std::string> {
    const auto self = weak.lock();
    return self == nullptr ? std::nullopt : self->why_not(prefix);
  };
  condition.is_other = [weak](const std::string& prefix) {
    const auto self = weak.lock();
    return self != nullptr && self->is_mine(prefix);
  };
  return condition;
}

std::string InputCheckpoints::prefix_of(std::int64_t step) const {
  return fmt::format("{}-{}", join_path(directory_, basename_), step);
}

bool InputCheckpoints::is_mine(std::string_view prefix) const { return base_name(prefix).starts_with(basename_ + "-"); }

std::optional<std::string> InputCheckpoints::why_not(const std::string& prefix) const {
  const std::optional<std::int64_t> step = step_of_checkpoint(prefix);
  if (!step) return std::nullopt;
  const std::string mine = fmt::format("{}-{}", join_path(parent_path(prefix), basename_), *step);
  std::string damage;
  if (read_from_device([&] { return checkpoint_exists(*file_system_, mine); })) {
    try {
      BundleReader(mine, {.file_system = file_system_}).verify();
    } catch (const DataLossError& error) { damage = error.what(); }
  } else if (saved_steps(parent_path(prefix)).contains(*step)) {
    damage = fmt::format("{}.index does not exist", mine);
  }
  if (damage.empty()) return std::nullopt;
  return fmt::format(
      "the position of the input pipeline at its step is damaged: {} (without the CheckpointInputPipelineHook the "
      "model alone is restored)",
      damage);
}

void InputCheckpoints::write(const Snapshot& snapshot, std::int64_t step) const {
  BundleWriter writer(prefix_of(step), {.file_system = file_system_, .overwrite = true});
  for (const NamedTensor& entry : snapshot.entries) writer.add(entry.name, entry.tensor);
  writer.finish();
}

InputCheckpoints::Steps InputCheckpoints::steps_on_disk(const std::set<std::string>& gone) const {
  const std::shared_ptr<CheckpointClaim> model = model_.lock();
  Steps steps;
  for (const std::string& prefix : checkpoints_listed_in(*file_system_, directory_)) {
    if (gone.contains(prefix)) continue;
    const auto writes = [&](const auto& companion) { return companion->is_mine(prefix); };
    const std::int64_t step = step_of_checkpoint(prefix).value_or(0);
    if (base_name(without_step(prefix)) == basename_) {
      steps.inputs.push_back(step);
    } else if (!is_mine(prefix) && (model == nullptr || std::ranges::none_of(model->companions, writes))) {
      steps.models.push_back(step);
    }
  }
  return steps;
}

void InputCheckpoints::settle(std::int64_t saved_step) const noexcept {
  try {
    const Steps steps = steps_on_disk();
    CheckpointDirectory::List stays, goes;
    for (const std::int64_t step : listed_steps(directory_)) {
      if (std::ranges::binary_search(steps.models, step) && !std::ranges::binary_search(steps.inputs, step))
        stays.push_back({.prefix = prefix_of(step)});  // lost: so that its model is not mistaken for one without input
    }
    for (const std::int64_t step : steps.inputs) {
      if (step <= saved_step)  // a later one: being saved
        (steps.needs(step) ? stays : goes).push_back({.prefix = prefix_of(step)});
    }
    CheckpointDirectory directory = listing(directory_);
    if (goes.empty() && directory.lists(stays)) return;
    directory.update(stays, goes, std::nullopt, [](const ListedCheckpoint& /*removed*/) {});
  } catch (...) {
    log_warning("input checkpoints in {} could not be tidied up and are tried again at the next save: {}", directory_,
                describe(std::current_exception()));
  }
}

std::vector<std::string> InputCheckpoints::obsolete(std::int64_t global_step, const std::set<std::string>& gone) const {
  const Steps steps = steps_on_disk(gone);
  std::vector<std::string> prefixes;
  if (!std::ranges::binary_search(steps.inputs, global_step)) return prefixes;
  for (const std::int64_t step : steps.inputs) {
    if (step <= global_step && !steps.needs(step)) prefixes.push_back(prefix_of(step));
  }
  return prefixes;
}

bool InputCheckpoints::Steps::needs(std::int64_t input) const {
  const auto model = std::ranges::lower_bound(models, input);
  const auto next = std::ranges::upper_bound(inputs, input);
  return model != models.end() && (next == inputs.end() || *model < *next);
}

}  // namespace trainhook::detail
