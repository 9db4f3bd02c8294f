// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/event_file.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/failure.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/process_identity.hpp>
#include <trainhook/io/records.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

void clear_events(std::string& bytes) {
  constexpr std::size_t kWorthKeeping = std::size_t{4} << 20;
  if (bytes.capacity() > kWorthKeeping) std::string().swap(bytes);  // an assignment keeps the memory
  bytes.clear();
}

void EventBatch::add_histogram(PendingHistogram histogram) {
  ends_.reserve(next_capacity());
  histograms_.push_back(std::move(histogram));
  histogram_bytes_ += histograms_.back().values.byte_size();
  ends_.push_back(bytes_.size());  // no bytes: an encoded event always has some
}

void EventBatch::append_records(std::string& records) const {
  std::string counted;
  std::size_t start = 0;
  auto histogram = histograms_.begin();
  for (const std::size_t end : ends_) {
    if (end != start) {
      append_record(records, std::string_view(bytes_).substr(start, end - start));
    } else {
      counted.clear();
      append_counted(counted, *histogram++);
      append_record(records, counted);
    }
    start = end;
  }
}

void EventBatch::clear() {
  clear_events(bytes_);
  ends_.clear();
  histograms_.clear();
  histogram_bytes_ = 0;
}

std::size_t EventBatch::next_capacity() const noexcept {
  return ends_.size() < ends_.capacity() ? ends_.capacity() : 2 * ends_.capacity() + 16;
}

void EventBatch::append_counted(std::string& bytes, const PendingHistogram& pending) {
  const std::string summary = histogram_summary(pending.tag, trainhook::histogram_of(pending.tag, pending.values));
  append_event(bytes, {.wall_time = pending.wall_time, .step = pending.step, .summary = summary});
}

/// What `source_metadata` of our files says.
inline constexpr std::string_view kEventWriterName = "trainhook.events.file_writer";

inline constexpr std::string_view kEventFilePrefix = "events.out.tfevents.";

std::uint64_t next_event_file_number() noexcept {
  static std::atomic<std::uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::string event_file_name(std::int64_t seconds, std::string_view host, std::string_view suffix) {
  return fmt::format("{}{:010}.{}.{}.{}{}", kEventFilePrefix, seconds, host, ::getpid(), next_event_file_number(),
                     suffix);
}

/// The seconds for the name of a new event file: the time, or more if `names` has files whose names would come after
/// it. TensorBoard reads files in the order of their names and never goes back to an earlier one.
[[nodiscard]] inline std::int64_t event_file_seconds(const std::vector<std::string>& names, double wall_seconds) {
  constexpr std::size_t kDigits = 10;
  constexpr std::int64_t kMost = 9'999'999'999;
  std::int64_t seconds = (std::max)(static_cast<std::int64_t>(wall_seconds), std::int64_t{0});
  for (std::string_view name : names) {
    if (!name.starts_with(kEventFilePrefix)) continue;
    name = name.substr(kEventFilePrefix.size(), kDigits);  // of longer numbers these decide, too
    std::int64_t taken = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), taken);
    if (error == std::errc() && end == name.data() + kDigits) seconds = (std::max)(seconds, taken + 1);
  }
  return (std::min)(seconds, kMost);
}

EventFile::EventFile(FileSystem& file_system, Clock& clock, std::string directory, std::string suffix)
    : file_system_(file_system), clock_(clock), directory_(std::move(directory)), suffix_(std::move(suffix)) {}

void EventFile::check_name() const {
  constexpr auto kNumber = (std::numeric_limits<std::uint32_t>::max)();
  const std::string longest =
      fmt::format("{}{:010}.{}.{}.{}{}", kEventFilePrefix, 0, host_name(), ::getpid(), kNumber, suffix_);
  expect_name_fits(file_system_, join_path(directory_, longest),
                   fmt::format("the name of an event file in '{}'{}", directory_,
                               suffix_.empty() ? "" : fmt::format(" with filename_suffix '{}'", suffix_)));
}

void EventFile::write(std::string_view records) {
  for (bool is_again = false;; is_again = true) {
    if (writer_ == nullptr) open();
    abandon_on_failure([&] { writer_->write_batch(records); });
    if (look() || is_again) return;
    log_warning("event file {} was removed or replaced, and the events in it are gone; later events go to a new file",
                writer_->path());
    writer_.reset();
  }
}

bool EventFile::look() {
  try {
    const std::uint64_t size = file_system_.file_size(writer_->path());
    return size >= std::exchange(seen_size_, size);  // some file systems tell a size later, but none a smaller one
  } catch (const NotFoundError&) { return false; } catch (const FailedPreconditionError&) {  // its directory is a file
    return false;
  } catch (const Error&) {  // nobody knows
    return true;
  }
}

void EventFile::sync() {
  if (writer_ == nullptr) return;
  abandon_on_failure([&] {
    writer_->sync();
    if (!name_is_durable_) file_system_.sync_directory(directory_);
    name_is_durable_ = true;
  });
}

void EventFile::close() {
  if (writer_ == nullptr) return;
  const std::unique_ptr<RecordWriter> closing = std::move(writer_);
  closing->close();
}

std::string EventFile::path() const { return writer_ == nullptr ? std::string() : writer_->path(); }

void EventFile::open() {
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
  seen_size_ = 0;
  name_is_durable_ = false;
}

std::vector<std::string> EventFile::names_beside() const {
  try {
    return file_system_.list_directory(directory_);
  } catch (const PermissionDeniedError& error) {
    warn_once(
        "names in " + directory_,
        fmt::format("{}; whether TensorBoard reads the new event file after those there is not known", error.what()));
    return {};
  }
}

std::unique_ptr<WritableFile> EventFile::create(double now) {
  constexpr int kMostAttempts = 10'000;
  std::vector<std::string> others = names_beside();
  std::erase_if(others, [](const std::string& name) { return name.find("tfevents") == std::string::npos; });
  const std::string host = host_name();
  const std::int64_t seconds = event_file_seconds(others, now);
  for (int attempt = 0;; ++attempt) {
    const std::string name = event_file_name(seconds, host, suffix_);
    try {
      auto file = file_system_.create_writable(join_path(directory_, name), WriteMode::Exclusive);
      if (!others.empty() && others.back() > name) {
        log_warning(
            "TensorBoard may not show the events in {}: it reads files in the order of their names, and {} comes "
            "after it; move that to another directory",
            file->path(), others.back());
      }
      return file;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::AlreadyExists || attempt == kMostAttempts) throw;
    }
  }
}

}  // namespace trainhook::detail
