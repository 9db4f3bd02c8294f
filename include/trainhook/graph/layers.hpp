// SPDX-License-Identifier: Apache-2.0
/// @file
/// Layers: ops together with the variables they need.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/initializers.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/ops/conv.hpp>

namespace trainhook {

struct DenseOptions {
  std::function<Output(Output)> activation{};  ///< for example `[](Output x) { return relu(x); }`; without one, linear
  bool use_bias = true;
  Initializer kernel_initializer{};  ///< without one: Glorot uniform
  Initializer bias_initializer{};    ///< without one: zeros
  bool trainable = true;
};

/// A densely connected layer, `x * kernel + bias`, with the variables `name/kernel` and `name/bias`. `x` is [batch,
/// features] with features known. Source: `tf.compat.v1.layers.dense`.
TRAINHOOK_DECL Output dense(Output x, std::int64_t units, std::string_view name = "dense",
                            const DenseOptions& options = {});

struct Conv2DLayerOptions {
  WindowSize strides{1, 1};
  Padding padding = Padding::Valid;
  std::function<Output(Output)> activation{};
  bool use_bias = true;
  Initializer kernel_initializer{};  ///< without one: Glorot uniform
  Initializer bias_initializer{};    ///< without one: zeros
  bool trainable = true;
};

/// A layer of `filters` convolutions with the variables `name/kernel` and `name/bias`. `x` is [batch, height, width,
/// channels] with channels known. Source: `tf.compat.v1.layers.conv2d`.
TRAINHOOK_DECL Output conv2d(Output x, std::int64_t filters, const WindowSize& kernel_size,
                             std::string_view name = "conv2d", const Conv2DLayerOptions& options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/layers.ipp>
#endif
