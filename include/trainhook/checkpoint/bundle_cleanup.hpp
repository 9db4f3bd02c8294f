// SPDX-License-Identifier: Apache-2.0
/// @file
/// Removing checkpoints, and finishing what a process that was killed had begun. The protocol is in
/// bundle_protocol.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

/// Removes a checkpoint, durably: its index first, after which it does not exist, then its data and `.meta`. What is
/// not there is not an error. If it throws, or the process dies, the removal can be repeated;
/// `finish_interrupted_saves` does that.
TRAINHOOK_DECL void remove_checkpoint(FileSystem& file_system, const std::string& prefix);

/// What `finish_interrupted_saves` found. All strings are prefixes.
struct InterruptedSaves {
  std::vector<std::string> replaced{};    ///< their replacement was completed
  std::vector<std::string> removed{};     ///< their removal was finished, or they were never committed
  std::size_t temporaries = 0;            ///< temporary files that were removed, those of the above included
  std::vector<std::string> incomplete{};  ///< data without an index that nothing says is ours: left alone
};

/// Finishes what writers that died had begun in a directory, and removes their temporary files. Only for who knows that
/// no other writer is at work in the directory (by its lock, say). What cannot be finished is logged and left.
TRAINHOOK_DECL InterruptedSaves finish_interrupted_saves(FileSystem& file_system, const std::string& directory);

namespace detail {

/// Removes a file, if it is there.
TRAINHOOK_DECL void remove_if_there(FileSystem& file_system, const std::string& path);

/// The first two steps of a removal. Returns the files that remain as its record, to be removed after the directory is
/// synced.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> remove_checkpoint_files(FileSystem& file_system,
                                                                              const std::string& prefix);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/bundle_cleanup.ipp>
#endif
