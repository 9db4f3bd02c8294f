// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of layers.hpp.
#pragma once

#include <trainhook/graph/layers.hpp>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/matrix.hpp>
#include <trainhook/graph/ops/nn.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

/// What the layers share: a bias for each unit and the activation, as their options say.
template <class Options>
Output with_bias_and_activation(Output x, std::int64_t units, const Options& options) {
  if (options.use_bias) {
    const Initializer initializer = options.bias_initializer ? options.bias_initializer : zeros_initializer();
    x = bias_add(x, get_variable(x.graph(), "bias", {units},
                                 {.dtype = x.dtype(), .initializer = initializer, .trainable = options.trainable}));
  }
  return options.activation ? options.activation(x) : x;
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output dense(Output x, std::int64_t units, std::string_view name, const DenseOptions& options) {
  detail::require_floating("dense", x);
  if (units <= 0) throw InvalidArgumentError("dense {}: units must be positive, not {}", name, units);
  const PartialShape& shape = x.shape();
  if (!shape.has_rank() || shape.rank() != 2 || shape[1] == kUnknownDim) {
    throw InvalidArgumentError("dense {}: {} must be [batch, features] with a known number of features", name, x);
  }
  Graph& graph = x.graph();
  const Graph::Scope scope = graph.name_scope(name);
  const Variable kernel =
      get_variable(graph, "kernel", {shape[1], units},
                   {.dtype = x.dtype(), .initializer = options.kernel_initializer, .trainable = options.trainable});
  return detail::with_bias_and_activation(matmul(x, kernel), units, options);
}

TRAINHOOK_DECL Output conv2d(Output x, std::int64_t filters, const WindowSize& kernel_size, std::string_view name,
                             const Conv2DLayerOptions& options) {
  detail::require_floating("conv2d", x);
  detail::require_rank("conv2d", x, 4);
  if (kernel_size[0] < 1 || kernel_size[1] < 1) {
    throw InvalidArgumentError("conv2d {}: kernel_size [{},{}] must be positive", name, kernel_size[0], kernel_size[1]);
  }
  if (filters <= 0) throw InvalidArgumentError("conv2d {}: filters must be positive, not {}", name, filters);
  if (!x.shape().has_rank() || x.shape()[3] == kUnknownDim) {
    throw InvalidArgumentError("conv2d {}: {} must have a known number of channels", name, x);
  }
  Graph& graph = x.graph();
  const Graph::Scope scope = graph.name_scope(name);
  const Variable kernel =
      get_variable(graph, "kernel", {kernel_size[0], kernel_size[1], x.shape()[3], filters},
                   {.dtype = x.dtype(), .initializer = options.kernel_initializer, .trainable = options.trainable});
  const Output result = conv2d(x, kernel, {.strides = options.strides, .padding = options.padding});
  return detail::with_bias_and_activation(result, filters, options);
}

}  // namespace trainhook
