// SPDX-License-Identifier: Apache-2.0
/// @file
/// The `checkpoint` file of a directory, as TensorFlow keeps it: its checkpoints and which one is the newest.
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

/// What the state file says. Paths are prefixes (without `.index`): in the file relative to its directory, in memory as
/// they can be opened.
struct CheckpointState {
  std::string model_checkpoint_path{};                    ///< the newest
  std::vector<std::string> all_model_checkpoint_paths{};  ///< oldest first; the last is the newest
  std::vector<double> all_model_checkpoint_timestamps{};  ///< seconds since 1970, one for each path, or none
  std::optional<double> last_preserved_timestamp{};
};

inline constexpr const char* kLatestFilename = "checkpoint";

/// The number behind the last `-` of a prefix: 100 for `run/model.ckpt-100`; nothing if there is none.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> step_of_checkpoint(std::string_view prefix) noexcept;

namespace detail {

/// What a saver adds steps to: `run/model.ckpt` for `run/model.ckpt-100`; the prefix itself if it has no step.
[[nodiscard]] TRAINHOOK_DECL std::string_view without_step(std::string_view prefix) noexcept;

/// Drops what changes nothing about a path: `.`, doubled and trailing slashes.
TRAINHOOK_DECL std::string plain_path(std::string_view path);

/// The checkpoint that a directory's state file means by `listed`: the one of that name in the directory itself, so
/// that a directory that was copied or moved means its own checkpoints; `listed` as it is if there is none.
TRAINHOOK_DECL std::string own_or_listed(FileSystem& file_system, const std::string& directory,
                                         const std::string& listed);

/// Reads the four known fields and skips all others. @throws DataLossError.
TRAINHOOK_DECL CheckpointState parse_checkpoint_state(std::string_view text, const std::string& path);

/// As `get_checkpoint_state`, for those who choose or remove checkpoints by it: a file that cannot be read is an error.
/// @throws DataLossError if it does not parse; otherwise whatever the second attempt to read it throws.
[[nodiscard]] TRAINHOOK_DECL std::optional<CheckpointState> read_checkpoint_state(FileSystem& file_system,
                                                                                  const std::string& directory,
                                                                                  const std::string& latest_filename);

}  // namespace detail

/// Reads the state file of a directory. Nothing if there is none, or (with a warning) if it cannot be read or
/// does not parse.
/// @throws InvalidArgumentError if it parses but names no newest checkpoint.
[[nodiscard]] TRAINHOOK_DECL std::optional<CheckpointState> get_checkpoint_state(
    FileSystem& file_system, const std::string& directory, const std::string& latest_filename = kLatestFilename);
[[nodiscard]] inline std::optional<CheckpointState> get_checkpoint_state(
    const std::string& directory, const std::string& latest_filename = kLatestFilename) {
  return get_checkpoint_state(posix_file_system(), directory, latest_filename);
}

/// Replaces the state file, durably. The newest path is added to the list if it is not the last one there. Paths are
/// stored relative to the directory, so that it can be moved; without `save_relative_paths`, absolute ones stay as they
/// are, which is TensorFlow's default.
/// @throws InvalidArgumentError if the newest path is empty, or there are not as many timestamps as paths;
/// FailedPreconditionError if the newest path is the state file itself.
TRAINHOOK_DECL void update_checkpoint_state(FileSystem& file_system, const std::string& directory,
                                            CheckpointState state, const std::string& latest_filename = kLatestFilename,
                                            bool save_relative_paths = true);

/// The newest checkpoint according to the state file, if it is on disk; otherwise nothing, and an error in the log. In
/// a directory that was copied or moved it is the directory's own, whatever path the file gives. Its contents are not
/// checked; `checkpoint_candidates` returns more to choose from.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> latest_checkpoint(
    FileSystem& file_system, const std::string& directory, const std::string& latest_filename = kLatestFilename);
[[nodiscard]] inline std::optional<std::string> latest_checkpoint(
    const std::string& directory, const std::string& latest_filename = kLatestFilename) {
  return latest_checkpoint(posix_file_system(), directory, latest_filename);
}

/// Prefixes of the directory's checkpoints of the form `<basename>-<step>`, lowest step first, whatever the state file
/// says. Without a basename: of every one.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> checkpoints_on_disk(
    FileSystem& file_system, const std::string& directory, const std::optional<std::string>& basename = {});

/// True if `prefix` is a directory's checkpoint of that step, under whatever path: then the bytes of its index are the
/// same. Without a basename: under whatever name, too.
[[nodiscard]] TRAINHOOK_DECL bool is_checkpoint_of(FileSystem& file_system, const std::string& prefix,
                                                   const std::string& directory,
                                                   const std::optional<std::string>& basename, std::int64_t step);

/// Every checkpoint that a restore may try, best first: the one that the state file calls newest, then all others that
/// it lists or that are on disk, by falling step. A listed one whose name is in the directory means the directory's
/// own, even if the directory was copied or moved and the file gives the old path. A damaged state file costs a
/// warning, not the checkpoints. Unlisted ones count only if their basename is `basename`, or, without it, that of a
/// listed one; if none is listed, all count. A listed one may be missing on disk: reading it will tell.
/// @throws what reading the state file throws: another checkpoint than the one that it names is not taken for it.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> checkpoint_candidates(
    FileSystem& file_system, const std::string& directory, const std::optional<std::string>& basename = {},
    const std::string& latest_filename = kLatestFilename);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoint_state.ipp>
#endif
