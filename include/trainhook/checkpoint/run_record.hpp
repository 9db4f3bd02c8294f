// SPDX-License-Identifier: Apache-2.0
/// @file
/// RunRecord: identifies the run that last wrote to a training directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class FileSystem;

namespace detail {

/// Identifies a run of a program. A session that saves writes it to `run.pbtxt` in its directory when it starts, and
/// compares it when it resumes. It is not part of a checkpoint, so that the checkpoint's bytes do not depend on it.
/// Only the user may read the file: a command line may have a password in it.
struct RunRecord {
  std::string command_line{};           ///< program and arguments; empty if unknown, which differs from nothing
  std::int64_t random_seed = 0;         ///< of the graph
  std::string restored{};               ///< what was not plain in restores; it differs from nothing
  std::string kernel_width{};           ///< of the engine; empty if unknown, which differs from nothing
  std::uint32_t graph_fingerprint = 0;  ///< a CRC32C of what the nodes are; 0 if unknown, which differs from nothing

  bool operator==(const RunRecord&) const = default;

  /// Describes how `now` differs, for messages; empty if it does not.
  [[nodiscard]] TRAINHOOK_DECL std::string differences(const RunRecord& now) const;
};

/// The record of this process and `graph`, which must not change afterwards; and of the engine that runs it.
[[nodiscard]] TRAINHOOK_DECL RunRecord run_record_of(const Graph& graph);
[[nodiscard]] TRAINHOOK_DECL RunRecord run_record_of(SessionRef session);

TRAINHOOK_DECL void write_run_record(FileSystem& file_system, const std::string& directory, const RunRecord& record);

/// Writes the record of a run that goes on in a directory: what the old one says of a restore stays, unless it is
/// damaged.
TRAINHOOK_DECL void renew_run_record(FileSystem& file_system, const std::string& directory, RunRecord record);

/// Reads the record of a directory; nothing if there is none. @throws DataLossError if it does not parse.
[[nodiscard]] TRAINHOOK_DECL std::optional<RunRecord> read_run_record(FileSystem& file_system,
                                                                      const std::string& directory);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/run_record.ipp>
#endif
