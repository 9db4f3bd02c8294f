// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution and its gradients: our kernels, which read windows from the image, beside plain products of Eigen over
/// windows that are written out.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/graph.hpp>

#include "../engine/kernels/plain_convolution.hpp"
#include "record.hpp"

namespace {

namespace th = trainhook;

th::Tensor random_tensor(const th::Shape& shape) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> element(-1, 1);
  th::Tensor tensor(th::DType::Float, shape);
  for (float& value : tensor.overwrite_data<float>()) value = element(random);
  return tensor;
}

th::Tensor sizes(const th::Shape& shape) {
  th::Tensor result(th::DType::Int32, {static_cast<std::int64_t>(shape.rank())});
  std::ranges::transform(shape.dims(), result.overwrite_data<std::int32_t>().begin(),
                         [](std::int64_t dim) { return static_cast<std::int32_t>(dim); });
  return result;
}

/// The kernel of one op, called without a session.
class Op {
 public:
  Op(const std::string& type, std::vector<th::Tensor> inputs) : inputs_(std::move(inputs)) {
    th::NodeSpec spec{.type = type,
                      .attrs = {{"T", th::DType::Float},
                                {"data_format", std::string("NHWC")},
                                {"dilations", std::vector<std::int64_t>{1, 1, 1, 1}},
                                {"padding", std::string("SAME")},
                                {"strides", std::vector<std::int64_t>{1, 1, 1, 1}}},
                      .outputs = {{th::DType::Float, {}}}};
    for (const th::Tensor& input : inputs_) {
      const th::DType dtype = input.dtype();
      spec.inputs.push_back(
          graph_.add({.type = "Placeholder", .attrs = {{"dtype", dtype}}, .outputs = {{dtype, {}}}}).output());
    }
    node_ = &graph_.add(std::move(spec)).node();
    const th::KernelGroup groups[] = {th::kernels::conv()};
    kernel_ = th::detail::KernelTable(groups).at(*node_).make(*node_);
  }

  void run() {
    std::vector<th::KernelContext::Input> inputs;
    for (const th::Tensor& input : inputs_) inputs.push_back({.value = &input});
    th::Tensor* const outputs[] = {&result_};
    th::KernelContext context(*node_, inputs, outputs, nullptr, scratch_, threads_);
    kernel_(context);
  }

 private:
  std::vector<th::Tensor> inputs_;
  th::Graph graph_;
  const th::Node* node_ = nullptr;
  th::Kernel kernel_;
  th::Tensor result_, scratch_;
  th::detail::KernelThreads threads_{1};
};

/// The least time of several rounds by turns, in milliseconds: other programs only ever add to it.
template <class Ours, class Plain>
void measure(const std::string& name, const Ours& ours, const Plain& plain) {
  double our_time = std::numeric_limits<double>::infinity();
  double plain_time = our_time;
  for (int round = 0; round < 20; ++round) {
    plain_time = std::min(plain_time, th::bench::seconds(plain) * 1e3);
    our_time = std::min(our_time, th::bench::seconds(ours) * 1e3);
  }
  th::bench::report({.name = name,
                     .ours = our_time,
                     .peer = plain_time,
                     .peer_name = "Eigen's product",
                     .unit = "ms",
                     .goal = 1 / 1.15});
}

void measure_convolution(const std::string& name, const th::Shape& image_shape, const th::Shape& filter_shape) {
  const th::Tensor image = random_tensor(image_shape);
  const th::Tensor filter = random_tensor(filter_shape);
  const th::Tensor gradient = random_tensor({image_shape[0], image_shape[1], image_shape[2], filter_shape[3]});
  const auto from = [](const th::Tensor& tensor) { return tensor.data<float>().data(); };
  th::test::PlainConvolution plain({image_shape[0], image_shape[1], image_shape[2], image_shape[3]},
                                   {filter_shape[0], filter_shape[1], filter_shape[2], filter_shape[3]}, 1);
  Op forward("Conv2D", {image, filter});
  Op filter_gradient("Conv2DBackpropFilter", {image, sizes(filter_shape), gradient});
  Op image_gradient("Conv2DBackpropInput", {sizes(image_shape), filter, gradient});
  measure(
      name, [&] { forward.run(); }, [&] { plain.forward(from(image), from(filter)); });
  measure(
      name + "_filter", [&] { filter_gradient.run(); }, [&] { plain.filter_gradient(from(image), from(gradient)); });
  measure(
      name + "_image", [&] { image_gradient.run(); }, [&] { plain.image_gradient(from(filter), from(gradient)); });
}

}  // namespace

int main() {
  Eigen::setNbThreads(1);
  measure_convolution("product_conv_28x28x1", {32, 28, 28, 1}, {5, 5, 1, 32});
  measure_convolution("product_conv_14x14x32", {32, 14, 14, 32}, {5, 5, 32, 64});
  measure_convolution("product_conv_14x14x64", {32, 14, 14, 64}, {3, 3, 64, 64});
  return EXIT_SUCCESS;
}
