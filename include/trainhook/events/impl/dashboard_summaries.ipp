// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/dashboard_summaries.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/finite.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

/// tensorboard/plugins/pr_curve/plugin_data.proto, whose version is 0.
struct PrCurvePluginDataMessage {
  std::int32_t version = 0;
  std::uint32_t num_thresholds = 0;
};
template <>
inline constexpr auto kFields<PrCurvePluginDataMessage> =
    std::tuple(field(1, "version", &PrCurvePluginDataMessage::version),
               field(2, "num_thresholds", &PrCurvePluginDataMessage::num_thresholds));

inline void check_pr_curve(std::string_view tag, std::size_t labels, std::span<const float> predictions,
                           const PrCurveOptions& options) {
  if (options.num_thresholds < 2) {
    throw InvalidArgumentError("the precision-recall curve {} has {} thresholds; it needs at least 2", tag,
                               options.num_thresholds);
  }
  if (labels != predictions.size()) {
    throw InvalidArgumentError("the precision-recall curve {} has {} labels but {} predictions", tag, labels,
                               predictions.size());
  }
  if (!options.weights.empty() && options.weights.size() != predictions.size()) {
    throw InvalidArgumentError("the precision-recall curve {} has {} weights but {} predictions", tag,
                               options.weights.size(), predictions.size());
  }
  if (const auto nan = std::ranges::find_if(predictions, [](float p) { return is_nan(p); }); nan != predictions.end()) {
    throw InvalidArgumentError("the precision-recall curve {}: prediction {} is NaN", tag, nan - predictions.begin());
  }
}

std::string pr_curve_summary(std::string_view tag, std::span<const std::uint8_t> labels,
                             std::span<const float> predictions, const PrCurveOptions& options) {
  check_pr_curve(tag, labels.size(), predictions, options);
  const auto thresholds = static_cast<std::size_t>(options.num_thresholds);
  std::vector<double> tp(thresholds);  // in the bucket of each threshold, then from it upwards
  std::vector<double> fp(thresholds);
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const float scaled = std::clamp(predictions[i], 0.0F, 1.0F) * static_cast<float>(options.num_thresholds - 1);
    (labels[i] != 0 ? tp : fp)[static_cast<std::size_t>(scaled)] +=
        options.weights.empty() ? 1.0 : static_cast<double>(options.weights[i]);
  }
  for (std::size_t i = thresholds - 1; i > 0; --i) {
    tp[i - 1] += tp[i];
    fp[i - 1] += fp[i];
  }

  std::string rows[6];  // true and false positives, true and false negatives, precision, recall
  for (std::size_t i = 0; i < thresholds; ++i) {
    constexpr double kLeast = 1e-7;  // nothing divided by nothing is 0
    const double values[] = {tp[i],
                             fp[i],
                             fp[0] - fp[i],
                             tp[0] - tp[i],
                             tp[i] / (std::max)(kLeast, tp[i] + fp[i]),
                             tp[i] / (std::max)(kLeast, tp[0])};
    for (std::size_t row = 0; row < std::size(rows); ++row)
      append_fixed(rows[row], std::bit_cast<std::uint32_t>(static_cast<float>(values[row])));
  }
  std::string content;
  for (const std::string& row : rows) content += row;
  std::string plugin_data;
  append_message(plugin_data, PrCurvePluginDataMessage{.num_thresholds = static_cast<std::uint32_t>(thresholds)});
  const std::int64_t dims[] = {std::ssize(rows), options.num_thresholds};
  return summary_of(
      {.tag = tag,
       .tensor = TensorMessage{.dtype = static_cast<std::uint64_t>(DType::Float),
                               .tensor_shape = shape_message(dims),
                               .tensor_content = content},
       .metadata = SummaryMetadataMessage{.plugin_data = {.plugin_name = "pr_curves", .content = plugin_data}}});
}

// tensorboard/plugins/custom_scalar/layout.proto, whose version is 0.

template <>
inline constexpr auto kFields<MarginSeries> =
    std::tuple(field(1, "value", &MarginSeries::value), field(2, "lower", &MarginSeries::lower),
               field(3, "upper", &MarginSeries::upper));

struct MultilineChartMessage {
  std::vector<std::string> tag{};
};
template <>
inline constexpr auto kFields<MultilineChartMessage> = std::tuple(field(1, "tag", &MultilineChartMessage::tag));

struct MarginChartMessage {
  std::vector<MarginSeries> series{};
};
template <>
inline constexpr auto kFields<MarginChartMessage> = std::tuple(field(1, "series", &MarginChartMessage::series));

/// One of `multiline` and `margin`.
struct ChartMessage {
  std::string title{};
  std::optional<MultilineChartMessage> multiline{};
  std::optional<MarginChartMessage> margin{};
};
template <>
inline constexpr auto kFields<ChartMessage> =
    std::tuple(field(1, "title", &ChartMessage::title), field(2, "multiline", &ChartMessage::multiline),
               field(3, "margin", &ChartMessage::margin));

struct CategoryMessage {
  std::string title{};
  std::vector<ChartMessage> chart{};
  bool closed = false;
};
template <>
inline constexpr auto kFields<CategoryMessage> =
    std::tuple(field(1, "title", &CategoryMessage::title), field(2, "chart", &CategoryMessage::chart),
               field(3, "closed", &CategoryMessage::closed));

struct LayoutMessage {
  std::int32_t version = 0;
  std::vector<CategoryMessage> category{};
};
template <>
inline constexpr auto kFields<LayoutMessage> =
    std::tuple(field(1, "version", &LayoutMessage::version), field(2, "category", &LayoutMessage::category));

inline ChartMessage chart_message(const CustomChart& chart) {
  if (chart.tags.empty() == chart.margins.empty()) {
    throw InvalidArgumentError("the chart '{}' of a custom scalars layout has {}; give it one of them", chart.title,
                               chart.tags.empty() ? "neither tags nor margins" : "both tags and margins");
  }
  constexpr std::string_view kWhat = "a text of a custom scalars layout";
  expect_utf8(chart.title, kWhat);
  for (const std::string& tag : chart.tags) expect_utf8(tag, kWhat);
  for (const MarginSeries& series : chart.margins) {
    for (const std::string* tag : {&series.value, &series.lower, &series.upper}) expect_utf8(*tag, kWhat);
  }
  ChartMessage message{.title = chart.title};
  if (chart.margins.empty()) {
    message.multiline = MultilineChartMessage{.tag = chart.tags};
  } else {
    message.margin = MarginChartMessage{.series = chart.margins};
  }
  return message;
}

}  // namespace trainhook::detail

namespace trainhook {

std::string custom_scalars_summary(const std::vector<CustomCategory>& categories) {
  detail::LayoutMessage layout;
  for (const CustomCategory& category : categories) {
    detail::expect_utf8(category.title, "a title of a custom scalars layout");
    detail::CategoryMessage& message = layout.category.emplace_back();
    message.title = category.title;
    message.closed = category.closed;
    for (const CustomChart& chart : category.charts) message.chart.push_back(detail::chart_message(chart));
  }
  std::string bytes;
  detail::append_message(bytes, layout);
  return detail::summary_of(
      {.tag = "custom_scalars__config__",
       .tensor = detail::TensorMessage{.dtype = static_cast<std::uint64_t>(DType::String), .string_val = {bytes}},
       .metadata = detail::SummaryMetadataMessage{.plugin_data = {.plugin_name = "custom_scalars"}}});
}

}  // namespace trainhook
