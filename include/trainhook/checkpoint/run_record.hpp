// SPDX-License-Identifier: Apache-2.0
/// @file
/// RunRecord: what a training directory tells of the run that wrote it last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

class FileSystem;
class Graph;

/// What tells runs of a program apart. A session that saves writes it to `run.pbtxt` in its directory when it starts,
/// and compares when it resumes. It is not part of a checkpoint, whose bytes do not depend on who wrote it.
struct RunRecord {
  std::string command_line{};      ///< program and arguments; empty if the system does not tell
  std::uint32_t graph_digest = 0;  ///< CRC-32C of the GraphDef
  std::int64_t random_seed = 0;    ///< of the graph

  bool operator==(const RunRecord&) const = default;

  /// What `now` does otherwise, for people; empty if it is the same run.
  [[nodiscard]] TRAINHOOK_DECL std::string differences(const RunRecord& now) const;
};

/// The record of this process with that graph, which should be final.
[[nodiscard]] TRAINHOOK_DECL RunRecord run_record_of(const Graph& graph);

TRAINHOOK_DECL void write_run_record(FileSystem& file_system, const std::string& directory, const RunRecord& record);

/// The record in a directory, or nothing if there is none. @throws DataLossError if it does not parse.
[[nodiscard]] TRAINHOOK_DECL std::optional<RunRecord> read_run_record(FileSystem& file_system,
                                                                      const std::string& directory);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/run_record.ipp>
#endif
