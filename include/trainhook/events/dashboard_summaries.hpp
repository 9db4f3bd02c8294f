// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries for more dashboards of TensorBoard: pr_curve_summary, a precision-recall curve, and
/// custom_scalars_summary, which puts several curves into one chart.
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

/// A curve with a band around it, such as a mean between quartiles. Each member is the tag of a scalar.
struct MarginSeries {
  std::string value{};
  std::string lower{};
  std::string upper{};
};

/// A chart with the curves of several tags, or with bands: set either `tags` or `margins`.
struct CustomChart {
  std::string title{};
  std::vector<std::string> tags{};  ///< regular expressions; the chart shows all tags that match one of them
  std::vector<MarginSeries> margins{};
};

/// Charts under a heading, which TensorBoard shows expanded unless `closed` is set.
struct CustomCategory {
  std::string title{};
  std::vector<CustomChart> charts{};
  bool closed = false;
};

/// A summary with the layout of the Custom Scalars dashboard. Write it once, at step 0, to the event files of one run;
/// TensorBoard takes curves from all runs. Source: `tensorboard.plugins.custom_scalar.summary.pb`.
/// @throws InvalidArgumentError, naming the chart, if a chart has neither tags nor margins, or both.
///
///     const auto layout = th::custom_scalars_summary({{.title = "fit", .charts = {{"loss", {"loss", "eval/loss"}}}}});
///     writer.add_summary(layout, 0);
[[nodiscard]] TRAINHOOK_DECL std::string custom_scalars_summary(const std::vector<CustomCategory>& categories);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/dashboard_summaries.ipp>
#endif
