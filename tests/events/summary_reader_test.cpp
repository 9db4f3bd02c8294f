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
#include <vector>

#include <trainhook/events/tensor_summary.hpp>

namespace trainhook {
namespace {

/// A summary whose tensor holds these doubles under these dims.
SummaryValue histogram_like(const std::vector<std::int64_t>& dims, const std::vector<double>& numbers) {
  const std::string summary = detail::tensor_summary("t", "histograms", DType::Double, dims, [&](WireWriter& tensor) {
    tensor.add_packed_double(detail::TensorProtoField::kDoubleVal, numbers.begin(), numbers.end());
  });
  return parse_summary(summary).at(0);
}

SummaryValue image_like(const std::vector<std::string>& strings) {
  const std::array dims{static_cast<std::int64_t>(strings.size())};
  const std::string summary = detail::tensor_summary("t", "images", DType::String, dims, [&](WireWriter& tensor) {
    for (const std::string& string : strings) tensor.add_bytes(detail::TensorProtoField::kStringVal, string);
  });
  return parse_summary(summary).at(0);
}

TEST(SummaryReader, TakesAHistogramOfNumbersThatStandOneByOne) {
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

TEST(SummaryReader, LeavesImagesAloneWhoseSizeIsNoNumber) {
  EXPECT_EQ(image_like({"3", "2", "png"}).images.size(), 1U);
  for (const std::vector<std::string>& strings : std::vector<std::vector<std::string>>{{"3"}, {"3x", "2", "png"}, {"3", "", "png"}, {}}) {
    const SummaryValue value = image_like(strings);
    EXPECT_TRUE(value.images.empty());
    EXPECT_FALSE(value.text.has_value());
  }
}

}  // namespace
}  // namespace trainhook
