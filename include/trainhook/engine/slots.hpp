// SPDX-License-Identifier: Apache-2.0
/// @file
/// SlotPool: places for the values of a run, given out again once the value in them is dead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

inline constexpr std::uint32_t kNoSlot = 0xffffffff;

/// What a slot is for. Slots change hands within one kind only: handles own no memory, strings and numbers cannot share any, and scalars
/// need none.
enum class SlotUse { Handle, Strings, Scalar, Elements };

/// A value as far as slots care: what it needs, and about how large it is.
struct SlotNeed {
  SlotUse use = SlotUse::Elements;
  std::int64_t size = 0;

  [[nodiscard]] static SlotNeed of(const OutputSpec& spec, bool is_handle) {
    SlotNeed need{SlotUse::Elements, 8};
    for (const std::int64_t dim : spec.shape.dims()) {
      constexpr std::int64_t kGuess = 128;  // for a dimension that only the run knows, which mostly is the batch
      if (__builtin_mul_overflow(need.size, dim == kUnknownDim ? kGuess : dim, &need.size))
        need.size = std::numeric_limits<std::int64_t>::max();
    }
    if (spec.shape.has_rank() && spec.shape.rank() == 0) need.use = SlotUse::Scalar;
    if (spec.dtype == DType::String) need.use = SlotUse::Strings;
    if (is_handle) need.use = SlotUse::Handle;
    return need;
  }
};

class SlotPool {
 public:
  /// The free slot whose last value was nearest in size, else a new one.
  [[nodiscard]] std::uint32_t take(const SlotNeed& need) {
    std::size_t best = free_.size();
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].need.use != need.use) continue;
      if (best == free_.size() || distance(free_[i].need.size, need.size) < distance(free_[best].need.size, need.size)) best = i;
    }
    if (best == free_.size()) return count_++;
    const std::uint32_t slot = free_[best].slot;
    free_[best] = free_.back();
    free_.pop_back();
    return slot;
  }

  void give(std::uint32_t slot, const SlotNeed& need) { free_.push_back({slot, need}); }

  /// How many slots a run needs.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  struct Free {
    std::uint32_t slot;
    SlotNeed need;
  };
  static std::int64_t distance(std::int64_t a, std::int64_t b) noexcept { return a > b ? a - b : b - a; }

  std::vector<Free> free_;
  std::uint32_t count_ = 0;
};

}  // namespace trainhook::detail
