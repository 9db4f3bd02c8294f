// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of reading summaries that are not what their plugin says; the others are tested with what writes them.
#include <trainhook/events/summary_reader.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/events/summary_message.hpp>

namespace trainhook {
namespace {

SummaryValue tensor_value(std::string_view plugin, detail::TensorMessage tensor) {
  const std::string summary =
      detail::summary_of({.tag = "t",
                          .tensor = std::move(tensor),
                          .metadata = detail::SummaryMetadataMessage{.plugin_data = {.plugin_name = plugin}}});
  return parse_summary(summary).at(0);
}

/// A summary whose tensor holds these doubles under these dims.
SummaryValue histogram_like(const std::vector<std::int64_t>& dims, const std::vector<double>& numbers) {
  return tensor_value("histograms", {.dtype = static_cast<std::uint64_t>(DType::Double),
                                     .tensor_shape = detail::shape_message(dims),
                                     .double_val = numbers});
}

SummaryValue image_like(const std::vector<std::string>& strings) {
  const std::array dims{static_cast<std::int64_t>(strings.size())};
  return tensor_value("images", {.dtype = static_cast<std::uint64_t>(DType::String),
                                 .tensor_shape = detail::shape_message(dims),
                                 .string_val = {strings.begin(), strings.end()}});
}

TEST(SummaryReader, TakesAHistogramOfNumbersThatAreNotPacked) {
  const Histogram histogram = histogram_like({2, 3}, {0, 1, 4, 1, 3, 6}).histogram.value();
  EXPECT_EQ(histogram.bucket_limit, (std::vector<double>{1, 3}));
  EXPECT_EQ(histogram.bucket, (std::vector<double>{4, 6}));
  EXPECT_EQ(histogram.min, 0);
  EXPECT_EQ(histogram.max, 3);
  EXPECT_EQ(histogram.num, 10);
}

TEST(SummaryReader, LeavesTensorsAloneWhoseShapeIsNotTheirContents) {
  EXPECT_FALSE(histogram_like({3, 3}, {0, 1, 4, 1, 3, 6}).histogram.has_value());
  EXPECT_FALSE(histogram_like({3, 2}, {0, 1, 4, 1, 3, 6}).histogram.has_value());
  EXPECT_FALSE(histogram_like({-1, 3}, {}).histogram.has_value());
  EXPECT_FALSE(histogram_like({INT64_MAX, 3}, {0, 1, 4}).histogram.has_value());
  EXPECT_TRUE(histogram_like({0, 3}, {}).histogram.has_value());
}

TEST(SummaryReader, NamesTheDashboardOfAudioOfTensorFlow1) {
  const std::string summary =
      detail::summary_of({.tag = "t", .audio = detail::SummaryAudioMessage{.sample_rate = 8000}});
  EXPECT_EQ(parse_summary(summary).at(0), (SummaryValue{.tag = "t", .plugin = "audio"}));
}

TEST(SummaryReader, LeavesImagesAloneWhoseSizeIsNotANumber) {
  EXPECT_EQ(image_like({"3", "2", "png"}).images.size(), 1U);
  for (const std::vector<std::string>& strings :
       std::vector<std::vector<std::string>>{{"3"}, {"3x", "2", "png"}, {"3", "", "png"}, {}}) {
    const SummaryValue value = image_like(strings);
    EXPECT_TRUE(value.images.empty());
    EXPECT_FALSE(value.text.has_value());
  }
}

}  // namespace
}  // namespace trainhook
