// SPDX-License-Identifier: Apache-2.0
/// @file
/// Events on their way to the thread that writes them: encoded ones as bytes, histograms as the numbers that are still to be counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/tensor.hpp>
#include <trainhook/events/event.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/record_writer.hpp>

namespace trainhook::detail {

/// A histogram that was asked for and is not counted yet.
struct PendingHistogram {
  double wall_time{};
  std::int64_t step{};
  std::string tag{};
  Tensor values{};
};

/// Events in the order in which they came. Cleared, it keeps its memory: adding encoded events to it then allocates nothing.
class EventBatch {
 public:
  /// `append` adds one encoded event to the string that it gets. Where it throws, the batch is as before.
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

  void add_histogram(PendingHistogram histogram) {
    ends_.reserve(next_capacity());
    histograms_.push_back(std::move(histogram));
    histogram_bytes_ += histograms_.back().values.byte_size();
    ends_.push_back(bytes_.size());  // no bytes: an encoded event always has some
  }

  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }
  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_.size() + histogram_bytes_; }

  /// Appends a record for each event.
  void append_records(std::string& records) const {
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

  void clear() {
    constexpr std::size_t kWorthKeeping = std::size_t{4} << 20;
    if (bytes_.capacity() > kWorthKeeping) bytes_ = std::string();
    bytes_.clear();
    ends_.clear();
    histograms_.clear();
    histogram_bytes_ = 0;
  }

 private:
  [[nodiscard]] std::size_t next_capacity() const noexcept {
    return ends_.size() < ends_.capacity() ? ends_.capacity() : 2 * ends_.capacity() + 16;
  }

  static void append_counted(std::string& bytes, const PendingHistogram& pending) {
    std::string summary;
    WireWriter writer(summary);
    write_histogram_summary(writer, pending.tag, histogram_of(pending.tag, pending.values));
    append_summary_event(bytes, pending.wall_time, pending.step, summary);
  }

  std::string bytes_;
  std::vector<std::size_t> ends_;  // where each event ends in `bytes_`; one of no bytes stands for the next histogram
  std::vector<PendingHistogram> histograms_;
  std::size_t histogram_bytes_ = 0;
};

}  // namespace trainhook::detail
