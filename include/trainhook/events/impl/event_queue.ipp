// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/event_queue.hpp>

#include <string_view>
#include <utility>

#include <trainhook/events/event_message.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/records.hpp>

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

}  // namespace trainhook::detail
