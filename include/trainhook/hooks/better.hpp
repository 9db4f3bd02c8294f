// SPDX-License-Identifier: Apache-2.0
/// @file
/// Better: whether the lower or the higher of two values of a metric is the better one.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace trainhook {

/// For hooks that act on a metric: a loss is better if it is lower, an accuracy if it is higher.
enum class Better : std::uint8_t { Lower, Higher };

namespace detail {

/// True if `value` is better than `best` by more than `min_delta`, or is the first. NaN is never better.
[[nodiscard]] inline bool is_better(Better better, double value, std::optional<double> best,
                                    double min_delta = 0) noexcept {
  if (std::isnan(value)) return false;
  if (!best) return true;
  return better == Better::Lower ? value < *best - min_delta : value > *best + min_delta;
}

}  // namespace detail
}  // namespace trainhook
