// SPDX-License-Identifier: Apache-2.0
/// @file
/// EventBatch: events on their way to the writing thread, encoded, except histograms, which that thread counts.
/// EventFile: the event files of one writer in a directory, with their names and first events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/records.hpp>

namespace trainhook {

class Clock;

namespace detail {

/// Empties the string, and gives back the memory of a large event.
TRAINHOOK_DECL void clear_events(std::string& bytes);

/// A histogram that is not counted yet.
struct PendingHistogram {
  double wall_time{};
  std::int64_t step{};
  std::string tag{};
  Tensor values{};
};

/// Events in the order of their arrival. `clear` keeps memory, so that adding encoded events does not allocate.
class EventBatch {
 public:
  /// `append` appends one encoded event to the string that it receives. If it throws, the batch is unchanged.
  template <class Append>
  void add_encoded(const Append& append) {
    const std::size_t start = bytes_.size();
    ends_.reserve(next_capacity());
    try {
      append(bytes_);
    } catch (...) {
      bytes_.resize(start);
      throw;
    }
    ends_.push_back(bytes_.size());
  }

  TRAINHOOK_DECL void add_histogram(PendingHistogram histogram);

  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }
  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_.size() + histogram_bytes_; }

  /// Appends a record for each event.
  TRAINHOOK_DECL void append_records(std::string& records) const;

  TRAINHOOK_DECL void clear();

 private:
  [[nodiscard]] TRAINHOOK_DECL std::size_t next_capacity() const noexcept;
  TRAINHOOK_DECL static void append_counted(std::string& bytes, const PendingHistogram& pending);

  std::string bytes_;
  std::vector<std::size_t> ends_;  // where each event ends in `bytes_`; an event without bytes is the next histogram
  std::vector<PendingHistogram> histograms_;
  std::size_t histogram_bytes_ = 0;
};

/// Counts the event files of this process: part of their names.
TRAINHOOK_DECL std::uint64_t next_event_file_number() noexcept;

/// `events.out.tfevents.<seconds, ten digits>.<host>.<pid>.<number><suffix>`
TRAINHOOK_DECL std::string event_file_name(std::int64_t seconds, std::string_view host, std::string_view suffix);

/// The first write creates the file. After a failed write, the next one creates another file, because readers stop at a
/// torn record. So does a write that finds that the file was removed or replaced, with a warning. Not thread-safe.
class EventFile {
 public:
  TRAINHOOK_DECL EventFile(FileSystem& file_system, Clock& clock, std::string directory, std::string suffix);

  /// @throws InvalidArgumentError if the directory or the suffix is too long for the file system.
  TRAINHOOK_DECL void check_name() const;

  /// Writes whole records at once.
  TRAINHOOK_DECL void write(std::string_view records);

  /// Returns when everything written so far, and the file's name, are on the disk.
  TRAINHOOK_DECL void sync();

  TRAINHOOK_DECL void close();

  /// The path of the current file; empty if there is none.
  [[nodiscard]] TRAINHOOK_DECL std::string path() const;

 private:
  TRAINHOOK_DECL void open();

  /// Returns false if the path no longer leads to the current file: what is written then is lost.
  [[nodiscard]] TRAINHOOK_DECL bool look();

  /// Creates a new file. If two processes in containers have the same host name and process id, only the number in the
  /// names differs.
  TRAINHOOK_DECL std::unique_ptr<WritableFile> create(double now);

  /// Empty, with a warning, if the directory may not be read.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> names_beside() const;

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
  std::uint64_t seen_size_ = 0;  // of the current file, when it was looked at last
  bool name_is_durable_ = false;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/event_file.ipp>
#endif
