// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of summaries as messages, also as TensorFlow 2 writes them; their bytes inside events are tested with the
/// events.
#include <trainhook/events/summary.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/events/event_reader.hpp>

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

SummaryValue only_value(const std::string& summary) {
  const std::vector<SummaryValue> values = parse_summary(summary);
  EXPECT_EQ(values.size(), 1U);
  return values.at(0);
}

Histogram histogram_of_summary(const std::vector<double>& values) {
  return only_value(histogram_tensor_summary("w", std::span<const double>(values))).histogram.value();
}

TEST(TensorSummary, ScalarIsATensorForItsPlugin) {
  const std::string metadata("\x4a\x0b\x0a\x09\x0a\x07scalars");
  const std::string tensor("\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x80\x3e", 12);
  EXPECT_EQ(scalar_tensor_summary("loss", 0.25F), "\x0a\x1f\x0a\x04loss" + tensor + metadata);
  const SummaryValue value = only_value(scalar_tensor_summary("loss", 0.25F));
  EXPECT_EQ(value.tag, "loss");
  EXPECT_EQ(value.plugin, "scalars");
  EXPECT_EQ(value.scalar, 0.25F);
}

TEST(TensorSummary, HistogramHasThirtyBucketsOfOneWidth) {
  const Histogram histogram = histogram_of_summary({0, 1, 1.5, 59, 60, 60});
  ASSERT_EQ(histogram.bucket.size(), 30U);
  EXPECT_EQ(histogram.min, 0);
  EXPECT_EQ(histogram.max, 60);
  EXPECT_EQ(histogram.num, 6);
  EXPECT_TRUE(std::isnan(histogram.sum));
  EXPECT_EQ(histogram.bucket_limit.front(), 2);
  EXPECT_EQ(histogram.bucket.front(), 3);
  EXPECT_EQ(histogram.bucket_limit.back(), 60);
  EXPECT_EQ(histogram.bucket.back(), 3);
}

TEST(TensorSummary, HistogramOfEqualValuesCountsThemInTheLastBucket) {
  const Histogram histogram = histogram_of_summary({2, 2, 2});
  EXPECT_EQ(histogram.bucket_limit, std::vector<double>(30, 2));
  EXPECT_EQ(histogram.bucket.back(), 3);
  EXPECT_EQ(histogram.num, 3);
}

TEST(TensorSummary, HistogramOfNothingIsZero) {
  const Histogram histogram = histogram_of_summary({});
  EXPECT_EQ(histogram.num, 0);
  EXPECT_EQ(histogram.bucket, std::vector<double>(30, 0));
}

TEST(TensorSummary, HistogramTakesTheWholeRangeOfDoubles) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const Histogram histogram = histogram_of_summary({-kMost, kMost / 2, kMost});
  EXPECT_EQ(histogram.min, -kMost);
  EXPECT_EQ(histogram.max, kMost);
  EXPECT_EQ(histogram.bucket.front(), 1);
  EXPECT_EQ(histogram.bucket[22], 1);
  EXPECT_EQ(histogram.bucket.back(), 1);
}

TEST(TensorSummary, NamesTheTagOfAHistogramWithNan) {
  const std::vector<float> values{1.0F, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THROW(static_cast<void>(histogram_tensor_summary("w", std::span<const float>(values))), InvalidArgumentError);
}

TEST(TensorSummary, ImagesFollowTheirSize) {
  const std::array images{EncodedImage{.height = 2, .width = 30, .bytes = "first"},
                          EncodedImage{.height = 2, .width = 30, .bytes = "second"}};
  const SummaryValue value = only_value(image_tensor_summary("digits", images));
  EXPECT_EQ(value.plugin, "images");
  EXPECT_FALSE(value.text.has_value());
  ASSERT_EQ(value.images.size(), 2U);
  EXPECT_EQ(value.images[0].height, 2);
  EXPECT_EQ(value.images[1].width, 30);
  EXPECT_EQ(value.images[0].bytes, "first");
  EXPECT_EQ(value.images[1].bytes, "second");
}

TEST(TensorSummary, RefusesImagesOfDifferentSizesAndNone) {
  const std::array images{EncodedImage{.height = 2, .width = 3, .bytes = "a"},
                          EncodedImage{.height = 3, .width = 2, .bytes = "b"}};
  EXPECT_THROW(static_cast<void>(image_tensor_summary("digits", images)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(image_tensor_summary("digits", {})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(image_tensor_summary("", std::span(images).first(1))), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
