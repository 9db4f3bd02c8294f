// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, parts of neural networks.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
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
  EXPECT_THROW(run("BiasAdd", {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({10})}, kNhwc),
               InvalidArgumentError);
}

TEST(NnKernels, AddUpTheGradientOfAWideBias) {
  for (const std::int64_t rows : {1, 4, 6, 9}) {
    Tensor gradient(DType::Int32, {rows, 65});
    Tensor sums(DType::Int32, {65});
    for (std::size_t i = 0; i < gradient.data<std::int32_t>().size(); ++i) {
      gradient.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * i % 101);
      sums.mutable_data<std::int32_t>()[i % 65] += static_cast<std::int32_t>(i * i % 101);
    }
    EXPECT_EQ(run("BiasAddGrad", {gradient}, kNhwc), sums) << rows;
  }
}

TEST(NnKernels, AddABiasToTheSecondDimension) {
  const Attrs nchw{{"data_format", std::string("NCHW")}};
  const Tensor x = Tensor::of<std::int32_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2});
  EXPECT_EQ(run("BiasAdd", {x, Tensor::of<std::int32_t>({10, 20, 30})}, nchw),
            Tensor::of<std::int32_t>({11, 12, 23, 24, 35, 36, 17, 18, 29, 30, 41, 42}, {2, 3, 2}));
  EXPECT_EQ(run("BiasAddGrad", {x}, nchw), Tensor::of<std::int32_t>({18, 26, 34}));
  EXPECT_EQ(run("BiasAddGrad", {Tensor(DType::Float, {0, 2, 3})}, nchw), Tensor::of<float>({0, 0}));
  EXPECT_THROW(run("BiasAdd", {x, Tensor::of<std::int32_t>({10, 20})}, nchw), InvalidArgumentError);
  EXPECT_THROW(run("BiasAddGrad", {Tensor::of<float>({1, 2})}, nchw), InvalidArgumentError);
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

TEST(NnKernels, PassGradientsOnThatAreNanOrInfiniteEvenWhereNoneFlows) {
  const Tensor gradient = Tensor::of<float>({NAN, NAN, INFINITY, INFINITY, 1});
  const Tensor x = Tensor::of<float>({-1, 3, 3, -1, NAN});
  for (const std::string type : {"ReluGrad", "Relu6Grad"}) {
    const Tensor result = run(type, {gradient, x});
    const std::span<const float> found = result.data<float>();
    EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1])) << type;
    EXPECT_EQ(found[2], INFINITY) << type;
    EXPECT_TRUE(std::isnan(found[3])) << type;
    EXPECT_EQ(found[4], 0) << type;
  }
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

/// Values of all kinds, so many that they fill vectors and leave a rest.
template <class T>
Tensor values_of_all_kinds(std::int64_t size, std::int64_t start) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const T kinds[] = {0,     -1,        2.5, -3, 7,         std::numeric_limits<T>::quiet_NaN(), 6, -0.25,
                     0.125, kInfinity, -20, 30, -kInfinity};
  Tensor tensor(dtype_of<T>, Shape{size});
  for (T& value : tensor.overwrite_data<T>()) value = kinds[static_cast<std::size_t>(start++) % std::size(kinds)];
  return tensor;
}

template <class T>
void expect_function(const std::string& type, const Attrs& attrs, const std::vector<Tensor>& inputs,
                     const auto& function) {
  const Tensor result = run(type, inputs, attrs);
  const std::span<const T> actual = result.data<T>();
  const std::span<const T> x = inputs.front().data<T>();
  const std::span<const T> y = inputs.back().data<T>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T expected = function(x[i], y[i]);
    SCOPED_TRACE(fmt::format("{} of {} and {}, element {} of {}", type, x[i], y[i], i, x.size()));
    if (std::isfinite(expected)) {
      EXPECT_NEAR(actual[i], expected, 4e-6 * std::max(T{1}, std::abs(expected)));
    } else if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual[i])) << actual[i];
    } else {
      EXPECT_EQ(actual[i], expected);
    }
  }
}

template <class T>
void expect_activations_of_values_of_all_kinds() {
  for (std::int64_t size = 1; size < 70; size += 4) {
    const Tensor x = values_of_all_kinds<T>(size, size);
    const auto activates = [&](const std::string& type, const Attrs& attrs, T (*function)(T)) {
      expect_function<T>(type, attrs, {x}, [&](T value, T) { return function(value); });
    };
    activates("Relu", {}, [](T v) { return v < 0 ? T{0} : v; });
    activates("Relu6", {}, [](T v) { return v < 0 ? T{0} : v > 6 ? T{6} : v; });
    activates("LeakyRelu", {{"alpha", 0.5F}}, [](T v) { return v > 0 ? v : v * T{0.5}; });
    activates("Elu", {}, [](T v) { return v < 0 ? std::expm1(v) : v; });
    activates("Softplus", {}, [](T v) { return v > 0 ? v + std::log1p(std::exp(-v)) : std::log1p(std::exp(v)); });
    activates("Sigmoid", {}, [](T v) { return 1 / (1 + std::exp(-v)); });
    activates("Tanh", {}, [](T v) { return std::tanh(v); });

    const Tensor y = values_of_all_kinds<T>(size, size * size + 3);
    const auto gives = [&](const std::string& type, const Attrs& attrs, T (*function)(T, T)) {
      expect_function<T>(type, attrs, {x, y}, function);
    };
    gives("ReluGrad", {}, [](T gradient, T v) { return gradient * (v > 0 ? T{1} : T{0}); });
    gives("Relu6Grad", {}, [](T gradient, T v) { return gradient * (v > 0 && v < 6 ? T{1} : T{0}); });
    gives("LeakyReluGrad", {{"alpha", 0.5F}}, [](T gradient, T v) { return v > 0 ? gradient : gradient * T{0.5}; });
    gives("EluGrad", {}, [](T gradient, T result) { return result < 0 ? gradient * (result + 1) : gradient; });
    gives("SoftplusGrad", {}, [](T gradient, T v) { return gradient / (std::exp(-v) + 1); });
  }
}

TEST(NnKernels, ActivateFloatsOfAllKinds) { expect_activations_of_values_of_all_kinds<float>(); }
TEST(NnKernels, ActivateDoublesOfAllKinds) { expect_activations_of_values_of_all_kinds<double>(); }

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

TEST(NnKernels, NameALabelThatIsNotAClass) {
  try {
    test::run_op(kernels::nn(), "SparseSoftmaxCrossEntropyWithLogits",
                 {Tensor(DType::Float, Shape{1, 3}), Tensor::of<std::int64_t>({3})},
                 {{"T", DType::Float}, {"Tlabels", DType::Int64}}, std::vector{DType::Float, DType::Float});
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("label value of 3 which is outside the valid range of [0, 3)"),
              std::string::npos)
        << error.what();
  }
}

TEST(NnKernels, MeasureDenseCrossEntropy) {
  const Tensor logits = Tensor::of<float>({0, std::log(3.0F)}, {1, 2});
  const std::vector<Tensor> results =
      test::run_op(kernels::nn(), "SoftmaxCrossEntropyWithLogits", {logits, Tensor::of<float>({0.5F, 0.5F}, {1, 2})},
                   {{"T", DType::Float}}, std::vector{DType::Float, DType::Float});
  expect_near(results[0], {-0.5F * (std::log(0.25F) + std::log(0.75F))});
  expect_near(results[1], {-0.25F, 0.25F});
}

}  // namespace
}  // namespace trainhook
