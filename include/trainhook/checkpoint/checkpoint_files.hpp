// SPDX-License-Identifier: Apache-2.0
/// @file
/// The files of checkpoints: their names, which of them exist, and when they were written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

/// The number after the last `-` of a prefix: 100 for `run/model.ckpt-100`; nothing if there is none.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> step_of_checkpoint(std::string_view prefix) noexcept;

/// The prefixes of the form `<basename>-<step>` on disk, lowest step first; does not read the state file. Without a
/// basename: of any basename.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> checkpoints_on_disk(
    FileSystem& file_system, const std::string& directory, const std::optional<std::string>& basename = {});

namespace detail {

/// The prefix without its step: `run/model.ckpt` for `run/model.ckpt-100`; the prefix itself if it has no step.
[[nodiscard]] TRAINHOOK_DECL std::string_view without_step(std::string_view prefix) noexcept;

/// As `checkpoints_on_disk`, for callers that remove or restore by it: a directory that cannot be listed, or is not
/// there, is an error.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> checkpoints_listed_in(
    FileSystem& file_system, const std::string& directory, const std::optional<std::string>& basename = {});

/// The checkpoints of a directory whose names have no step, sorted: `run/model.ckpt`, or `run/` for `run/.index`.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> checkpoints_without_step(FileSystem& file_system,
                                                                               const std::string& directory);

/// True if `prefix`, from which the session was restored, has the same index bytes as the directory's checkpoint of
/// that step, by whatever path. Without a basename: of any basename.
/// @throws NotFoundError if it was one of the directory's and is gone.
[[nodiscard]] TRAINHOOK_DECL bool is_checkpoint_of(FileSystem& file_system, const std::string& prefix,
                                                   const std::string& directory,
                                                   const std::optional<std::string>& basename, std::int64_t step);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoint_files.ipp>
#endif
