// SPDX-License-Identifier: Apache-2.0
/// @file
/// Metric: a measure of a model's quality. PublishedMetric: one that a hook publishes for others. Better: which values
/// are better.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/finite.hpp>

namespace trainhook {

/// A named measure of a model's quality.
struct Metric {
  std::string name{};
  double value = 0;
};

using Metrics = std::vector<Metric>;

/// A value that one hook publishes for the others.
struct PublishedMetric {
  std::int64_t step = 0;  ///< the global step that it belongs to
  double value = 0;
  bool is_extra = false;  ///< measured outside the period of its evaluation, as at the end of a run: hooks that count
                          ///< values leave it out, so that they decide the same however often a run is interrupted
  bool is_kept = true;    ///< in checkpoints; false for what a clock has measured
};

/// Pairs of name and metric, in no particular order.
using PublishedMetrics = std::vector<std::pair<std::string, PublishedMetric>>;

/// Whether lower values of a metric are better, as for a loss, or higher ones, as for an accuracy.
enum class Better : std::uint8_t { Lower, Higher };

namespace detail {

/// Where a checkpoint has published metrics: `<kMetricsState>/step/eval/loss`, and `value` likewise.
inline constexpr std::string_view kMetricsState = "_trainhook/hooks/_metrics";

/// For names of states.
[[nodiscard]] inline std::string better_text(Better better) { return better == Better::Lower ? "lower" : "higher"; }

/// True if `value` is better than `best` by more than `min_delta`, or there is no `best`. NaN is never better.
[[nodiscard]] inline bool is_better(Better better, double value, std::optional<double> best,
                                    double min_delta = 0) noexcept {
  if (is_nan(value)) return false;
  if (!best) return true;
  return better == Better::Lower ? value < *best - min_delta : value > *best + min_delta;
}

}  // namespace detail
}  // namespace trainhook
