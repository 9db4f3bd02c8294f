// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordingWriter: an event writer whose events a test can read as lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::testing {

/// One event as lines: `9 loss=0.5` for a scalar and `9 weights` for another summary, `1 START`, `4 CHECKPOINT
/// run/model.ckpt-4`, `graph`, `meta_graph`, `2 run_metadata step_2`. Empty for the version event at the start of a
/// file.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> event_lines(const Event& event);

/// The events of all event files in a directory, in the order of the files' names.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> event_lines(FileSystem& file_system,
                                                                  const std::string& directory);

/// Has a FileWriter for hooks that writes to memory, and returns what was written.
class RecordingWriter {
 public:
  /// The writer to pass to a hook as `summary_writer`.
  [[nodiscard]] const std::shared_ptr<FileWriter>& writer() const noexcept { return writer_; }

  /// Everything written so far, flushed or not.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> lines();

 private:
  MemoryFileSystem disk_;
  ManualClock clock_;
  std::shared_ptr<FileWriter> writer_ =
      std::make_shared<FileWriter>("events", FileWriterOptions{.file_system = &disk_, .clock = &clock_});
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/recording_writer.ipp>
#endif
