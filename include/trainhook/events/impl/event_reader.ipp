// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/event_reader.hpp>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/records.hpp>

namespace trainhook {

Event parse_event(std::string_view bytes, std::string_view what) {
  const auto message = detail::parse_message<detail::EventMessage>(bytes, what);
  Event event{.wall_time = message.wall_time, .step = message.step};
  event.file_version = message.file_version.value_or("");
  event.graph_def = message.graph_def.value_or("");
  event.meta_graph_def = message.meta_graph_def.value_or("");
  if (message.source_metadata) event.source_writer = message.source_metadata->writer;
  if (message.summary) event.values = parse_summary(*message.summary, what);
  event.session_log = message.session_log;
  if (const auto& metadata = message.tagged_run_metadata)
    event.run_metadata = {.tag = std::string(metadata->tag), .run_metadata = std::string(metadata->run_metadata)};
  return event;
}

EventFileContents read_events(FileSystem& file_system, const std::string& path) {
  EventFileContents contents;
  detail::RecordReader reader(file_system.open_readable(path));
  std::string payload;
  detail::RecordStatus status = detail::RecordStatus::Record;
  const auto read_next = [&] {
    try {
      status = reader.try_next(payload);
    } catch (const DataLossError& error) {
      contents.problems.emplace_back(error.what());
      return false;
    }
    return status == detail::RecordStatus::Record;
  };
  while (read_next()) {
    try {
      contents.events.push_back(parse_event(payload, path));
    } catch (const DataLossError& error) {
      contents.problems.push_back(
          fmt::format("{} (in the record that ends at byte {})", error.what(), reader.offset()));
    }
  }
  if (status == detail::RecordStatus::Truncated) {
    contents.problems.push_back(fmt::format("file {} ends inside the record at byte {}", path, reader.offset()));
  }
  const std::uint64_t size = file_system.file_size(path);
  contents.dropped_bytes = size > reader.offset() ? size - reader.offset() : 0;
  return contents;
}

std::vector<std::string> list_event_files(FileSystem& file_system, const std::string& directory) {
  std::vector<std::string> paths;
  if (!file_system.is_directory(directory)) return paths;
  for (const std::string& name : file_system.list_directory(directory)) {
    if (name.find("tfevents") != std::string::npos) paths.push_back(join_path(directory, name));
  }
  return paths;
}

}  // namespace trainhook
