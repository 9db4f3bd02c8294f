// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, normalization over a batch.
#include <trainhook/engine/kernels.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

const Tensor kImages = Tensor::of<float>({1, 10, 2, 20, 3, 30, 6, 60}, {2, 1, 2, 2});  // means 3 and 30
const Tensor kScale = Tensor::of<float>({2, 1});
const Tensor kOffset = Tensor::of<float>({0.5F, -1});

std::vector<Tensor> normalized(const Tensor& mean, const Tensor& variance, bool is_training, float factor = 1) {
  return test::run_op(kernels::normalization(), "FusedBatchNormV3", {kImages, kScale, kOffset, mean, variance},
                      {{"T", DType::Float},
                       {"U", DType::Float},
                       {"data_format", std::string("NHWC")},
                       {"epsilon", 0.0F},
                       {"exponential_avg_factor", factor},
                       {"is_training", is_training}},
                      std::vector<DType>(6, DType::Float));
}

TEST(NormalizationKernels, TrainByTheBatchsOwnMeanAndVariance) {
  const std::vector<Tensor> out = normalized(Tensor::of<float>({}), Tensor::of<float>({}), true);
  const float deviation = std::sqrt(3.5F);
  EXPECT_NEAR(out[0].data<float>()[0], 2 * (1 - 3) / deviation + 0.5F, 1e-6);
  EXPECT_NEAR(out[0].data<float>()[7], (60 - 30) / (10 * deviation) - 1, 1e-6);
  EXPECT_EQ(out[1], Tensor::of<float>({3, 30}));
  EXPECT_FLOAT_EQ(out[2].data<float>()[0], 14.0F / 3) << "divided by one less than the count";
  EXPECT_EQ(out[3], out[1]);
  EXPECT_EQ(out[4], Tensor::of<float>({3.5F, 350})) << "divided by the count";
}

TEST(NormalizationKernels, AverageMeanAndVarianceIfAFactorIsGiven) {
  const std::vector<Tensor> out = normalized(Tensor::of<float>({1, 2}), Tensor::of<float>({1, 1}), true, 0.25F);
  EXPECT_EQ(out[1], Tensor::of<float>({1.5F, 9}));
  EXPECT_EQ(out[3], Tensor::of<float>({3, 30}));
}

TEST(NormalizationKernels, InferByTheMeanAndVarianceGiven) {
  const std::vector<Tensor> out = normalized(Tensor::of<float>({1, 10}), Tensor::of<float>({4, 100}), false);
  EXPECT_EQ(out[0], Tensor::of<float>({0.5F, -1, 1.5F, 0, 2.5F, 1, 5.5F, 4}, {2, 1, 2, 2}));
  EXPECT_EQ(out[1], Tensor::of<float>({1, 10}));
  EXPECT_EQ(out[2], Tensor::of<float>({4, 100}));
}

TEST(NormalizationKernels, RefuseVectorsThatAreNotOfTheChannels) {
  EXPECT_THROW(normalized(Tensor::of<float>({1}), Tensor::of<float>({1}), false), InvalidArgumentError);
}

TEST(NormalizationKernels, GradientOfABatchThatIsNormalizedByItselfSumsToZero) {
  const auto grads = [](bool is_training) {
    return test::run_op(kernels::normalization(), "FusedBatchNormGradV3",
                        {Tensor::of<float>({1, 0, 0, 2, 0, 0, 0, 0}, {2, 1, 2, 2}), kImages, kScale,
                         Tensor::of<float>({3, 30}), Tensor::of<float>({4, 100}), Tensor::of<float>({})},
                        {{"T", DType::Float},
                         {"U", DType::Float},
                         {"data_format", std::string("NHWC")},
                         {"epsilon", 0.0F},
                         {"is_training", is_training}},
                        std::vector<DType>(5, DType::Float));
  };
  const std::vector<Tensor> fixed = grads(false);
  EXPECT_EQ(fixed[0], Tensor::of<float>({1, 0, 0, 0.2F, 0, 0, 0, 0}, {2, 1, 2, 2}));
  EXPECT_EQ(fixed[1], Tensor::of<float>({-1, -2}));
  EXPECT_EQ(fixed[2], Tensor::of<float>({1, 2}));
  const std::vector<Tensor> trained = grads(true);
  const std::span<const float> dx = trained[0].data<float>();
  EXPECT_NEAR(dx[0] + dx[2] + dx[4] + dx[6], 0, 1e-6);
}

/// The 2 channels of images as planes: their second dimension, not their last.
Tensor as_planes(const Tensor& images, const Shape& shape) {
  Tensor planes(DType::Float, shape);
  const std::span<float> to = planes.mutable_data<float>();
  const std::size_t pixels = to.size() / static_cast<std::size_t>(shape[0]) / 2;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t image = i / (2 * pixels);
    const std::size_t channel = i / pixels % 2;
    to[i] = images.data<float>()[(image * pixels + i % pixels) * 2 + channel];
  }
  return planes;
}

/// Both ops; the first result of each is images.
std::vector<Tensor> normalized_and_gradients(const Tensor& images, const Tensor& gradient, const std::string& format,
                                             bool is_training) {
  const Attrs attrs{{"T", DType::Float},
                    {"U", DType::Float},
                    {"data_format", format},
                    {"epsilon", 0.01F},
                    {"is_training", is_training}};
  const Tensor mean = Tensor::of<float>({2, 3});
  std::vector<Tensor> results =
      test::run_op(kernels::normalization(), "FusedBatchNormV3", {images, kScale, kOffset, mean, kScale}, attrs,
                   std::vector<DType>(6, DType::Float));
  const std::vector<Tensor> grads =
      test::run_op(kernels::normalization(), "FusedBatchNormGradV3", {gradient, images, kScale, mean, kScale, mean},
                   attrs, std::vector<DType>(5, DType::Float));
  results.insert(results.end(), grads.begin(), grads.end());
  return results;
}

TEST(NormalizationKernels, TakeChannelsAsTheLastOrTheSecondDimension) {
  struct Row {
    std::string last, first;
    Shape shape, planes;
  };
  for (const auto& [last, first, shape, planes] :
       {Row{"NHWC", "NCHW", {2, 2, 3, 2}, {2, 2, 2, 3}}, Row{"NDHWC", "NCDHW", {2, 3, 1, 2, 2}, {2, 2, 3, 1, 2}}}) {
    Tensor images(DType::Float, shape);
    Tensor gradient(DType::Float, shape);
    for (std::size_t i = 0; i < 24; ++i) {
      images.mutable_data<float>()[i] = static_cast<float>(i * i % 17);
      gradient.mutable_data<float>()[i] = static_cast<float>(i * i % 13) - 5;
    }
    for (const bool is_training : {true, false}) {
      std::vector<Tensor> expected = normalized_and_gradients(images, gradient, last, is_training);
      for (const std::size_t i : {0U, 6U}) expected[i] = as_planes(expected[i], planes);
      EXPECT_EQ(normalized_and_gradients(as_planes(images, planes), as_planes(gradient, planes), first, is_training),
                expected)
          << first;
    }
  }
  EXPECT_THROW(normalized_and_gradients(kImages, kImages, "NCDHW", true), InvalidArgumentError);
}

TEST(NormalizationKernels, NormalizePlanesAsTensorFlowDoes) {
  const Tensor images = Tensor::of<float>({1, 2, 3, 6, 10, 20, 30, 60}, {1, 2, 2, 2});
  const std::vector<Tensor> out = normalized_and_gradients(images, images, "NCHW", true);
  const auto expect_near = [](const Tensor& actual, const std::vector<float>& expected, float tolerance) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual.data<float>()[i], expected[i], tolerance * std::abs(expected[i]));
  };
  expect_near(out[0], {-1.635042F, -0.567521F, 0.5F, 3.7025628F, -2.0690298F, -1.5345149F, -1, 0.6035445F}, 1e-6F);
  expect_near(out[2], {4.666667F, 466.6667F}, 1e-6F);
  expect_near(out[6], {1.7405545F, -1.4106913F, -4.5619369F, -14.015675F, -8019.605F, -19437.803F, -30856, -65110.598F},
              1e-5F);
  expect_near(out[7], {18.338985F, 4616.9727F}, 1e-6F);
  expect_near(out[8], {12, 120}, 1e-6F);
}

}  // namespace
}  // namespace trainhook
