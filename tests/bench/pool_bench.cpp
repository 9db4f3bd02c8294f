// SPDX-License-Identifier: Apache-2.0
/// @file
/// Pooling and its gradients: our kernels, which keep a window's result in a register, beside plain arrays of Eigen.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/graph.hpp>

#include "../engine/kernels/plain_pooling.hpp"
#include "record.hpp"

namespace {

namespace th = trainhook;
using th::test::PlainPooling;

struct Case {
  std::int64_t extent;
  std::int64_t channels;
  std::int64_t size;
  std::int64_t stride;
};
constexpr std::int64_t kBatch = 32;
constexpr Case kCases[] = {{.extent = 28, .channels = 16, .size = 2, .stride = 2},
                           {.extent = 14, .channels = 64, .size = 2, .stride = 2},
                           {.extent = 27, .channels = 96, .size = 3, .stride = 2}};

th::Tensor random_tensor(const th::Shape& shape) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> element(-1, 1);
  th::Tensor tensor(th::DType::Float, shape);
  for (float& value : tensor.overwrite_data<float>()) value = element(random);
  return tensor;
}

/// The kernel of one op, called without a session.
class Op {
 public:
  Op(const std::string& type, const Case& shape, std::vector<th::Tensor> inputs) : inputs_(std::move(inputs)) {
    th::NodeSpec spec{.type = type,
                      .attrs = {{"T", th::DType::Float},
                                {"data_format", std::string("NHWC")},
                                {"ksize", std::vector<std::int64_t>{1, shape.size, shape.size, 1}},
                                {"padding", std::string("VALID")},
                                {"strides", std::vector<std::int64_t>{1, shape.stride, shape.stride, 1}}},
                      .outputs = {{th::DType::Float, {}}}};
    for (const th::Tensor& input : inputs_) {
      const th::DType dtype = input.dtype();
      spec.inputs.push_back(
          graph_.add({.type = "Placeholder", .attrs = {{"dtype", dtype}}, .outputs = {{dtype, {}}}}).output());
    }
    node_ = &graph_.add(std::move(spec)).node();
    const th::KernelGroup groups[] = {th::kernels::pool()};
    kernel_ = th::detail::KernelTable(groups).at(*node_).make(*node_);
  }

  const float* operator()() {
    std::vector<th::KernelContext::Input> inputs;
    for (const th::Tensor& input : inputs_) inputs.push_back({.value = &input});
    th::Tensor* const outputs[] = {&result_};
    th::KernelContext context(*node_, inputs, outputs, nullptr, scratch_, threads_);
    kernel_(context);
    return result_.data<float>().data();
  }

 private:
  th::Graph graph_;
  std::vector<th::Tensor> inputs_;
  const th::Node* node_ = nullptr;
  th::Kernel kernel_;
  th::Tensor result_, scratch_;
  th::detail::KernelThreads threads_{1};
};

/// Measures one row. @returns whether both give the same.
template <class Plain>
bool measure(const std::string& name, Op ours, const Plain& plain) {
  double least_ours = std::numeric_limits<double>::infinity();
  double least_plain = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 200; ++round) {  // by turns, so that other load on the machine meets both
    least_plain = std::min(least_plain, 1e6 * th::bench::seconds([&] { (void)plain(); }));
    least_ours = std::min(least_ours, 1e6 * th::bench::seconds([&] { (void)ours(); }));
  }
  th::bench::report({.name = name,
                     .ours = least_ours,
                     .peer = least_plain,
                     .peer_name = "plain arrays of Eigen",
                     .unit = "us",
                     .goal = 1 / 1.15});
  const PlainPooling::Array& expected = plain();
  const Eigen::Map<const PlainPooling::Array> result(ours(), expected.rows(), expected.cols());
  return (result - expected).abs().maxCoeff() < 1e-5F;
}

bool measure(const Case& shape) {
  const th::Tensor image = random_tensor({kBatch, shape.extent, shape.extent, shape.channels});
  PlainPooling plain({kBatch, shape.extent, shape.extent, shape.channels}, shape.size, shape.stride, false);
  const auto [batch, height, width, channels] = plain.result_shape();
  const th::Tensor gradient = random_tensor({batch, height, width, channels});
  const th::Tensor largest = th::Tensor::copy_of(
      std::span(plain.largest(image.data<float>().data()).data(), gradient.data<float>().size()), gradient.shape());
  th::Tensor image_shape(th::DType::Int32, {4});
  std::ranges::transform(image.shape().dims(), image_shape.overwrite_data<std::int32_t>().begin(),
                         [](std::int64_t dim) { return static_cast<std::int32_t>(dim); });

  const float* const pixels = image.data<float>().data();
  const float* const tops = largest.data<float>().data();
  const float* const gradients = gradient.data<float>().data();
  const std::string name =
      fmt::format("_{0}x{0}_by_{1}_of_{2}x{2}x{3}", shape.size, shape.stride, shape.extent, shape.channels);
  bool same =
      measure("pool_max" + name, Op("MaxPool", shape, {image}), [&]() -> const auto& { return plain.largest(pixels); });
  same &= measure("pool_max_grad" + name, Op("MaxPoolGrad", shape, {image, largest, gradient}),
                  [&]() -> const auto& { return plain.largest_gradient(pixels, tops, gradients); });
  same &=
      measure("pool_avg" + name, Op("AvgPool", shape, {image}), [&]() -> const auto& { return plain.mean(pixels); });
  same &= measure("pool_avg_grad" + name, Op("AvgPoolGrad", shape, {image_shape, gradient}),
                  [&]() -> const auto& { return plain.mean_gradient(gradients); });
  return same;
}

}  // namespace

int main() {
  return std::ranges::all_of(kCases, [](const Case& shape) { return measure(shape); }) ? EXIT_SUCCESS : EXIT_FAILURE;
}
