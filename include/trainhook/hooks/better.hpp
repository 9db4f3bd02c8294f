// SPDX-License-Identifier: Apache-2.0
/// @file
/// Better: whether lower or higher values of a metric are better.
#pragma once

#include <cstdint>
#include <optional>

#include <trainhook/core/finite.hpp>

namespace trainhook {

/// Whether lower values of a metric are better, as for a loss, or higher ones, as for an accuracy.
enum class Better : std::uint8_t { Lower, Higher };

namespace detail {

/// True if `value` is better than `best` by more than `min_delta`, or there is no `best`. NaN is never better.
[[nodiscard]] inline bool is_better(Better better, double value, std::optional<double> best,
                                    double min_delta = 0) noexcept {
  if (is_nan(value)) return false;
  if (!best) return true;
  return better == Better::Lower ? value < *best - min_delta : value > *best + min_delta;
}

}  // namespace detail
}  // namespace trainhook
