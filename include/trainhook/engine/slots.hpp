// SPDX-License-Identifier: Apache-2.0
/// @file
/// SlotPool: places for the values of a run, given out again once the value in them is dead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

inline constexpr std::uint32_t kNoSlot = 0xffffffff;

/// What a slot is for. Slots change hands within one kind only: handles own no memory, strings and numbers cannot share
/// any, and scalars need none.
enum class SlotUse { Handle, Strings, Scalar, Elements };

/// A value as far as slots care: what it needs, and about how large it is.
struct SlotNeed {
  SlotUse use = SlotUse::Elements;
  std::int64_t size = 0;

  [[nodiscard]] TRAINHOOK_DECL static SlotNeed of(const OutputSpec& spec, bool is_handle);
};

class SlotPool {
 public:
  /// The free slot whose last value was nearest in size, else a new one.
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t take(const SlotNeed& need);

  void give(std::uint32_t slot, const SlotNeed& need) { free_of(need.use)[need.size].push_back(slot); }

  /// How many slots a run needs.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  using FreeSlots = std::map<std::int64_t, std::vector<std::uint32_t>>;  // by the size of their last value

  [[nodiscard]] FreeSlots& free_of(SlotUse use) noexcept { return free_[static_cast<std::size_t>(use)]; }

  std::array<FreeSlots, 4> free_;
  std::uint32_t count_ = 0;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/slots.ipp>
#endif
