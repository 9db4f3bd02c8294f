// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/layers.hpp>

#include <cstddef>
#include <numeric>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/ops/nn.hpp>
#include <trainhook/model/ops/normalization.hpp>

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

/// The variables of a batch normalization; gamma and beta may be missing.
struct NormalizationVariables {
  Output gamma{};
  Output beta{};
  Variable moving_mean{};
  Variable moving_variance{};
};

inline NormalizationVariables normalization_variables(const Output& x, std::int64_t channels,
                                                      const BatchNormalizationOptions& options) {
  const auto variable = [&](std::string_view name, const Initializer& given, const Initializer& usual, bool trainable) {
    return get_variable(x.graph(), name, {channels},
                        {.dtype = x.dtype(), .initializer = given ? given : usual, .trainable = trainable});
  };
  NormalizationVariables result;
  if (options.scale) result.gamma = variable("gamma", options.gamma_initializer, ones_initializer(), options.trainable);
  if (options.center) result.beta = variable("beta", options.beta_initializer, zeros_initializer(), options.trainable);
  result.moving_mean = variable("moving_mean", options.moving_mean_initializer, zeros_initializer(), false);
  result.moving_variance = variable("moving_variance", options.moving_variance_initializer, ones_initializer(), false);
  return result;
}

/// Moves a moving mean towards `value`, when the collection UPDATE_OPS runs.
inline void add_update(const Variable& moving, const Output& value, double momentum) {
  const Output step = multiply(subtract(moving.read, value), 1 - momentum);
  const Output update = assign_sub(moving, step, "AssignMovingAvg");
  value.graph().add_to_collection(graph_keys::kUpdateOps, update.operation());
}

/// Images, by one op.
inline Output fused_normalization(const Output& x, std::int64_t channels, const NormalizationVariables& with,
                                  const BatchNormalizationOptions& options) {
  Graph& graph = x.graph();
  const Output gamma = with.gamma.has_value() ? with.gamma : ones(graph, {channels}, x.dtype());
  const Output beta = with.beta.has_value() ? with.beta : zeros(graph, {channels}, x.dtype());
  const auto none = [&] { return zeros(graph, {0}, x.dtype(), "Const"); };
  const FusedBatchNorm norm = fused_batch_norm(
      x, gamma, beta, options.training ? none() : with.moving_mean, options.training ? none() : with.moving_variance,
      {.epsilon = static_cast<float>(options.epsilon), .is_training = options.training});
  if (options.training) {
    add_update(with.moving_mean, norm.batch_mean, options.momentum);
    add_update(with.moving_variance, norm.batch_variance, options.momentum);
  }
  return norm.y;
}

inline Output plain_normalization(const Output& x, const NormalizationVariables& with,
                                  const BatchNormalizationOptions& options) {
  Output mean = with.moving_mean;
  Output variance = with.moving_variance;
  if (options.training) {
    std::vector<std::int64_t> axes(x.shape().rank() - 1);
    std::iota(axes.begin(), axes.end(), 0);
    mean = reduce_mean(x, {.axis = axes}, "mean");
    variance = reduce_mean(squared_difference(x, stop_gradient(mean)), {.axis = axes}, "variance");
    add_update(with.moving_mean, mean, options.momentum);
    add_update(with.moving_variance, variance, options.momentum);
  }
  Output factor = rsqrt(add(variance, options.epsilon));
  if (with.gamma.has_value()) factor = multiply(factor, with.gamma);
  const Output shift = multiply(mean, factor);
  return add(multiply(x, factor), with.beta.has_value() ? subtract(with.beta, shift) : negative(shift));
}

}  // namespace trainhook::detail

namespace trainhook {

Output dense(Output x, std::int64_t units, std::string_view name, const DenseOptions& options) {
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

Output conv2d(Output x, std::int64_t filters, const WindowSize& kernel_size, std::string_view name,
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

Output flatten(Output x, std::string_view name) {
  detail::graph_of("flatten", x);
  const PartialShape& shape = x.shape();
  if (!shape.has_rank() || shape.rank() == 0)
    throw InvalidArgumentError("flatten {}: {} must have a batch as its first dimension", name, x);
  std::int64_t rest = 1;
  for (std::size_t i = 1; i < shape.rank(); ++i)
    rest = rest == kUnknownDim || shape[i] == kUnknownDim ? kUnknownDim : rest * shape[i];
  if (rest == kUnknownDim && shape[0] == kUnknownDim)
    throw InvalidArgumentError("flatten {}: {} must have a known batch, or known dimensions besides it", name, x);
  const Graph::Scope scope = x.graph().name_scope(name);
  return reshape(x, {rest == kUnknownDim ? shape[0] : -1, rest});
}

Output batch_normalization(Output x, std::string_view name, const BatchNormalizationOptions& options) {
  detail::require_floating("batch_normalization", x);
  const PartialShape& shape = x.shape();
  if (!shape.has_rank() || shape.rank() < 2 || shape[shape.rank() - 1] == kUnknownDim) {
    throw InvalidArgumentError("batch_normalization {}: {} must be of rank 2 or more, with a known number of channels",
                               name, x);
  }
  const std::int64_t channels = shape[shape.rank() - 1];
  const Graph::Scope scope = x.graph().name_scope(name);
  const detail::NormalizationVariables variables = detail::normalization_variables(x, channels, options);
  const bool is_fused = shape.rank() == 4 && x.dtype() == DType::Float;
  return is_fused ? detail::fused_normalization(x, channels, variables, options)
                  : detail::plain_normalization(x, variables, options);
}

std::vector<Operation> update_ops(const Graph& graph) {
  std::vector<Operation> operations = graph.collection<Operation>(graph_keys::kUpdateOps);
  for (const Output& output : graph.collection<Output>(graph_keys::kUpdateOps))
    operations.push_back(output.operation());
  return operations;
}

}  // namespace trainhook
