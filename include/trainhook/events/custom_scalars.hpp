// SPDX-License-Identifier: Apache-2.0
/// @file
/// custom_scalars_summary: puts several curves into one chart of TensorBoard's Custom Scalars dashboard.
#pragma once

#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

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
#include <trainhook/events/impl/custom_scalars.ipp>
#endif
