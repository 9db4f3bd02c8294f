// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests that kernels compute the same bits on any number of threads.
#include <trainhook/engine/kernels/blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

#include "run_op.hpp"

namespace trainhook {
namespace {

constexpr std::int64_t kMany = 3 * detail::kBlockCost + 77;  // elements; not as many as fill blocks or vectors

/// Numbers that are not round, from -1 to 1, or 1 to 9 for integers.
template <class T>
Tensor numbers(const Shape& shape) {
  Tensor tensor(dtype_of<T>, shape);
  std::uint32_t state = 1;
  for (T& element : tensor.overwrite_data<T>()) {
    state = state * 1664525 + 1013904223;
    if constexpr (std::is_floating_point_v<T>) {
      element = static_cast<T>(static_cast<std::int32_t>(state)) / static_cast<T>(1U << 31U);
    } else {
      element = static_cast<T>((state >> 16U) % 9 + 1);
    }
  }
  return tensor;
}
Tensor floats(const Shape& shape) { return numbers<float>(shape); }
Tensor positive(const Shape& shape) {
  Tensor tensor = floats(shape);
  for (float& element : tensor.mutable_data<float>()) element = element * element + 0.1F;
  return tensor;
}
Tensor bools(const Shape& shape) {
  Tensor tensor(DType::Bool, shape);
  std::ranges::transform(floats(shape).data<float>(), tensor.overwrite_data<bool>().begin(),
                         [](float x) { return x > 0; });
  return tensor;
}
Tensor ints(std::initializer_list<std::int32_t> values) { return Tensor::of<std::int32_t>(values); }

/// Whether `compute(num_threads)` returns the same tensors for any number of threads.
template <class Compute>
void expect_same_bits(const std::string& what, const Compute& compute) {
  const std::vector<Tensor> expected = compute(1U);
  for (const std::size_t num_threads : {2U, 3U, 8U}) {
    const std::vector<Tensor> found = compute(num_threads);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].shape(), expected[i].shape()) << what;
      EXPECT_EQ(std::memcmp(found[i].bytes().data(), expected[i].bytes().data(), found[i].byte_size()), 0)
          << what << " on " << num_threads << " threads";
    }
  }
}

/// The same for an op. It gets the attribute T from its first input.
void expect_same_bits(KernelGroup group, const std::string& type, const std::vector<Tensor>& inputs, Attrs attrs,
                      const std::vector<DType>& outputs) {
  attrs.emplace("T", inputs[0].dtype());
  expect_same_bits(
      type, [&](std::size_t num_threads) { return test::run_op(group, type, inputs, attrs, outputs, num_threads); });
}
void expect_same_bits(KernelGroup group, const std::string& type, const std::vector<Tensor>& inputs, Attrs attrs = {}) {
  expect_same_bits(group, type, inputs, std::move(attrs), std::vector{inputs[0].dtype()});
}

const Attrs kNhwc{{"data_format", std::string("NHWC")}};

TEST(Blocks, OfElementsGiveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = floats({kMany});
  const Tensor y = positive({kMany});
  for (const char* type : {"Abs", "Neg", "Sign", "Square", "Exp", "Floor", "Sin", "Cos", "Erf"})
    expect_same_bits(kernels::math(), type, {x});
  for (const char* type : {"Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal"}) expect_same_bits(kernels::math(), type, {y});
  for (const char* type : {"Add", "AddV2", "Sub", "Mul", "RealDiv", "DivNoNan", "FloorDiv", "FloorMod", "Pow",
                           "SquaredDifference", "Maximum", "Minimum", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"})
    expect_same_bits(kernels::math(), type, {y, x});
  expect_same_bits(kernels::math(), "AddN", {x, y, x});
  expect_same_bits(kernels::math(), "AddV2", {numbers<std::int64_t>({kMany}), numbers<std::int64_t>({kMany})});
  for (const char* type : {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"})
    expect_same_bits(kernels::math(), type, {x, y}, {}, {DType::Bool});
  for (const char* type : {"IsFinite", "IsNan", "IsInf"})
    expect_same_bits(kernels::math(), type, {x}, {}, {DType::Bool});
  for (const char* type : {"LogicalAnd", "LogicalOr"})
    expect_same_bits(kernels::math(), type, {bools({kMany}), bools({kMany})});
  expect_same_bits(kernels::math(), "LogicalNot", {bools({kMany})});
}

TEST(Blocks, OfFunctionsGiveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = floats({kMany});
  for (const char* type : {"Acos", "Asin", "Atan", "Ceil", "Cosh", "Expm1", "Rint", "Selu", "Sinh", "Softsign", "Tan"})
    expect_same_bits(kernels::special(), type, {x});
  for (const char* type : {"SeluGrad", "SoftsignGrad"}) expect_same_bits(kernels::special(), type, {x, x});
}

TEST(Blocks, OfImagesGiveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor images = floats({5, 61, 67, 7});
  const Tensor large = floats({5, 122, 100, 7});
  const Attrs attrs{{"align_corners", false}, {"half_pixel_centers", true}};
  for (const char* type : {"ResizeBilinear", "ResizeNearestNeighbor"})
    expect_same_bits(kernels::resize(), type, {images, ints({122, 100})}, attrs);
  expect_same_bits(kernels::resize(), "ResizeBilinearGrad", {large, images}, attrs);
  expect_same_bits(kernels::resize(), "ResizeNearestNeighborGrad", {large, ints({61, 67})}, attrs);
}

TEST(Blocks, OfBroadcastElementsGiveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = floats({kMany});
  expect_same_bits(kernels::math(), "Mul", {x, Tensor(0.3F)});
  expect_same_bits(kernels::math(), "Sub", {Tensor(0.3F), x});
  expect_same_bits(kernels::math(), "Add", {floats({1501, 131}), floats({131})});
  expect_same_bits(kernels::math(), "Mul", {floats({1501, 1}), floats({1, 131})});
  expect_same_bits(kernels::math(), "Sub", {floats({131}), floats({7, 211, 131})});
}

TEST(Blocks, OfActivationsGiveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = floats({kMany});
  for (const char* type : {"Relu", "Relu6", "Sigmoid", "Tanh", "Elu", "Softplus"})
    expect_same_bits(kernels::nn(), type, {x});
  for (const char* type : {"ReluGrad", "Relu6Grad", "SigmoidGrad", "TanhGrad", "EluGrad", "SoftplusGrad"})
    expect_same_bits(kernels::nn(), type, {x, positive({kMany})});
  expect_same_bits(kernels::nn(), "LeakyRelu", {x}, {{"alpha", 0.2F}});
  expect_same_bits(kernels::nn(), "LeakyReluGrad", {x, positive({kMany})}, {{"alpha", 0.2F}});
  for (const std::int64_t columns : {7, 1003, 70001}) {
    const Tensor rows = floats({kMany / columns + 2, columns});
    expect_same_bits(kernels::nn(), "BiasAdd", {rows, floats({columns})}, kNhwc);
    expect_same_bits(kernels::nn(), "BiasAddGrad", {rows}, kNhwc);
  }
}

TEST(Blocks, OfRowsOfClassesGiveTheSameBitsOnAnyNumberOfThreads) {
  for (const std::int64_t columns : {9, 1003}) {
    const Shape shape{kMany / columns, columns};
    const Tensor logits = floats(shape);
    expect_same_bits(kernels::nn(), "Softmax", {logits});
    expect_same_bits(kernels::nn(), "LogSoftmax", {logits});
    const std::vector<DType> loss_and_gradient(2, DType::Float);
    expect_same_bits(kernels::nn(), "SoftmaxCrossEntropyWithLogits", {logits, positive(shape)}, {}, loss_and_gradient);
    Tensor labels = numbers<std::int32_t>({shape[0]});
    for (std::int32_t& label : labels.mutable_data<std::int32_t>()) --label;
    expect_same_bits(kernels::nn(), "SparseSoftmaxCrossEntropyWithLogits", {logits, labels},
                     {{"Tlabels", DType::Int32}}, loss_and_gradient);
  }
}

TEST(Blocks, OfReductionsGiveTheSameBitsOnAnyNumberOfThreads) {
  const Attrs attrs{{"Tidx", DType::Int32}, {"keep_dims", false}};
  const Tensor cube = floats({37, 53, 101});
  for (const Tensor& axes : {ints({0, 1, 2}), ints({0}), ints({1}), ints({2}), ints({0, 2}), ints({0, 1})}) {
    for (const char* type : {"Sum", "Mean", "Max", "Min", "Prod"})
      expect_same_bits(kernels::reduction(), type, {cube, axes}, attrs);
    for (const char* type : {"All", "Any"})
      expect_same_bits(kernels::reduction(), type, {bools({37, 53, 101}), axes}, attrs);
    expect_same_bits(kernels::reduction(), "Mean", {numbers<std::int32_t>({37, 53, 101}), axes}, attrs);
  }
  for (const std::int32_t axis : {0, 1, 2}) {
    for (const char* type : {"Cumsum", "Cumprod"})
      expect_same_bits(kernels::reduction(), type, {cube, Tensor(axis)}, {{"exclusive", false}, {"reverse", true}});
    for (const char* type : {"ArgMax", "ArgMin"})
      expect_same_bits(kernels::reduction(), type, {cube, Tensor(axis)}, {{"output_type", DType::Int64}},
                       {DType::Int64});
  }
  expect_same_bits(kernels::reduction(), "L2Loss", {floats({kMany})});
}

TEST(Blocks, OfCopiesAreAllCopiedOnAnyNumberOfThreads) {
  const Tensor cube = floats({37, 53, 101});
  expect_same_bits(kernels::movement(), "Transpose", {cube, ints({2, 0, 1})});
  expect_same_bits(kernels::movement(), "Transpose", {floats({463, 431}), ints({1, 0})});
  expect_same_bits(kernels::movement(), "ReverseV2", {cube, ints({0, 2})});
  expect_same_bits(kernels::movement(), "Slice", {cube, ints({1, 2, 3}), ints({35, 50, 98})});
  expect_same_bits(kernels::movement(), "ConcatV2", {cube, cube, Tensor(1)}, {{"N", std::int64_t{2}}});
  expect_same_bits(kernels::movement(), "Tile", {floats({53, 101}), ints({37, 2})});
  expect_same_bits(kernels::selection(), "GatherV2", {floats({50, 101}), numbers<std::int32_t>({3001}), Tensor(0)},
                   {{"Tindices", DType::Int32}, {"batch_dims", std::int64_t{0}}});
  expect_same_bits(kernels::selection(), "SelectV2", {bools({kMany}), floats({kMany}), Tensor(0.5F)}, {},
                   {DType::Float});
  expect_same_bits(kernels::selection(), "SelectV2", {bools({1501, 1}), floats({1501, 131}), floats({131})}, {},
                   {DType::Float});
  for (const Tensor& condition : {bools({1501, 131}), bools({1501})})
    expect_same_bits(kernels::selection(), "Select", {condition, floats({1501, 131}), positive({1501, 131})}, {},
                     {DType::Float});
  expect_same_bits(kernels::array(), "Cast", {floats({kMany})}, {{"SrcT", DType::Float}, {"DstT", DType::Double}},
                   {DType::Double});
}

TEST(Blocks, OfProductsGiveTheSameBitsOnAnyNumberOfThreads) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const Tensor a = floats(transpose_a ? Shape{131, 257} : Shape{257, 131});
      const Tensor b = floats(transpose_b ? Shape{149, 131} : Shape{131, 149});
      expect_same_bits(kernels::matmul(), "MatMul", {a, b},
                       {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
      const Tensor batch_a = floats(transpose_a ? Shape{5, 67, 71} : Shape{5, 71, 67});
      const Tensor batch_b = floats(transpose_b ? Shape{5, 73, 67} : Shape{5, 67, 73});
      expect_same_bits(kernels::matmul(), "BatchMatMulV2", {batch_a, batch_b},
                       {{"adj_x", transpose_a}, {"adj_y", transpose_b}});
    }
  }
}

Attrs window(const std::string& padding, std::int64_t stride, std::int64_t dilation = 1) {
  return {{"T", DType::Float},
          {"data_format", std::string("NHWC")},
          {"dilations", std::vector<std::int64_t>{1, dilation, dilation, 1}},
          {"padding", padding},
          {"strides", std::vector<std::int64_t>{1, stride, stride, 1}}};
}

Tensor sizes(const Shape& shape) {
  return ints({static_cast<std::int32_t>(shape[0]), static_cast<std::int32_t>(shape[1]),
               static_cast<std::int32_t>(shape[2]), static_cast<std::int32_t>(shape[3])});
}

/// A convolution and its gradients. The images' gradient has the shape `result` of the convolution.
void expect_same_convolution(KernelGroup group, const std::string& type, const std::string& prefix, const Shape& image,
                             const Shape& filter, const Shape& result, const Attrs& attrs) {
  expect_same_bits(group, type, {floats(image), floats(filter)}, attrs);
  expect_same_bits(group, prefix + "BackpropFilter", {floats(image), sizes(filter), floats(result)}, attrs);
  expect_same_bits(group, prefix + "BackpropInput", {sizes(image), floats(filter), floats(result)}, attrs,
                   {DType::Float});
}

TEST(Blocks, OfConvolutionsGiveTheSameBitsOnAnyNumberOfThreads) {
  const auto conv = [](const Shape& image, const Shape& filter, const Shape& result, const Attrs& attrs) {
    expect_same_convolution(kernels::conv(), "Conv2D", "Conv2D", image, filter, result, attrs);
  };
  conv({17, 24, 23, 3}, {3, 3, 3, 21}, {17, 24, 23, 21}, window("SAME", 1));
  conv({17, 24, 23, 3}, {3, 3, 3, 21}, {17, 11, 11, 21}, window("VALID", 2));
  conv({9, 24, 23, 3}, {3, 3, 3, 21}, {9, 24, 23, 21}, window("SAME", 1, 2));
  conv({5, 8, 8, 5}, {3, 3, 5, 323}, {5, 8, 8, 323}, window("SAME", 1));
  conv({5, 16, 16, 8}, {1, 1, 8, 323}, {5, 16, 16, 323}, window("VALID", 1));
  conv({40, 30, 32, 1}, {3, 32, 1, 24}, {40, 28, 1, 24}, window("VALID", 1));
  conv({60, 14, 14, 4}, {14, 14, 4, 32}, {60, 1, 1, 32}, window("VALID", 1));
}

TEST(Blocks, OfDepthwiseConvolutionsGiveTheSameBitsOnAnyNumberOfThreads) {
  expect_same_convolution(kernels::depthwise(), "DepthwiseConv2dNative", "DepthwiseConv2dNative", {17, 13, 12, 19},
                          {3, 3, 19, 2}, {17, 13, 12, 38}, window("SAME", 1));
}

TEST(Blocks, OfPoolsGiveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor image = floats({17, 24, 23, 21});
  for (const std::int64_t size : {2, 3}) {
    Attrs attrs = window("SAME", 2);
    attrs.emplace("ksize", std::vector<std::int64_t>{1, size, size, 1});
    const Tensor gradient = floats({17, 12, 12, 21});
    for (const char* type : {"MaxPool", "AvgPool"}) expect_same_bits(kernels::pool(), type, {image}, attrs);
    const Tensor largest = test::run_op(kernels::pool(), "MaxPool", {image}, attrs, DType::Float);
    expect_same_bits(kernels::pool(), "MaxPoolGrad", {image, largest, gradient}, attrs);
    expect_same_bits(kernels::pool(), "AvgPoolGrad", {sizes(image.shape()), gradient}, attrs, {DType::Float});
  }
}

TEST(Blocks, OfNormalizationsGiveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor image = floats({17, 24, 23, 21});
  const Tensor channels = positive({21});
  for (const bool is_training : {false, true}) {
    Attrs attrs = kNhwc;
    attrs.insert({{"U", DType::Float}, {"epsilon", 0.001F}, {"is_training", is_training}});
    expect_same_bits(kernels::normalization(), "FusedBatchNormV3", {image, channels, channels, channels, channels},
                     attrs, std::vector<DType>(6, DType::Float));
    expect_same_bits(kernels::normalization(), "FusedBatchNormGradV3",
                     {image, image, channels, channels, channels, channels}, attrs,
                     std::vector<DType>(5, DType::Float));
  }
}

/// Applies an optimizer op to `variables` variables. The gradient is among `inputs`, the other inputs of the op.
void expect_same_update(const std::string& type, std::size_t variables, const std::vector<Tensor>& inputs,
                        const Attrs& attrs) {
  expect_same_bits(type, [&](std::size_t num_threads) {
    Graph graph;
    NodeSpec spec{.type = type, .name = "update", .attrs = attrs, .outputs = {{DType::Float, Shape{kMany}}}};
    spec.attrs.emplace("T", DType::Float);
    std::vector<Variable> made;
    for (std::size_t i = 0; i < variables; ++i) {
      made.push_back(make_variable("v", constant(graph, positive({kMany}))));
      spec.inputs.push_back(made.back().ref());
    }
    for (const Tensor& input : inputs) spec.inputs.push_back(constant(graph, input));
    const Operation update = graph.add(std::move(spec));
    GraphSession session(graph, {.kernels = {kernels::training(), kernels::state()}, .num_threads = num_threads});
    for (const Variable& variable : made) session.run(variable.initializer);
    session.run(update);
    std::vector<Tensor> results;
    for (const Variable& variable : made) results.push_back(session.run(variable));
    return results;
  });
}

TEST(Blocks, OfVariablesGiveTheSameBitsOnAnyNumberOfThreads) {
  const Tensor gradient = floats({kMany});
  const Tensor number(0.3F);
  expect_same_update("ApplyGradientDescent", 1, {number, gradient}, {});
  expect_same_update("ApplyMomentum", 2, {number, gradient, number}, {{"use_nesterov", true}});
  expect_same_update("ApplyAdam", 3, {number, number, number, number, number, number, gradient},
                     {{"use_nesterov", false}});
  expect_same_update("ApplyAdagrad", 2, {number, gradient}, {{"update_slots", true}});
  expect_same_update("ApplyRMSProp", 3, {number, number, number, number, gradient}, {});
  expect_same_update("ApplyCenteredRMSProp", 4, {number, number, number, Tensor(2.0F), gradient}, {});
}

}  // namespace
}  // namespace trainhook
