// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tells whether checkpoints exist, and when they were written.
#pragma once

#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

/// Whether the checkpoint exists: its index does, which is written last and removed first, or its replacement was
/// interrupted and a `BundleReader` can read the new one. Does not look at the data files. Source:
/// `tf.compat.v1.train.checkpoint_exists`.
[[nodiscard]] TRAINHOOK_DECL bool checkpoint_exists(FileSystem& file_system, const std::string& prefix);
[[nodiscard]] inline bool checkpoint_exists(const std::string& prefix) {
  return checkpoint_exists(posix_file_system(), prefix);
}

/// The times of writing, in seconds since the Unix epoch, in the given order; skips checkpoints that do not exist.
/// Source: `tf.compat.v1.train.get_checkpoint_mtimes`.
[[nodiscard]] TRAINHOOK_DECL std::vector<double> get_checkpoint_mtimes(FileSystem& file_system,
                                                                       const std::vector<std::string>& prefixes);
[[nodiscard]] inline std::vector<double> get_checkpoint_mtimes(const std::vector<std::string>& prefixes) {
  return get_checkpoint_mtimes(posix_file_system(), prefixes);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoint_files.ipp>
#endif
