// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/recording_writer.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/events/event_reader.hpp>
#include <trainhook/events/session_log.hpp>

namespace trainhook::testing {

std::vector<std::string> event_lines(const Event& event) {
  std::vector<std::string> lines;
  if (!event.graph_def.empty()) lines.emplace_back("graph");
  if (!event.meta_graph_def.empty()) lines.emplace_back("meta_graph");
  if (event.run_metadata) lines.push_back(fmt::format("{} run_metadata {}", event.step, event.run_metadata->tag));
  for (const SummaryValue& value : event.values) {
    lines.push_back(value.scalar ? fmt::format("{} {}={}", event.step, value.tag, *value.scalar)
                                 : fmt::format("{} {}", event.step, value.tag));
  }
  if (event.session_log) {
    switch (event.session_log->status) {
      case SessionLog::Start: lines.push_back(fmt::format("{} START", event.step)); break;
      case SessionLog::Stop: lines.push_back(fmt::format("{} STOP", event.step)); break;
      case SessionLog::Checkpoint:
        lines.push_back(fmt::format("{} CHECKPOINT {}", event.step, event.session_log->checkpoint_path));
        break;
      case SessionLog::Unspecified: lines.push_back(fmt::format("{} {}", event.step, event.session_log->msg)); break;
    }
  }
  return lines;
}

std::vector<std::string> event_lines(FileSystem& file_system, const std::string& directory) {
  std::vector<std::string> lines;
  for (const std::string& path : list_event_files(file_system, directory)) {
    for (const Event& event : read_events(file_system, path).events) {
      for (std::string& line : event_lines(event)) lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::vector<std::string> RecordingWriter::lines() {
  writer_->flush();
  return event_lines(disk_, "events");
}

}  // namespace trainhook::testing
