// SPDX-License-Identifier: Apache-2.0
/// @file
/// Layers: ops together with the variables they need.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <trainhook/graph/conv_ops.hpp>
#include <trainhook/graph/initializers.hpp>
#include <trainhook/graph/nn_ops.hpp>

namespace trainhook {

struct DenseOptions {
  std::function<Output(Output)> activation{};  ///< for example `[](Output x) { return relu(x); }`; without one, linear
  bool use_bias = true;
  Initializer kernel_initializer{};            ///< without one: Glorot uniform
  Initializer bias_initializer{};              ///< without one: zeros
  bool trainable = true;
};

namespace detail {

/// What the layers share: a bias for each unit and the activation, as their options say.
template <class Options>
Output with_bias_and_activation(Output x, std::int64_t units, const Options& options) {
  if (options.use_bias) {
    const Initializer initializer = options.bias_initializer ? options.bias_initializer : zeros_initializer();
    x = bias_add(
        x, get_variable(x.graph(), "bias", {units}, {.dtype = x.dtype(), .initializer = initializer, .trainable = options.trainable}));
  }
  return options.activation ? options.activation(x) : x;
}

}  // namespace detail

/// A densely connected layer, `x * kernel + bias`, with the variables `name/kernel` and `name/bias`. `x` is [batch, features] with features
/// known. Source: `tf.compat.v1.layers.dense`.
inline Output dense(Output x, std::int64_t units, std::string_view name = "dense", const DenseOptions& options = {}) {
  detail::require_floating("dense", x);
  if (units <= 0) throw InvalidArgumentError("dense ", name, ": units must be positive, not ", units);
  const PartialShape& shape = x.shape();
  if (!shape.has_rank() || shape.rank() != 2 || shape[1] == kUnknownDim) {
    throw InvalidArgumentError("dense ", name, ": ", detail::spelled(x), " must be [batch, features] with a known number of features");
  }
  Graph& graph = x.graph();
  const Graph::Scope scope = graph.name_scope(name);
  const Variable kernel = get_variable(graph, "kernel", {shape[1], units},
                                       {.dtype = x.dtype(), .initializer = options.kernel_initializer, .trainable = options.trainable});
  return detail::with_bias_and_activation(matmul(x, kernel), units, options);
}

struct Conv2DLayerOptions {
  WindowSize strides{1, 1};
  Padding padding = Padding::Valid;
  std::function<Output(Output)> activation{};
  bool use_bias = true;
  Initializer kernel_initializer{};  ///< without one: Glorot uniform
  Initializer bias_initializer{};    ///< without one: zeros
  bool trainable = true;
};

/// A layer of `filters` convolutions with the variables `name/kernel` and `name/bias`. `x` is [batch, height, width, channels] with
/// channels known. Source: `tf.compat.v1.layers.conv2d`.
inline Output conv2d(Output x, std::int64_t filters, const WindowSize& kernel_size, std::string_view name = "conv2d",
                     const Conv2DLayerOptions& options = {}) {
  detail::require_floating("conv2d", x);
  detail::require_rank("conv2d", x, 4);
  detail::require_window("conv2d", "kernel_size", kernel_size);
  if (filters <= 0) throw InvalidArgumentError("conv2d ", name, ": filters must be positive, not ", filters);
  if (!x.shape().has_rank() || x.shape()[3] == kUnknownDim) {
    throw InvalidArgumentError("conv2d ", name, ": ", detail::spelled(x), " must have a known number of channels");
  }
  Graph& graph = x.graph();
  const Graph::Scope scope = graph.name_scope(name);
  const Variable kernel = get_variable(graph, "kernel", {kernel_size[0], kernel_size[1], x.shape()[3], filters},
                                       {.dtype = x.dtype(), .initializer = options.kernel_initializer, .trainable = options.trainable});
  const Output result = conv2d(x, kernel, {.strides = options.strides, .padding = options.padding});
  return detail::with_bias_and_activation(result, filters, options);
}

}  // namespace trainhook
