// SPDX-License-Identifier: Apache-2.0
/// @file
/// custom_scalars_summary: which curves share a chart on TensorBoard's Custom Scalars dashboard.
#pragma once

#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// A curve with a band around it, such as a mean between its quartiles. Each is the tag of a scalar.
struct MarginSeries {
  std::string value{};
  std::string lower{};
  std::string upper{};
};

/// A chart with the curves of several tags, or with bands: one of `tags` and `margins`.
struct CustomChart {
  std::string title{};
  std::vector<std::string> tags{};  ///< regular expressions, of which each adds the tags that it matches
  std::vector<MarginSeries> margins{};
};

/// Charts below a heading, which TensorBoard shows unfolded unless `closed` is set.
struct CustomCategory {
  std::string title{};
  std::vector<CustomChart> charts{};
  bool closed = false;
};

/// A summary with the layout of the Custom Scalars dashboard. Write it once, at step 0, to the event files of one run;
/// TensorBoard takes the curves from all runs. Source: `tensorboard.plugins.custom_scalar.summary.pb`.
/// @throws InvalidArgumentError, naming the chart, if one has neither tags nor margins, or both.
///
///     writer.add_summary(th::custom_scalars_summary({{.title = "fit", .charts = {{"loss", {"loss", "eval/loss"}}}}}),
///     0);
[[nodiscard]] TRAINHOOK_DECL std::string custom_scalars_summary(const std::vector<CustomCategory>& categories);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/custom_scalars.ipp>
#endif
