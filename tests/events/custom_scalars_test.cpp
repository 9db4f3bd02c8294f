// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the layout of the Custom Scalars dashboard. Its bytes are compared with TensorBoard's own in tests/interop.
#include <trainhook/events/custom_scalars.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/events/summary_message.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook {
namespace {

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
