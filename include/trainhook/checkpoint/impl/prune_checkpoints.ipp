// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of prune_checkpoints.hpp.
#pragma once

#include <trainhook/checkpoint/prune_checkpoints.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/directory_hold.hpp>
#include <trainhook/checkpoint/input_checkpoints.hpp>
#include <trainhook/checkpoint/retention.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook::detail {

/// The input checkpoints that an InputCheckpoints of the options' names removes once the models `removed` are gone:
/// those up to the step of `newest` that no model on disk would be restored with.
inline std::vector<std::string> obsolete_inputs(FileSystem& file_system, const std::string& newest,
                                                const std::set<std::string>& removed, const PruneOptions& options) {
  std::vector<std::int64_t> inputs;
  std::vector<std::int64_t> models;
  for (const std::string& prefix : checkpoints_listed_in(file_system, parent_path(newest))) {
    if (!removed.contains(prefix))
      (base_name(without_step(prefix)) == options.input_basename ? inputs : models)
          .push_back(step_of_checkpoint(prefix).value());
  }
  const std::optional<std::int64_t> last = step_of_checkpoint(newest);
  std::vector<std::string> obsolete;
  if (!last || !std::ranges::binary_search(inputs, *last)) return obsolete;
  const std::set<std::int64_t> needed = InputCheckpoints::needed_for(models, inputs);
  for (const std::int64_t step : inputs) {
    if (step <= *last && !needed.contains(step))
      obsolete.push_back(fmt::format("{}-{}", join_path(parent_path(newest), options.input_basename), step));
  }
  return obsolete;
}

/// Removes those.
inline void remove_obsolete_inputs(FileSystem& file_system, const std::string& newest, const PruneOptions& options) {
  const auto model = std::make_shared<CheckpointClaim>();
  model->directory = parent_path(newest);
  model->basename = base_name(without_step(newest));
  const auto inputs =
      std::make_shared<InputCheckpoints>(file_system, options.input_basename, options.input_latest_filename);
  inputs->follow(model);
  inputs->tidy(step_of_checkpoint(newest).value());
}

/// The path that the saver of the directory writes to, without a step.
inline std::string save_path_of(FileSystem& file_system, const std::string& directory,
                                const std::string& latest_filename) {
  const std::optional<CheckpointState> state = get_checkpoint_state(file_system, directory, latest_filename);
  const std::string path = join_path(directory, latest_filename);
  if (!state) {
    throw NotFoundError(
        "there is no state file {} that can be read, so nothing tells which checkpoints may be removed; give the "
        "directory of a training",
        path);
  }
  const std::vector<std::string>& listed = state->all_model_checkpoint_paths;
  const auto newest = std::ranges::find(listed, state->model_checkpoint_path);
  if (newest != listed.end() && newest + 1 != listed.end()) {
    throw FailedPreconditionError(
        "state file {} calls {} the newest, but lists {} after it; list the newest last, or remove the others yourself",
        path, *newest, *(newest + 1));
  }
  return join_path(directory, base_name(without_step(state->model_checkpoint_path)));
}

}  // namespace trainhook::detail

namespace trainhook {

std::vector<std::string> prune_checkpoints(const std::string& directory, const PruneOptions& options) {
  if (options.max_to_keep < 1) {
    throw InvalidArgumentError("max_to_keep is {}; it must be at least 1, because the newest checkpoint stays",
                               options.max_to_keep);
  }
  FileSystem& file_system = detail::given_or_posix(options.file_system);
  Clock& clock = detail::given_or_system(options.clock);
  const double now = clock.wall_seconds();
  std::string save_path = detail::save_path_of(file_system, directory, options.latest_filename);
  std::optional<detail::DirectoryHold> hold;
  if (!options.dry_run && options.directory_lock == DirectoryLock::Auto) {
    hold.emplace(file_system, directory, clock);
    save_path = detail::save_path_of(file_system, directory, options.latest_filename);  // it may have changed until now
  }
  detail::Retention retention(
      file_system, save_path, options.latest_filename,
      {.max_to_keep = options.max_to_keep, .keep_checkpoint_every_n_hours = std::numeric_limits<double>::infinity()},
      now);
  const std::vector<std::string> kept = retention.prefixes();
  std::vector<std::string> removed = retention.too_many(now);
  if (kept.empty()) return removed;
  if (!options.dry_run) retention.tidy(now);
  const std::vector<std::string> inputs =
      detail::obsolete_inputs(file_system, kept.back(), {removed.begin(), removed.end()}, options);
  removed.insert(removed.end(), inputs.begin(), inputs.end());
  if (options.dry_run) return removed;
  if (!inputs.empty()) detail::remove_obsolete_inputs(file_system, kept.back(), options);
  std::erase_if(removed, [&](const std::string& prefix) { return checkpoint_exists(file_system, prefix); });
  return removed;
}

}  // namespace trainhook
