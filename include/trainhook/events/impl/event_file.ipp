// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of event_file.hpp.
#pragma once

#include <trainhook/events/event_file.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/process_identity.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

/// What `source_metadata` of our files says.
inline constexpr std::string_view kEventWriterName = "trainhook.events.file_writer";

inline constexpr std::string_view kEventFilePrefix = "events.out.tfevents.";

/// Counts the event files of this process: part of their names.
TRAINHOOK_DECL std::uint64_t next_event_file_number() noexcept {
  static std::atomic<std::uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

TRAINHOOK_DECL std::string event_file_name(std::int64_t seconds, std::string_view host, std::string_view suffix) {
  return fmt::format("{}{:010}.{}.{}.{}{}", kEventFilePrefix, seconds, host, ::getpid(), next_event_file_number(),
                     suffix);
}

TRAINHOOK_DECL std::int64_t event_file_seconds(FileSystem& file_system, const std::string& directory,
                                               double wall_seconds) {
  constexpr std::int64_t kMost = 9'999'999'999;  // ten digits
  std::int64_t seconds = static_cast<std::int64_t>(wall_seconds);
  for (std::string_view name : file_system.list_directory(directory)) {
    if (!name.starts_with(kEventFilePrefix)) continue;
    name.remove_prefix(kEventFilePrefix.size());
    std::int64_t taken = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), taken);
    if (error == std::errc() && end != name.data() + name.size() && *end == '.' && taken < kMost)
      seconds = (std::max)(seconds, taken + 1);
  }
  return seconds;
}

TRAINHOOK_DECL EventFile::EventFile(FileSystem& file_system, Clock& clock, std::string directory, std::string suffix)
    : file_system_(file_system), clock_(clock), directory_(std::move(directory)), suffix_(std::move(suffix)) {}

TRAINHOOK_DECL void EventFile::write(std::string_view records) {
  if (writer_ == nullptr) open();
  abandon_on_failure([&] { writer_->write_batch(records); });
}

TRAINHOOK_DECL void EventFile::sync() {
  if (writer_ == nullptr) return;
  abandon_on_failure([&] {
    writer_->sync();
    if (!name_is_durable_) file_system_.sync_directory(directory_);
    name_is_durable_ = true;
  });
}

TRAINHOOK_DECL void EventFile::close() {
  if (writer_ == nullptr) return;
  const std::unique_ptr<RecordWriter> closing = std::move(writer_);
  closing->close();
}

TRAINHOOK_DECL std::string EventFile::path() const { return writer_ == nullptr ? std::string() : writer_->path(); }

TRAINHOOK_DECL void EventFile::open() {
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

TRAINHOOK_DECL std::unique_ptr<WritableFile> EventFile::create(double now) {
  constexpr int kMostAttempts = 10'000;
  const std::string host = host_name();
  const std::int64_t seconds = event_file_seconds(file_system_, directory_, now);
  for (int attempt = 0;; ++attempt) {
    try {
      return file_system_.create_writable(join_path(directory_, event_file_name(seconds, host, suffix_)),
                                          WriteMode::Exclusive);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::AlreadyExists || attempt == kMostAttempts) throw;
    }
  }
}

}  // namespace trainhook::detail
