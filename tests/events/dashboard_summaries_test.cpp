// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of precision-recall curves: what is counted at each threshold; and of the layout of the Custom Scalars
/// dashboard. Their bytes are compared with TensorBoard's own in tests/interop.
#include <trainhook/events/dashboard_summaries.hpp>

#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook {
namespace {

using Rows = std::vector<std::vector<float>>;

/// True and false positives, true and false negatives, precision, recall.
Rows rows_of(const std::string& summary, std::size_t thresholds) {
  const auto message = detail::parse_message<detail::SummaryMessage>(summary, "a summary");
  const std::string_view content = message.value.begin()->tensor->tensor_content;
  Rows rows(6, std::vector<float>(thresholds));
  EXPECT_EQ(content.size(), 6 * thresholds * sizeof(float));
  for (std::size_t row = 0; row < rows.size(); ++row)
    std::memcpy(rows[row].data(), content.data() + row * thresholds * sizeof(float), thresholds * sizeof(float));
  return rows;
}

std::string message_of(const auto& action) {
  try {
    static_cast<void>(action());
  } catch (const InvalidArgumentError& error) { return error.what(); }
  return "nothing thrown";
}

TEST(PrCurve, CountsAtEachThresholdWhatIsAtLeastAsLarge) {
  const std::vector<bool> labels{true, false, true, false, true};
  const std::vector<float> predictions{0.9F, 0.5F, 0.5F, 0.1F, 1.0F};
  EXPECT_EQ(rows_of(pr_curve_summary("eval", labels, predictions, {.num_thresholds = 3}), 3),
            (Rows{{3, 3, 1}, {2, 1, 0}, {0, 1, 2}, {0, 0, 2}, {0.6F, 0.75F, 1}, {1, 1, 1.0F / 3}}));
}

TEST(PrCurve, CountsAPredictionAsOftenAsItsWeightSays) {
  const std::vector<int> labels{1, 0, 1};
  const std::vector<float> predictions{0.2F, 0.8F, 0.8F};
  const std::vector<float> weights{4, 0.5F, 0};
  EXPECT_EQ(rows_of(pr_curve_summary("eval", labels, predictions, {.num_thresholds = 2, .weights = weights}), 2),
            (Rows{{4, 0}, {0.5F, 0}, {0, 0.5F}, {0, 4}, {4 / 4.5F, 0}, {1, 0}}));
}

TEST(PrCurve, ClipsPredictionsToProbabilities) {
  const std::vector<bool> labels{true, false};
  const std::vector<float> predictions{7, -7};
  EXPECT_EQ(pr_curve_summary("eval", labels, predictions), pr_curve_summary("eval", labels, std::vector<float>{1, 0}));
}

TEST(PrCurve, HasNoPrecisionAndNoRecallWithoutPredictions) {
  EXPECT_EQ(rows_of(pr_curve_summary("eval", std::vector<bool>(), {}, {.num_thresholds = 2}), 2),
            Rows(6, std::vector<float>(2, 0)));
}

TEST(PrCurve, NamesTheCurveAndWhatIsWrong) {
  const std::vector<bool> labels{true, false};
  const std::vector<float> two{0.5F, 0.5F};
  const std::vector<float> one{0.5F};
  const std::vector<float> nan{0.5F, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(message_of([&] { return pr_curve_summary("eval", labels, one); }),
            "the precision-recall curve eval has 2 labels but 1 predictions");
  EXPECT_EQ(message_of([&] { return pr_curve_summary("eval", labels, two, {.weights = one}); }),
            "the precision-recall curve eval has 1 weights but 2 predictions");
  EXPECT_EQ(message_of([&] { return pr_curve_summary("eval", labels, nan); }),
            "the precision-recall curve eval: prediction 1 is NaN");
  EXPECT_EQ(message_of([&] { return pr_curve_summary("eval", labels, two, {.num_thresholds = 1}); }),
            "the precision-recall curve eval has 1 thresholds; it needs at least 2");
}

TEST(CustomScalars, HoldsCategoriesChartsAndTags) {
  const std::string summary =
      custom_scalars_summary({{.title = "fit", .charts = {{"loss", {"a", "b"}}}, .closed = true}});
  const auto message = detail::parse_message<detail::SummaryMessage>(summary, "a summary");
  const detail::SummaryValueMessage& value = *message.value.begin();
  EXPECT_EQ(value.tag, "custom_scalars__config__");
  EXPECT_EQ(value.metadata->plugin_data.plugin_name, "custom_scalars");
  EXPECT_EQ(value.tensor->string_val.at(0),
            "\x12\x17\n\x03"
            "fit\x12\x0e\n\x04loss\x12\x06\n\x01"
            "a\n\x01"
            "b\x18\x01");
}

TEST(CustomScalars, NamesAChartThatIsNotOneOfBoth) {
  const auto message_of = [](const CustomChart& chart) -> std::string {
    try {
      static_cast<void>(custom_scalars_summary({{.title = "fit", .charts = {chart}}}));
    } catch (const InvalidArgumentError& error) { return error.what(); }
    return "nothing thrown";
  };
  EXPECT_EQ(message_of({.title = "loss"}),
            "the chart 'loss' of a custom scalars layout has neither tags nor margins; give it one of them");
  EXPECT_EQ(message_of({.title = "loss", .tags = {"a"}, .margins = {{"a", "b", "c"}}}),
            "the chart 'loss' of a custom scalars layout has both tags and margins; give it one of them");
  EXPECT_EQ(message_of({.title = "loss", .margins = {{"a", "b", "\xe4"}}}),
            "a text of a custom scalars layout '\xef\xbf\xbd' is not UTF-8, which files need; convert it");
}

}  // namespace
}  // namespace trainhook
