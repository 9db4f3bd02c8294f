// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, summaries.
#include <trainhook/engine/kernels.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/events/histogram.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/media/png.hpp>

#include "run_op.hpp"

namespace trainhook {
namespace {

using namespace std::string_literals;

std::string run(const std::string& type, const std::vector<Tensor>& inputs, Attrs attrs = {}) {
  attrs.emplace("T", inputs.back().dtype());
  return test::run_op(kernels::summary(), type, inputs, attrs, DType::String).data<std::string>()[0];
}

TEST(SummaryKernels, EncodeScalarsAndHistograms) {
  EXPECT_EQ(run("ScalarSummary", {Tensor("loss"), Tensor(0.5F)}), scalar_summary("loss", 0.5F));
  const Tensor values = Tensor::of<float>({1, 2, 2});
  EXPECT_EQ(run("HistogramSummary", {Tensor("w"), values}), histogram_summary("w", histogram_of("w", values)));
  EXPECT_THROW(run("HistogramSummary", {Tensor("w"), Tensor::of<float>({NAN})}), InvalidArgumentError);
}

TEST(SummaryKernels, TakeEveryNumberOfCpp) {
  for (const Tensor& two : {Tensor(std::size_t{2}), Tensor(std::uint8_t{2}), Tensor(std::int8_t{2}), Tensor(2.0),
                            Tensor(Half{0x4000}), Tensor(BFloat16{0x4000})}) {
    EXPECT_EQ(run("ScalarSummary", {Tensor("s"), two}), scalar_summary("s", 2)) << two.to_string();
    EXPECT_EQ(run("HistogramSummary", {Tensor("h"), two}), histogram_summary("h", histogram_of("h", Tensor(2.0F))))
        << two.to_string();
  }
}

TEST(SummaryKernels, PutATensorAndItsMetadataIntoASummary) {
  const std::string metadata("\x0a\x06\x0a\x04text", 8);
  const std::string tensor = "\x08\x07\x12\x00\x42\x02hi"s;
  const std::string value = "\x0a\x01t\x42"s + static_cast<char>(tensor.size()) + tensor + "\x4a\x08" + metadata;
  EXPECT_EQ(run("TensorSummaryV2", {Tensor("t"), Tensor("hi"), Tensor(metadata)}),
            "\x0a"s + static_cast<char>(value.size()) + value);
}

TEST(SummaryKernels, MergeByConcatenation) { EXPECT_EQ(run("MergeSummary", {Tensor("ab"), Tensor("cd")}), "abcd"); }

TEST(SummaryKernels, SpreadFloatsOverTheBytesOfAnImage) {
  const Attrs attrs{{"max_images", std::int64_t{3}}, {"bad_color", Tensor::of<std::uint8_t>({255, 0, 0, 255})}};
  const std::vector<std::uint8_t> first{0, 127, 255, 255};
  const std::vector<std::uint8_t> second{1, 128, 191, 255};
  const auto encoded = [](const std::string& tag, const std::string& png) {
    return image_summary(tag, {.height = 1, .width = 4, .channels = 1, .bytes = png});
  };
  const std::string expected =
      encoded("x/image/0", encode_png(first, 1, 4, 1)) + encoded("x/image/1", encode_png(second, 1, 4, 1));
  EXPECT_EQ(
      run("ImageSummary", {Tensor("x"), Tensor::of<float>({0, 1, 2, NAN, -4, 0, 2, INFINITY}, {2, 1, 4, 1})}, attrs),
      expected);
}

TEST(SummaryKernels, TakeBytesAsTheyAre) {
  const Attrs attrs{{"max_images", std::int64_t{1}}, {"bad_color", Tensor::of<std::uint8_t>({255, 0, 0, 255})}};
  const std::vector<std::uint8_t> pixels{9, 8};
  EXPECT_EQ(run("ImageSummary", {Tensor("x"), Tensor::of<std::uint8_t>({9, 8, 7, 6}, {2, 1, 2, 1})}, attrs),
            image_summary("x/image", {.height = 1, .width = 2, .channels = 1, .bytes = encode_png(pixels, 1, 2, 1)}));
  EXPECT_THROW(run("ImageSummary", {Tensor("x"), Tensor(DType::Float, Shape{1, 2, 2})}, attrs), InvalidArgumentError);
}

TEST(SummaryKernels, ShowHalvesAsTheFloatsThatTheyAre) {
  const Attrs attrs{{"max_images", std::int64_t{1}}, {"bad_color", Tensor::of<std::uint8_t>({255, 0, 0, 255})}};
  const Tensor floats = Tensor::of<float>({0, 1, 2, -4}, {1, 2, 2, 1});
  const Tensor halves = Tensor::of<Half>({Half{0}, Half{0x3c00}, Half{0x4000}, Half{0xc400}}, {1, 2, 2, 1});
  EXPECT_EQ(run("ImageSummary", {Tensor("x"), halves}, attrs), run("ImageSummary", {Tensor("x"), floats}, attrs));
}

}  // namespace
}  // namespace trainhook
