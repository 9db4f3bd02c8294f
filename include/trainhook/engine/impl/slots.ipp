// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of slots.hpp.
#pragma once

#include <trainhook/engine/slots.hpp>

#include <iterator>
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
  FreeSlots& free = free_of(need.use);
  if (free.empty()) return count_++;
  auto best = free.lower_bound(need.size);
  if (best == free.end() || (best != free.begin() && need.size - std::prev(best)->first < best->first - need.size))
    --best;
  const std::uint32_t slot = best->second.back();
  best->second.pop_back();
  if (best->second.empty()) free.erase(best);
  return slot;
}

}  // namespace trainhook::detail
