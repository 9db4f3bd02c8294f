// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops of neural networks: bias, activations, softmax, cross entropies.
#pragma once

#include <string>
#include <string_view>

#include <trainhook/graph/control_flow_ops.hpp>
#include <trainhook/graph/matrix_ops.hpp>
#include <trainhook/graph/slice_ops.hpp>

namespace trainhook {
namespace detail {

inline Output activation(std::string_view type, const Output& x, std::string_view name) {
  require_floating(type, x);
  return unary_op(type, x, name);
}

inline Output softmax_op(std::string_view type, const Output& logits, std::string_view name) {
  require_floating(type, logits);
  if (logits.shape().has_rank() && logits.shape().rank() == 0) {
    throw InvalidArgumentError(type, ": ", spelled(logits), " must not be a scalar");
  }
  return unary_op(type, logits, name);
}

inline Output cross_entropy_node(std::string_view type, const Output& logits, const Output& labels, Attrs attrs, std::string_view name) {
  require_rank(type, logits, 2);
  const PartialShape shape = logits.shape().has_rank() ? logits.shape() : unknown_of_rank(2);
  std::int64_t batch = shape[0];
  if (batch == kUnknownDim && labels.shape().has_rank()) batch = labels.shape()[0];
  NodeSpec spec{.type = std::string(type), .name = std::string(name), .inputs = {logits, labels}, .attrs = std::move(attrs)};
  spec.outputs = {{logits.dtype(), PartialShape{batch}}, {logits.dtype(), PartialShape{batch, shape[1]}}};
  return logits.graph().add(std::move(spec)).output(0);
}

}  // namespace detail

/// Adds a vector to the last dimension. Source: `tf.nn.bias_add`, data format NHWC.
inline Output bias_add(Output value, Output bias, std::string_view name = {}) {
  detail::require_numeric("BiasAdd", value);
  detail::require_same_dtype("BiasAdd", value, bias);
  detail::require_rank("BiasAdd", bias, 1);
  if (value.shape().has_rank()) {
    const std::size_t rank = value.shape().rank();
    const bool fits = rank >= 2 && (!bias.shape().has_rank() || detail::may_equal(value.shape()[rank - 1], bias.shape()[0]));
    if (!fits) {
      throw InvalidArgumentError("BiasAdd: ", detail::spelled(bias), " does not fit the last dimension of ", detail::spelled(value));
    }
  }
  return detail::add_op(value.graph(), "BiasAdd", name, {value, bias}, {{"T", value.dtype()}, {"data_format", std::string("NHWC")}},
                        value.dtype(), value.shape());
}

inline Output relu(Output x, std::string_view name = {}) { return detail::activation("Relu", x, name); }
inline Output relu6(Output x, std::string_view name = {}) { return detail::activation("Relu6", x, name); }
inline Output elu(Output x, std::string_view name = {}) { return detail::activation("Elu", x, name); }
inline Output softplus(Output x, std::string_view name = {}) { return detail::activation("Softplus", x, name); }
inline Output sigmoid(Output x, std::string_view name = {}) { return detail::activation("Sigmoid", x, name); }
inline Output tanh(Output x, std::string_view name = {}) { return detail::activation("Tanh", x, name); }
/// `x`, times `alpha` where it is negative. Source: `tf.nn.leaky_relu`.
inline Output leaky_relu(Output x, float alpha = 0.2F, std::string_view name = {}) {
  detail::require_floating("LeakyRelu", x);
  return detail::add_op(x.graph(), "LeakyRelu", name, {x}, {{"T", x.dtype()}, {"alpha", alpha}}, x.dtype(), x.shape());
}

/// Over the last dimension. Source: `tf.nn.softmax`, `tf.nn.log_softmax`.
inline Output softmax(Output logits, std::string_view name = {}) { return detail::softmax_op("Softmax", logits, name); }
inline Output log_softmax(Output logits, std::string_view name = {}) { return detail::softmax_op("LogSoftmax", logits, name); }

/// The cross entropy of softmax(logits[i]) with class labels[i], for each i of the batch.
/// Source: `tf.nn.sparse_softmax_cross_entropy_with_logits`. Labels int32 or int64 [batch], logits floating [batch, classes].
inline Output sparse_softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name = {}) {
  constexpr std::string_view type = "SparseSoftmaxCrossEntropyWithLogits";
  detail::require_floating(type, logits);
  detail::require_index(type, labels);
  detail::require_rank(type, labels, 1);
  if (labels.shape().has_rank() && logits.shape().has_rank() && logits.shape().rank() > 0 &&
      !detail::may_equal(labels.shape()[0], logits.shape()[0])) {
    throw InvalidArgumentError(type, ": labels ", detail::spelled(labels), " and logits ", detail::spelled(logits),
                               " differ in batch size");
  }
  return detail::cross_entropy_node(type, logits, labels, {{"T", logits.dtype()}, {"Tlabels", labels.dtype()}}, name);
}

/// The cross entropy of softmax(logits[i]) with the distribution labels[i]. No gradient flows to the labels.
/// Source: `tf.compat.v1.nn.softmax_cross_entropy_with_logits`. Both floating [batch, classes].
inline Output softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name = {}) {
  constexpr std::string_view type = "SoftmaxCrossEntropyWithLogits";
  detail::require_floating(type, logits);
  detail::require_same_dtype(type, logits, labels);
  static_cast<void>(detail::merged_shape(type, logits, labels));
  return detail::cross_entropy_node(type, logits, stop_gradient(labels), {{"T", logits.dtype()}}, name);
}

/// The cross entropy of sigmoid(logits) with labels in [0, 1], elementwise, in a form that does not overflow.
/// Source: `tf.nn.sigmoid_cross_entropy_with_logits`. Both floating and of one shape.
inline Output sigmoid_cross_entropy_with_logits(Output labels, Output logits, std::string_view name = "logistic_loss") {
  detail::require_floating(name, logits);
  detail::require_same_dtype(name, logits, labels);
  static_cast<void>(detail::merged_shape(name, logits, labels));
  Graph& graph = logits.graph();
  const Graph::Scope scope = graph.name_scope(name);
  const std::string whole = graph.current_scope();
  const Output zeros = zeros_like(logits);
  const Output is_positive = greater_equal(logits, zeros);
  const Output at_least_zero = where(is_positive, logits, zeros);
  const Output minus_abs = where(is_positive, neg(logits), logits);
  return add(sub(at_least_zero, mul(logits, labels)), log1p(exp(minus_abs)), whole);
}

/// Half the sum of squares. Source: `tf.nn.l2_loss`.
inline Output l2_loss(Output x, std::string_view name = {}) {
  detail::require_floating("L2Loss", x);
  return detail::add_op(x.graph(), "L2Loss", name, {x}, {{"T", x.dtype()}}, x.dtype(), Shape{});
}

/// `x`, or when it holds a NaN or an infinity an error that says `message`. Source: `tf.debugging.check_numerics`.
inline Output check_numerics(Output x, std::string_view message, std::string_view name = {}) {
  detail::require_floating("CheckNumerics", x);
  return detail::add_op(x.graph(), "CheckNumerics", name, {x}, {{"T", x.dtype()}, {"message", std::string(message)}}, x.dtype(), x.shape());
}

}  // namespace trainhook
