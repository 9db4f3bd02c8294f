// SPDX-License-Identifier: Apache-2.0
/// @file
/// One writer's event files in a directory: their names, their first event, and what happens when the disk fails.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/event.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/record_writer.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

/// What `source_metadata` of our files says.
inline constexpr std::string_view kEventWriterName = "trainhook.events.file_writer";

/// Counts the event files of this process: part of their names.
inline std::uint64_t next_event_file_number() noexcept {
  static std::atomic<std::uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

inline std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  std::string host = name.data();
  for (char& letter : host) {
    if (letter == '/') letter = '_';
  }
  return host;
}

/// `events.out.tfevents.<seconds, ten digits>.<host>.<pid>.<number><suffix>`
inline std::string event_file_name(double wall_seconds, std::string_view host, std::string_view suffix) {
  const std::string seconds = str_cat(static_cast<std::int64_t>(wall_seconds));
  const std::string zeros(seconds.size() < 10 ? 10 - seconds.size() : 0, '0');
  return str_cat("events.out.tfevents.", zeros, seconds, ".", host, ".", ::getpid(), ".", next_event_file_number(), suffix);
}

/// Creates its file with the first write. A file in which a write failed gets nothing more, since readers find nothing behind a torn
/// record: the next write begins another file. For one thread at a time.
class EventFile {
 public:
  EventFile(FileSystem& file_system, Clock& clock, std::string directory, std::string suffix)
      : file_system_(file_system), clock_(clock), directory_(std::move(directory)), suffix_(std::move(suffix)) {}

  /// Writes whole records in one piece.
  void write(std::string_view records) {
    if (writer_ == nullptr) open();
    abandon_on_failure([&] { writer_->write_batch(records); });
  }

  /// Returns when everything that was written, and the file's name, are on the disk.
  void sync() {
    if (writer_ == nullptr) return;
    abandon_on_failure([&] {
      writer_->sync();
      if (!name_is_durable_) file_system_.sync_directory(directory_);
      name_is_durable_ = true;
    });
  }

  void close() {
    if (writer_ == nullptr) return;
    const std::unique_ptr<RecordWriter> closing = std::move(writer_);
    closing->close();
  }

  /// The file that is written now; empty where there is none.
  [[nodiscard]] std::string path() const { return writer_ == nullptr ? std::string() : writer_->path(); }

 private:
  void open() {
    file_system_.make_directories(directory_);
    const double now = clock_.wall_seconds();
    std::unique_ptr<WritableFile> file = create(now);
    std::string version;
    append_version_event(version, std::floor(now), kEventWriterName);
    auto writer = std::make_unique<RecordWriter>(std::move(file));
    try {
      writer->write(version);
    } catch (...) {
      remove_silently(file_system_, writer->path());
      throw;
    }
    writer_ = std::move(writer);
    name_is_durable_ = false;
  }

  /// A file that nobody has. Two processes in containers may have the same host name and id: then only the number tells them apart.
  std::unique_ptr<WritableFile> create(double now) {
    constexpr int kMostAttempts = 10'000;
    const std::string host = host_name();
    for (int attempt = 0;; ++attempt) {
      try {
        return file_system_.create_writable(join_path(directory_, event_file_name(now, host, suffix_)), WriteMode::Exclusive);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::AlreadyExists || attempt == kMostAttempts) throw;
      }
    }
  }

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
