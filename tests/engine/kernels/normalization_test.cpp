// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, normalization over a batch.
#include <trainhook/engine/kernels.hpp>

#include <cmath>
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

}  // namespace
}  // namespace trainhook
