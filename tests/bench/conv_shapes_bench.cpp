// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolutions of the shapes that networks have, and their gradients, with one thread each: EigenSession beside
/// TensorFlow.

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/ops/conv.hpp>

#include "record.hpp"

namespace {

namespace th = trainhook;

/// tensorflow_peers.py has the same shapes by the same names.
struct Case {
  std::string_view name;
  th::Shape image;
  th::Shape filter;
  th::Conv2DOptions options{};
  bool is_depthwise = false;
};

class Ours {
 public:
  explicit Ours(const Case& shapes)
      : image_(variable("image", shapes.image)),
        filter_(variable("filter", shapes.filter)),
        result_(shapes.is_depthwise ? th::depthwise_conv2d(image_, filter_, shapes.options)
                                    : th::conv2d(image_, filter_, shapes.options)),
        gradients_(
            th::gradients(result_, {image_, filter_}, {.grad_ys = {variable("gradient", result_.shape().known())}})),
        session_(graph_, {.num_threads = 1}) {
    session_.run(th::global_variables_initializer(graph_));
  }

  /// Of the convolution (0), or of the gradient of the image (1) or the filter (2).
  double milliseconds(std::size_t which) {
    const th::Fetch fetch = which == 0 ? result_.operation() : gradients_[which - 1].operation();
    return 1e3 * th::bench::seconds([&] { session_.execute({.fetches = {&fetch, 1}}, results_); });
  }

 private:
  th::Output variable(std::string_view name, const th::Shape& shape) {
    return th::get_variable(graph_, name, shape, {.initializer = th::random_uniform_initializer()});
  }

  th::Graph graph_;
  th::Output image_, filter_, result_;
  std::vector<th::Output> gradients_;
  th::EigenSession session_;
  std::array<th::Tensor, 1> results_;
};

void measure(const Case& shapes) {
  Ours ours(shapes);
  constexpr std::string_view kRows[] = {"", "_input", "_filter"};
  for (std::size_t which = 0; which < std::size(kRows); ++which) {
    const std::string name = "conv_" + std::string(shapes.name) + std::string(kRows[which]);
    th::bench::TensorFlow tensorflow(name);
    std::vector<double> times;
    for (int round = 0; round < 15; ++round) {
      times.push_back(ours.milliseconds(which));
      tensorflow.measure();
    }
    tensorflow.report({.name = name, .ours = th::bench::median(times), .unit = "ms", .goal = 1.5});
  }
}

}  // namespace

int main() {
  measure({"text", {64, 56, 128, 1}, {3, 128, 1, 128}, {.padding = th::Padding::Valid}});
  measure({"whole", {32, 14, 14, 64}, {14, 14, 64, 64}, {.padding = th::Padding::Valid}});
  measure({"whole_padded", {32, 14, 14, 8}, {14, 14, 8, 8}});
  measure({"3x3", {32, 28, 28, 64}, {3, 3, 64, 64}});
  measure({"1x1", {32, 14, 14, 256}, {1, 1, 256, 64}});
  measure({"strided", {32, 56, 56, 32}, {3, 3, 32, 64}, {.strides = {2, 2}}});
  measure({"stem", {16, 112, 112, 3}, {7, 7, 3, 64}, {.strides = {2, 2}}});
  measure({"dilated", {16, 28, 28, 64}, {3, 3, 64, 64}, {.dilations = {2, 2}}});
  measure({"depthwise", {32, 28, 28, 64}, {3, 3, 64, 1}, {}, true});
  measure({"depthwise_strided", {32, 28, 28, 64}, {3, 3, 64, 1}, {.strides = {2, 2}}, true});
  measure({"depthwise_twice", {32, 28, 28, 32}, {3, 3, 32, 2}, {}, true});
  return EXIT_SUCCESS;
}
