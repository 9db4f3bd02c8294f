// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether checkpoints exist, and since when.
#pragma once

#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

/// Whether there is a checkpoint of this prefix: its index is there, which comes last and goes first, whatever its data
/// files; or it was being replaced when the writer was killed, and a `BundleReader` can read the new one. Source:
/// `tf.compat.v1.train.checkpoint_exists`.
[[nodiscard]] TRAINHOOK_DECL bool checkpoint_exists(FileSystem& file_system, const std::string& prefix);
[[nodiscard]] inline bool checkpoint_exists(const std::string& prefix) {
  return checkpoint_exists(posix_file_system(), prefix);
}

/// When the checkpoints were written, in seconds since 1970, in the order given; those that do not exist are left out.
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
