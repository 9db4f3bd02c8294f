// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of slots.hpp.
#pragma once

#include <trainhook/engine/slots.hpp>

#include <cstddef>
#include <limits>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL SlotNeed SlotNeed::of(const OutputSpec& spec, bool is_handle) {
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

TRAINHOOK_DECL std::uint32_t SlotPool::take(const SlotNeed& need) {
  std::size_t best = free_.size();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    if (free_[i].need.use != need.use) continue;
    if (best == free_.size() || distance(free_[i].need.size, need.size) < distance(free_[best].need.size, need.size))
      best = i;
  }
  if (best == free_.size()) return count_++;
  const std::uint32_t slot = free_[best].slot;
  free_[best] = free_.back();
  free_.pop_back();
  return slot;
}

TRAINHOOK_DECL std::int64_t SlotPool::distance(std::int64_t a, std::int64_t b) noexcept {
  return a > b ? a - b : b - a;
}

}  // namespace trainhook::detail
