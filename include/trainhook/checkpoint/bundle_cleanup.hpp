// SPDX-License-Identifier: Apache-2.0
/// @file
/// Removing checkpoints, and what writers that died have left.
#pragma once

#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

/// Removes a checkpoint: its index first, after which it does not exist, then its data and `.meta`. What is not there
/// is no error, so that the leftovers of a removal that was cut short can be removed as well. Not synced: a crash may
/// bring it back, whole or as leftovers.
TRAINHOOK_DECL void remove_checkpoint(FileSystem& file_system, const std::string& prefix);

/// Removes temporary files of writers that died. Only for who knows that no other writer is at work in the directory
/// (by its lock, say). Returns what was removed.
TRAINHOOK_DECL std::vector<std::string> remove_stale_temporaries(FileSystem& file_system, const std::string& directory);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/bundle_cleanup.ipp>
#endif
