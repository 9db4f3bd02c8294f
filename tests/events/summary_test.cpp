// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of summaries as messages; their bytes inside events are tested with the events.
#include <trainhook/events/summary.hpp>

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

TEST(Summary, MergesByConcatenation) {
  const std::array summaries{scalar_summary("a", 1.0F), std::string(), scalar_summary("b", 2.0F)};
  EXPECT_EQ(merge_summaries(summaries), summaries[0] + summaries[2]);
}

TEST(Summary, SaysOfAudioHowItIsEncoded) {
  const std::string summary =
      audio_summary("tone", {.sample_rate = 8000, .channels = 2, .frames = 3, .bytes = "data", .content_type = "x/y"});
  EXPECT_EQ(summary, std::string_view("\n\x1c\n\x04tone2\x14\r\0\0\xfa\x45\x10\x02\x18\x03\"\x04"
                                      "data*\x03x/y",
                                      30));
}

TEST(Summary, RefusesAValueWithoutTag) {
  EXPECT_THROW(static_cast<void>(scalar_summary("", 1.0F)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(text_summary("", "x")), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(image_summary("", {})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(audio_summary("", {})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(histogram_summary("", Histogram{})), InvalidArgumentError);
}

TEST(Summary, NamesTheTagOfAHistogramWithNan) {
  const std::vector<double> values{1.0, std::numeric_limits<double>::quiet_NaN()};
  try {
    static_cast<void>(histogram_summary("layer/weights", std::span<const double>(values)));
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("Nan in summary histogram for: layer/weights"), std::string::npos)
        << error.what();
  }
}

TEST(Summary, RefusesAHistogramWhoseBucketsAndLimitsDiffer) {
  Histogram histogram;
  histogram.bucket = {1.0};
  EXPECT_THROW(static_cast<void>(histogram_summary("w", histogram)), InvalidArgumentError);
}

TEST(Summary, CountsTheElementsOfATensor) {
  const std::vector<float> values{1, 2, 3};
  const Histogram histogram = histogram_of("w", Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(histogram_summary("w", histogram), histogram_summary("w", std::span<const float>(values)));
}

}  // namespace
}  // namespace trainhook
