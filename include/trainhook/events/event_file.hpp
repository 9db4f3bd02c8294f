// SPDX-License-Identifier: Apache-2.0
/// @file
/// One writer's event files in a directory: their names, their first event, and what happens when the disk fails.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/record_writer.hpp>

namespace trainhook::detail {

/// `events.out.tfevents.<seconds, ten digits>.<host>.<pid>.<number><suffix>`
TRAINHOOK_DECL std::string event_file_name(double wall_seconds, std::string_view host, std::string_view suffix);

/// Creates its file with the first write. After a failed write the next one begins another file, because readers
/// stop at a torn record. For one thread at a time.
class EventFile {
 public:
  TRAINHOOK_DECL EventFile(FileSystem& file_system, Clock& clock, std::string directory, std::string suffix);

  /// Writes whole records in one piece.
  TRAINHOOK_DECL void write(std::string_view records);

  /// Returns when everything that was written, and the file's name, are on the disk.
  TRAINHOOK_DECL void sync();

  TRAINHOOK_DECL void close();

  /// The file that is written now; empty if there is none.
  [[nodiscard]] TRAINHOOK_DECL std::string path() const;

 private:
  TRAINHOOK_DECL void open();

  /// Creates a new file. Two processes in containers may have the same host name and id; then only the number
  /// differs.
  TRAINHOOK_DECL std::unique_ptr<WritableFile> create(double now);

  template <class Action>
  void abandon_on_failure(const Action& action) {
    try {
      action();
    } catch (...) {
      writer_.reset();
      throw;
    }
  }

  FileSystem& file_system_;
  Clock& clock_;
  std::string directory_;
  std::string suffix_;
  std::unique_ptr<RecordWriter> writer_;
  bool name_is_durable_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/event_file.ipp>
#endif
