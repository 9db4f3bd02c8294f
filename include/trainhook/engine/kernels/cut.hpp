// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cut: a kernel's work in blocks of one size, which threads share.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainhook::detail {

/// The numbers [begin, end).
struct Range {
  std::int64_t begin;
  std::int64_t end;

  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};

/// `count` rows, elements or the like in blocks of `block`, at least 1; the last one may be smaller.
struct Cut {
  std::int64_t count;
  std::int64_t block;

  [[nodiscard]] std::int64_t size() const noexcept { return (count + block - 1) / block; }
  [[nodiscard]] Range operator[](std::int64_t i) const noexcept {
    return {i * block, (std::min)((i + 1) * block, count)};
  }
};

}  // namespace trainhook::detail
