// SPDX-License-Identifier: Apache-2.0
/// @file
/// prune_checkpoints: removes old checkpoints of a directory in which no training is running.
#pragma once

#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

class Clock;
class FileSystem;

struct PruneOptions {
  int max_to_keep = 5;   ///< how many of the newest to keep; at least 1
  bool dry_run = false;  ///< changes nothing and returns what would be removed
  std::string latest_filename = kLatestFilename;
  std::string input_basename = "input.ckpt";               ///< of a CheckpointInputPipelineHook, also in a job
  std::string input_latest_filename = "checkpoint_input";  ///< its state file
  DirectoryLock directory_lock = DirectoryLock::Auto;      ///< locks the directory, except for a dry run
  FileSystem* file_system = nullptr;                       ///< null: the disk
  Clock* clock = nullptr;
};

/// Removes all but the newest checkpoints of a directory, oldest first, as a `Saver` with this `max_to_keep` would at
/// its next save. Only removes checkpoints that the state file lists, or whose writer was killed before it could list
/// them: never the newest, copies made by hand, or those kept permanently. Also removes input checkpoints that no
/// remaining model needs. Returns the prefixes of all removed checkpoints. Failures are logged; such checkpoints stay
/// listed, and the next save tries again.
/// @throws InvalidArgumentError for `max_to_keep` below 1, NotFoundError if the directory or its state file does not
/// exist, FailedPreconditionError if a process trains there or the newest checkpoint is not the last one listed in the
/// state file.
TRAINHOOK_DECL std::vector<std::string> prune_checkpoints(const std::string& directory, const PruneOptions& options);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/prune_checkpoints.ipp>
#endif
