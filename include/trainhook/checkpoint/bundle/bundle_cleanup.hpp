// SPDX-License-Identifier: Apache-2.0
/// @file
/// Removes checkpoints, and finishes the interrupted saves of killed processes. bundle_protocol.hpp has the protocol.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

/// Removes a checkpoint durably: first its index, after which the checkpoint does not exist, then data and `.meta`.
/// Missing files are not an error. If it throws or the process dies, call it again; `finish_interrupted_saves` does so.
TRAINHOOK_DECL void remove_checkpoint(FileSystem& file_system, const std::string& prefix);

namespace detail {

/// The result of `finish_interrupted_saves`. Strings are prefixes unless they are called paths.
struct InterruptedSaves {
  std::vector<std::string> replaced{};    ///< checkpoints whose replacement was completed
  std::vector<std::string> removed{};     ///< checkpoints whose removal was finished, or that were never committed
  std::size_t temporaries = 0;            ///< the number of removed temporary files, including those of the above
  std::vector<std::string> incomplete{};  ///< data files without an index, which may not be this library's: left alone
  std::vector<std::string> foreign{};     ///< paths with names like those of temporary files, but not ours: left alone
};

/// Finishes the saves and removals of dead writers in a directory and removes their temporary files. The caller must
/// know, for example by the directory's lock, that no other writer is active. Logs what it cannot finish.
TRAINHOOK_DECL InterruptedSaves finish_interrupted_saves(FileSystem& file_system, const std::string& directory);

/// Removes a file if it exists.
TRAINHOOK_DECL void remove_if_there(FileSystem& file_system, const std::string& path);

/// The first two steps of a removal. Returns the files that record it; remove them after syncing the directory.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> remove_checkpoint_files(FileSystem& file_system,
                                                                              const std::string& prefix);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/bundle/impl/bundle_cleanup.ipp>
#endif
