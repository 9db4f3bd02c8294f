// SPDX-License-Identifier: Apache-2.0
/// @file
/// prune_checkpoints: removes old checkpoints of a directory in which no training runs now.
#pragma once

#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

struct PruneOptions {
  int max_to_keep = 5;   ///< as many of the newest stay; at least 1
  bool dry_run = false;  ///< changes nothing, and returns what would be removed
  std::string latest_filename = kLatestFilename;
  std::string input_basename = "input.ckpt";               ///< of the CheckpointInputPipelineHook, if there was one
  std::string input_latest_filename = "checkpoint_input";  ///< its state file
  DirectoryLock directory_lock = DirectoryLock::Auto;      ///< locks the directory meanwhile; not for a dry run
  FileSystem* file_system = nullptr;                       ///< null: the disk
  Clock* clock = nullptr;
};

/// Removes all but the newest checkpoints of a directory, as a `Saver` with this `max_to_keep` would at its next save:
/// the oldest first, of those that the state file lists or whose writer was killed before it could list them. Never
/// the newest, nor what the state file does not list: what was kept for ever, copies made by hand. Input checkpoints
/// that no remaining model needs are removed with them. Returns the prefixes of all that was removed; what could not be
/// removed is logged, stays listed, and is tried again by the next save.
/// @throws InvalidArgumentError for `max_to_keep` below 1, NotFoundError if there is no such directory or no state
/// file, FailedPreconditionError if a process trains there, or the state file calls one newest that it does not list
/// last.
TRAINHOOK_DECL std::vector<std::string> prune_checkpoints(const std::string& directory, const PruneOptions& options);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/prune_checkpoints.ipp>
#endif
