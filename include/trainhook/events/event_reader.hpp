// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads event files up to the first damaged record, and reports what it dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/events/session_log.hpp>
#include <trainhook/events/summary_reader.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

struct TaggedRunMetadata {
  std::string tag{};
  std::string run_metadata{};  ///< a serialized RunMetadata
};

/// One event. Members other than time and step are empty if the event does not have them.
struct Event {
  double wall_time{};
  std::int64_t step{};
  std::string file_version{};
  std::string source_writer{};
  std::string graph_def{};
  std::string meta_graph_def{};
  std::vector<SummaryValue> values{};
  std::optional<SessionLog> session_log{};
  std::optional<TaggedRunMetadata> run_metadata{};
};

/// Decodes one event. `what` names the file in errors. @throws DataLossError if the bytes are not an Event.
[[nodiscard]] TRAINHOOK_DECL Event parse_event(std::string_view bytes, std::string_view what = "event");

/// What `read_events` returns.
struct EventFileContents {
  std::vector<Event> events{};
  std::uint64_t dropped_bytes = 0;      ///< from the first damaged or incomplete record to the end of the file
  std::vector<std::string> problems{};  ///< the reasons, one sentence each; empty for an intact file
};

/// Reads all events up to the first torn or damaged record; records after it cannot be found. An intact record that is
/// not an event is skipped. Damage is reported in the result, not thrown. @throws NotFoundError and other errors of
/// opening and reading.
[[nodiscard]] TRAINHOOK_DECL EventFileContents read_events(FileSystem& file_system, const std::string& path);

/// The paths of the event files in a directory, sorted by name, which is the order of creation; none if the directory
/// does not exist.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> list_event_files(FileSystem& file_system,
                                                                       const std::string& directory);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/event_reader.ipp>
#endif
