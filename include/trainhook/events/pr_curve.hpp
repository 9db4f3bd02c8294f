// SPDX-License-Identifier: Apache-2.0
/// @file
/// pr_curve_summary: a precision-recall curve for TensorBoard's PR Curves dashboard.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

struct PrCurveOptions {
  int num_thresholds = 201;          ///< at least 2; they are evenly spaced over [0, 1]
  std::span<const float> weights{};  ///< one per prediction; empty: all are 1
};

namespace detail {
[[nodiscard]] TRAINHOOK_DECL std::string pr_curve_summary(std::string_view tag, std::span<const std::uint8_t> labels,
                                                          std::span<const float> predictions,
                                                          const PrCurveOptions& options);
}

/// A summary of a binary classifier at each of `num_thresholds` thresholds: true and false positives and negatives,
/// precision and recall. The elements of `labels` convert to bool; `predictions` are the probabilities of true, clipped
/// to [0, 1]. A prediction is positive if it is at least the threshold. Pass the result to `FileWriter::add_summary` or
/// `LoopSession::summary`. The tag is used as given; TensorFlow's ends in `/pr_curves`. Source:
/// `tensorboard.plugins.pr_curve.summary.pb`.
/// @throws InvalidArgumentError, naming the tag, if the sizes differ, a prediction is NaN, or there are fewer than two
/// thresholds.
///
///     writer.add_summary(th::pr_curve_summary("eval/is_shoe", labels, probabilities), step);
template <class Labels>
  requires requires(const Labels& labels) { static_cast<bool>(*std::begin(labels)); }
[[nodiscard]] std::string pr_curve_summary(std::string_view tag, const Labels& labels,
                                           std::span<const float> predictions, const PrCurveOptions& options = {}) {
  std::vector<std::uint8_t> truth;
  for (const auto& label : labels) truth.push_back(static_cast<bool>(label) ? 1 : 0);
  return detail::pr_curve_summary(tag, truth, predictions, options);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/pr_curve.ipp>
#endif
