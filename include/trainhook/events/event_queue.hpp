// SPDX-License-Identifier: Apache-2.0
/// @file
/// EventBatch: events on their way to the writing thread, encoded, except histograms, which that thread counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

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

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/event_queue.ipp>
#endif
