// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordingWriter: an event writer whose events can be looked at, as lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <trainhook/events/event_reader.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::testing {

/// One event as lines: `9 loss=0.5` for a scalar and `9 weights` for another summary, `1 START`, `4 CHECKPOINT run/model.ckpt-4`, `graph`,
/// `meta_graph`, `2 run_metadata step_2`. None for the version that a file begins with.
[[nodiscard]] inline std::vector<std::string> event_lines(const Event& event) {
  std::vector<std::string> lines;
  if (!event.graph_def.empty()) lines.emplace_back("graph");
  if (!event.meta_graph_def.empty()) lines.emplace_back("meta_graph");
  if (event.run_metadata) lines.push_back(str_cat(event.step, " run_metadata ", event.run_metadata->tag));
  for (const SummaryValue& value : event.values) {
    lines.push_back(value.scalar ? str_cat(event.step, " ", value.tag, "=", *value.scalar) : str_cat(event.step, " ", value.tag));
  }
  if (event.session_log) {
    switch (event.session_log->status) {
      case SessionLog::Start: lines.push_back(str_cat(event.step, " START")); break;
      case SessionLog::Stop: lines.push_back(str_cat(event.step, " STOP")); break;
      case SessionLog::Checkpoint: lines.push_back(str_cat(event.step, " CHECKPOINT ", event.session_log->checkpoint_path)); break;
      case SessionLog::Unspecified: lines.push_back(str_cat(event.step, " ", event.session_log->msg)); break;
    }
  }
  return lines;
}

/// All events of a directory's event files, in the order of the files' names.
[[nodiscard]] inline std::vector<std::string> event_lines(FileSystem& file_system, const std::string& directory) {
  std::vector<std::string> lines;
  for (const std::string& path : list_event_files(file_system, directory)) {
    for (const Event& event : read_events(file_system, path).events) {
      for (std::string& line : event_lines(event)) lines.push_back(std::move(line));
    }
  }
  return lines;
}

/// Gives hooks a FileWriter that writes to a disk of its own in memory, and says what was written.
class RecordingWriter {
 public:
  /// What to hand to a hook as its `summary_writer`.
  [[nodiscard]] const std::shared_ptr<FileWriter>& writer() const noexcept { return writer_; }

  /// Everything that was written so far, flushed or not.
  [[nodiscard]] std::vector<std::string> lines() {
    writer_->flush();
    return event_lines(disk_, "events");
  }

 private:
  MemoryFileSystem disk_;
  ManualClock clock_;
  std::shared_ptr<FileWriter> writer_ = std::make_shared<FileWriter>("events", FileWriterOptions{.file_system = &disk_, .clock = &clock_});
};

}  // namespace trainhook::testing
