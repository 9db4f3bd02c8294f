// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/prune_checkpoints.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_directory.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/directory_hold.hpp>
#include <trainhook/checkpoint/input_checkpoints.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook::detail {

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
  const auto model = std::make_shared<detail::CheckpointClaim>();
  model->directory = parent_path(kept.back());
  const auto input =
      std::make_shared<detail::InputCheckpoints>(file_system, options.input_basename, options.input_latest_filename);
  input->follow(model);
  if (const std::optional<std::int64_t> newest = step_of_checkpoint(kept.back())) {
    const std::vector<std::string> inputs = input->obsolete(*newest, {removed.begin(), removed.end()});
    if (!options.dry_run && !inputs.empty()) input->tidy(*newest);
    removed.insert(removed.end(), inputs.begin(), inputs.end());
  }
  if (options.dry_run) return removed;
  std::erase_if(removed, [&](const std::string& prefix) { return checkpoint_exists(file_system, prefix); });
  return removed;
}

}  // namespace trainhook
