// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointState: TensorFlow's `checkpoint` file, which lists a directory's checkpoints and the newest one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

/// The contents of the state file. Paths are prefixes (without `.index`): relative to the directory in the file, ready
/// to open in memory.
struct CheckpointState {
  std::string model_checkpoint_path{};                    ///< the newest
  std::vector<std::string> all_model_checkpoint_paths{};  ///< oldest first; the last is the newest
  std::vector<double> all_model_checkpoint_timestamps{};  ///< seconds since the Unix epoch, one per path, or none
  std::optional<double> last_preserved_timestamp{};
};

inline constexpr const char* kLatestFilename = "checkpoint";

namespace detail {

/// Finds the checkpoint that a directory's state file means by `listed`: the one of that name in the directory itself,
/// so that a copied or moved directory means its own checkpoints, or else `listed`.
TRAINHOOK_DECL std::string own_or_listed(FileSystem& file_system, const std::string& directory,
                                         const std::string& listed);

/// The step in the last line of a state file of a CheckpointDirectory, which marks each checkpoint until it is listed;
/// those of steps up to it may be the run's own without being listed, such as permanent ones. Nothing for a file
/// without that line (of TensorFlow, a user, or this library before these marks), in which one that a killed writer
/// saved may be missing. @throws the errors of reading it.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> last_own_step(FileSystem& file_system,
                                                                       const std::string& path);

/// As `update_checkpoint_state`; with a last step, the file ends with that line.
TRAINHOOK_DECL void write_checkpoint_state(FileSystem& file_system, const std::string& directory, CheckpointState state,
                                           const std::string& latest_filename, bool save_relative_paths,
                                           std::optional<std::int64_t> last_step);

/// Reads the four known fields and skips all others. @throws DataLossError if `text` does not parse.
TRAINHOOK_DECL CheckpointState parse_checkpoint_state(std::string_view text, const std::string& path);

/// As `get_checkpoint_state`, for callers that choose or remove checkpoints by it: an unreadable file is an error.
/// @throws DataLossError if it does not parse, and the errors of reading it, which is tried twice.
[[nodiscard]] TRAINHOOK_DECL std::optional<CheckpointState> read_checkpoint_state(FileSystem& file_system,
                                                                                  const std::string& directory,
                                                                                  const std::string& latest_filename);

}  // namespace detail

/// Reads the state file of a directory. Nothing if there is none or, with a warning, if it cannot be read or parsed.
/// @throws InvalidArgumentError if it parses but names no newest checkpoint.
[[nodiscard]] TRAINHOOK_DECL std::optional<CheckpointState> get_checkpoint_state(
    FileSystem& file_system, const std::string& directory, const std::string& latest_filename = kLatestFilename);
[[nodiscard]] inline std::optional<CheckpointState> get_checkpoint_state(
    const std::string& directory, const std::string& latest_filename = kLatestFilename) {
  return get_checkpoint_state(posix_file_system(), directory, latest_filename);
}

/// Replaces the state file durably. The newest path is appended to the list if it is not its last one. Paths are stored
/// relative to the directory, so that it can be moved; without `save_relative_paths`, which is TensorFlow's default,
/// absolute paths stay absolute.
/// @throws InvalidArgumentError if the newest path is empty or the numbers of timestamps and paths differ,
/// FailedPreconditionError if the newest path is the state file itself.
TRAINHOOK_DECL void update_checkpoint_state(FileSystem& file_system, const std::string& directory,
                                            CheckpointState state, const std::string& latest_filename = kLatestFilename,
                                            bool save_relative_paths = true);

/// The newest checkpoint according to the state file; nothing, and an error in the log, if it is not on disk. A copied
/// or moved directory has its own checkpoints, whatever paths the file has. The checkpoint's contents are not checked.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> latest_checkpoint(
    FileSystem& file_system, const std::string& directory, const std::string& latest_filename = kLatestFilename);
[[nodiscard]] inline std::optional<std::string> latest_checkpoint(
    const std::string& directory, const std::string& latest_filename = kLatestFilename) {
  return latest_checkpoint(posix_file_system(), directory, latest_filename);
}

namespace detail {

/// The checkpoints that a restore tries, best first: the state file's newest, then all others that are listed or on
/// disk, by decreasing step. A listed name that exists in the directory means that checkpoint, even if the file has an
/// old path. If the state file is damaged, logs a warning and uses the checkpoints on disk. Unlisted ones count only if
/// their basename is `basename` or, without it, that of a listed one; if none is listed, all count, and one without a
/// step if it is the only one. Listed ones may be missing on disk.
/// @throws the errors of reading the state file, because it might name another checkpoint, FailedPreconditionError for
/// several without a step.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> checkpoint_candidates(
    FileSystem& file_system, const std::string& directory, const std::optional<std::string>& basename = {},
    const std::string& latest_filename = kLatestFilename);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoint_state.ipp>
#endif
