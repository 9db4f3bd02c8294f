// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/custom_scalars.hpp>

#include <cstdint>
#include <optional>
#include <tuple>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/events/summary_message.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

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
