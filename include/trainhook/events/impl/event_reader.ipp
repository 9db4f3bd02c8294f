// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of event_reader.hpp.
#pragma once

#include <trainhook/events/event_reader.hpp>

#include <utility>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/record_reader.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL SessionLog parse_session_log(WireReader message) {
  SessionLog log;
  while (message.next()) {
    switch (message.tag()) {
      case SessionLogField::kStatus: log.status = static_cast<SessionLog::Status>(message.get_int32()); break;
      case SessionLogField::kCheckpointPath: log.checkpoint_path = message.get_string(); break;
      case SessionLogField::kMsg: log.msg = message.get_string(); break;
      default: message.skip();
    }
  }
  return log;
}

TRAINHOOK_DECL TaggedRunMetadata parse_run_metadata(WireReader message) {
  TaggedRunMetadata metadata;
  while (message.next()) {
    switch (message.tag()) {
      case TaggedRunMetadataField::kTag: metadata.tag = message.get_string(); break;
      case TaggedRunMetadataField::kRunMetadata: metadata.run_metadata = message.get_string(); break;
      default: message.skip();
    }
  }
  return metadata;
}

TRAINHOOK_DECL std::string parse_source_writer(WireReader message) {
  std::string writer;
  message.for_each_field(SourceMetadataField::kWriter, [&](WireReader& field) { writer = field.get_string(); });
  return writer;
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Event parse_event(std::string_view bytes, std::string_view what) {
  Event event;
  WireReader message(bytes, what);
  while (message.next()) {
    switch (message.tag()) {
      case detail::EventField::kWallTime: event.wall_time = message.get_double(); break;
      case detail::EventField::kStep: event.step = message.get_int64(); break;
      case detail::EventField::kFileVersion: event.file_version = message.get_string(); break;
      case detail::EventField::kGraphDef: event.graph_def = message.get_string(); break;
      case detail::EventField::kSummary:
        detail::parse_summary(message.get_message(),
                              [&](SummaryValue value) { event.values.push_back(std::move(value)); });
        break;
      case detail::EventField::kSessionLog: event.session_log = detail::parse_session_log(message.get_message()); break;
      case detail::EventField::kTaggedRunMetadata:
        event.run_metadata = detail::parse_run_metadata(message.get_message());
        break;
      case detail::EventField::kMetaGraphDef: event.meta_graph_def = message.get_string(); break;
      case detail::EventField::kSourceMetadata:
        event.source_writer = detail::parse_source_writer(message.get_message());
        break;
      default: message.skip();
    }
  }
  return event;
}

TRAINHOOK_DECL EventFileContents read_events(FileSystem& file_system, const std::string& path) {
  EventFileContents contents;
  RecordReader reader(file_system.open_readable(path));
  std::string payload;
  RecordStatus status = RecordStatus::Record;
  const auto read_next = [&] {
    try {
      status = reader.try_next(payload);
    } catch (const DataLossError& error) {
      contents.problems.emplace_back(error.what());
      return false;
    }
    return status == RecordStatus::Record;
  };
  while (read_next()) {
    try {
      contents.events.push_back(parse_event(payload, path));
    } catch (const DataLossError& error) {
      contents.problems.push_back(
          fmt::format("{} (in the record that ends at byte {})", error.what(), reader.offset()));
    }
  }
  if (status == RecordStatus::Truncated) {
    contents.problems.push_back(fmt::format("file {} ends inside the record at byte {}", path, reader.offset()));
  }
  const std::uint64_t size = file_system.file_size(path);
  contents.dropped_bytes = size > reader.offset() ? size - reader.offset() : 0;
  return contents;
}

TRAINHOOK_DECL std::vector<std::string> list_event_files(FileSystem& file_system, const std::string& directory) {
  std::vector<std::string> paths;
  if (!file_system.is_directory(directory)) return paths;
  for (const std::string& name : file_system.list_directory(directory)) {
    if (name.find("tfevents") != std::string::npos) paths.push_back(join_path(directory, name));
  }
  return paths;
}

}  // namespace trainhook
