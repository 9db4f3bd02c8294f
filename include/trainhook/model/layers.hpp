// SPDX-License-Identifier: Apache-2.0
/// @file
/// Layers: ops together with the variables they need.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/ops/conv.hpp>

namespace trainhook {

struct DenseOptions {
  std::function<Output(Output)> activation{};  ///< for example `[](Output x) { return relu(x); }`; empty: none
  bool use_bias = true;
  Initializer kernel_initializer{};  ///< empty: Glorot uniform
  Initializer bias_initializer{};    ///< empty: zeros
  bool trainable = true;
};

/// A densely connected layer, `x * kernel + bias`, with the variables `name/kernel` and `name/bias`. `x` is [batch,
/// features]; the number of features must be known. Source: `tf.compat.v1.layers.dense`.
TRAINHOOK_DECL Output dense(Output x, std::int64_t units, std::string_view name = "dense",
                            const DenseOptions& options = {});

struct Conv2DLayerOptions {
  WindowSize strides{1, 1};
  Padding padding = Padding::Valid;
  std::function<Output(Output)> activation{};
  bool use_bias = true;
  Initializer kernel_initializer{};  ///< empty: Glorot uniform
  Initializer bias_initializer{};    ///< empty: zeros
  bool trainable = true;
};

/// A layer of `filters` convolutions with the variables `name/kernel` and `name/bias`. `x` is [batch, height, width,
/// channels]; the number of channels must be known. Source: `tf.compat.v1.layers.conv2d`.
TRAINHOOK_DECL Output conv2d(Output x, std::int64_t filters, const WindowSize& kernel_size,
                             std::string_view name = "conv2d", const Conv2DLayerOptions& options = {});

/// Reshapes `x` to [batch, product of the other dimensions]. Source: `tf.compat.v1.layers.flatten`.
/// @throws InvalidArgumentError if the rank, or more than one dimension after the first, is unknown.
TRAINHOOK_DECL Output flatten(Output x, std::string_view name = "flatten");

struct BatchNormalizationOptions {
  double momentum = 0.99;  ///< of the moving mean and variance
  double epsilon = 1e-3;   ///< added to the variance
  bool center = true;      ///< adds the variable `beta`
  bool scale = true;       ///< multiplies by the variable `gamma`
  bool training = false;   ///< normalizes by the batch's mean and variance and updates the moving ones
  bool trainable = true;
  Initializer beta_initializer{};             ///< empty: zeros
  Initializer gamma_initializer{};            ///< empty: ones
  Initializer moving_mean_initializer{};      ///< empty: zeros
  Initializer moving_variance_initializer{};  ///< empty: ones
};

/// Normalizes each channel, the last dimension of `x`, over a batch, with the variables `name/gamma`, `name/beta`,
/// `name/moving_mean` and `name/moving_variance`. In training, the operations in the collection `UPDATE_OPS` update the
/// moving mean and variance; let the training step depend on them: `const Graph::Scope after =
/// graph.control_dependencies(update_ops(graph));` before `minimize`. Float32 images use `fused_batch_norm`, whose
/// moving variance is the unbiased one. Source: `tf.compat.v1.layers.batch_normalization`.
/// @throws InvalidArgumentError if the rank or the number of channels is unknown.
TRAINHOOK_DECL Output batch_normalization(Output x, std::string_view name = "batch_normalization",
                                          const BatchNormalizationOptions& options = {});

/// The operations of the collection `UPDATE_OPS`. Source: `tf.compat.v1.get_collection(tf.GraphKeys.UPDATE_OPS)`.
[[nodiscard]] TRAINHOOK_DECL std::vector<Operation> update_ops(const Graph& graph);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/impl/layers.ipp>
#endif
