// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, parts of neural networks.
#include <trainhook/engine/kernels/nn.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, Attrs attrs = {}) {
  attrs.emplace("T", inputs[0].dtype());
  return test::run_op(kernels::nn(), type, inputs, attrs, inputs[0].dtype());
}

void expect_near(const Tensor& actual, std::initializer_list<float> expected, float tolerance = 1e-6F) {
  ASSERT_EQ(actual.num_elements(), static_cast<std::int64_t>(expected.size()));
  std::size_t i = 0;
  for (const float value : expected) EXPECT_NEAR(actual.data<float>()[i++], value, tolerance);
}

const Attrs kNhwc{{"data_format", std::string("NHWC")}};

TEST(NnKernels, AddABiasToTheLastDimension) {
  EXPECT_EQ(run("BiasAdd", {Tensor::of<float>({1, 2, 3, 4}, {2, 2}), Tensor::of<float>({10, 20})}, kNhwc),
            Tensor::of<float>({11, 22, 13, 24}, {2, 2}));
  EXPECT_EQ(run("BiasAddGrad", {Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2})}, kNhwc), Tensor::of<float>({9, 12}));
  EXPECT_THROW(run("BiasAdd", {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({10})}, kNhwc), InvalidArgumentError);
  EXPECT_THROW(run("BiasAdd", {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({10, 20})}, {{"data_format", std::string("NCHW")}}),
               UnimplementedError);
}

TEST(NnKernels, Activate) {
  const Tensor x = Tensor::of<float>({-2, 0, 3, 8});
  expect_near(run("Relu", {x}), {0, 0, 3, 8});
  expect_near(run("Relu6", {x}), {0, 0, 3, 6});
  expect_near(run("LeakyRelu", {x}, {{"alpha", 0.5F}}), {-1, 0, 3, 8});
  expect_near(run("Sigmoid", {x}), {0.1192029F, 0.5F, 0.9525741F, 0.9996646F});
  expect_near(run("Tanh", {x}), {-0.9640276F, 0, 0.9950548F, 0.9999998F});
  expect_near(run("Elu", {x}), {-0.8646647F, 0, 3, 8});
  expect_near(run("Softplus", {x}), {0.1269280F, 0.6931472F, 3.0485874F, 8.0003354F}, 2e-6F);
}

TEST(NnKernels, GiveTheGradientsOfActivations) {
  const Tensor gradient = Tensor::of<float>({10, 10, 10, 10});
  const Tensor x = Tensor::of<float>({-2, 0, 3, 8});
  expect_near(run("ReluGrad", {gradient, x}), {0, 0, 10, 10});
  expect_near(run("Relu6Grad", {gradient, x}), {0, 0, 10, 0});
  expect_near(run("LeakyReluGrad", {gradient, x}, {{"alpha", 0.5F}}), {5, 5, 10, 10});
  expect_near(run("SigmoidGrad", {Tensor::of<float>({0.25F}), Tensor::of<float>({4})}), {0.75F});
  expect_near(run("TanhGrad", {Tensor::of<float>({0.5F}), Tensor::of<float>({4})}), {3});
  expect_near(run("EluGrad", {Tensor::of<float>({2, 2}), Tensor::of<float>({-0.5F, 1})}), {1, 2});
  expect_near(run("SoftplusGrad", {Tensor::of<float>({2}), Tensor::of<float>({0})}), {1});
}

TEST(NnKernels, TurnLogitsIntoProbabilities) {
  const Tensor logits = Tensor::of<float>({0, std::log(3.0F), 1000, 1000}, {2, 2});
  expect_near(run("Softmax", {logits}), {0.25F, 0.75F, 0.5F, 0.5F});
  expect_near(run("LogSoftmax", {logits}), {std::log(0.25F), std::log(0.75F), std::log(0.5F), std::log(0.5F)});
}

TEST(NnKernels, MeasureSparseCrossEntropy) {
  const Tensor logits = Tensor::of<float>({0, std::log(3.0F), 1000, 1000}, {2, 2});
  for (const Tensor& labels : {Tensor::of<std::int64_t>({1, 0}), Tensor::of<std::int32_t>({1, 0})}) {
    const std::vector<Tensor> results =
        test::run_op(kernels::nn(), "SparseSoftmaxCrossEntropyWithLogits", {logits, labels},
                     {{"T", DType::Float}, {"Tlabels", labels.dtype()}}, std::vector{DType::Float, DType::Float});
    expect_near(results[0], {-std::log(0.75F), std::log(2.0F)});
    expect_near(results[1], {0.25F, -0.25F, -0.5F, 0.5F});
  }
}

TEST(NnKernels, NameALabelThatIsNoClass) {
  try {
    test::run_op(kernels::nn(), "SparseSoftmaxCrossEntropyWithLogits", {Tensor(DType::Float, Shape{1, 3}), Tensor::of<std::int64_t>({3})},
                 {{"T", DType::Float}, {"Tlabels", DType::Int64}}, std::vector{DType::Float, DType::Float});
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("label value of 3 which is outside the valid range of [0, 3)"), std::string::npos)
        << error.what();
  }
}

TEST(NnKernels, MeasureDenseCrossEntropy) {
  const Tensor logits = Tensor::of<float>({0, std::log(3.0F)}, {1, 2});
  const std::vector<Tensor> results =
      test::run_op(kernels::nn(), "SoftmaxCrossEntropyWithLogits", {logits, Tensor::of<float>({0.5F, 0.5F}, {1, 2})}, {{"T", DType::Float}},
                   std::vector{DType::Float, DType::Float});
  expect_near(results[0], {-0.5F * (std::log(0.25F) + std::log(0.75F))});
  expect_near(results[1], {-0.25F, 0.25F});
}

}  // namespace
}  // namespace trainhook
