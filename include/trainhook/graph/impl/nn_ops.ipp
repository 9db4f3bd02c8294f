// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of nn_ops.hpp.
#pragma once

#include <trainhook/graph/nn_ops.hpp>

#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/constant_ops.hpp>
#include <trainhook/graph/control_flow_ops.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/math_ops.hpp>
#include <trainhook/graph/matrix_ops.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/slice_ops.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL Output activation(std::string_view type, const Output& x, std::string_view name) {
  require_floating(type, x);
  return unary_op(type, x, name);
}

TRAINHOOK_DECL Output softmax_op(std::string_view type, const Output& logits, std::string_view name) {
  require_floating(type, logits);
  if (logits.shape().has_rank() && logits.shape().rank() == 0) {
    throw InvalidArgumentError("{}: {} must not be a scalar", type, spelled(logits));
  }
  return unary_op(type, logits, name);
}

TRAINHOOK_DECL Output cross_entropy_node(std::string_view type, const Output& logits, const Output& labels, Attrs attrs,
                                         std::string_view name) {
  require_rank(type, logits, 2);
  const PartialShape shape = logits.shape().has_rank() ? logits.shape() : unknown_of_rank(2);
  std::int64_t batch = shape[0];
  if (batch == kUnknownDim && labels.shape().has_rank()) batch = labels.shape()[0];
  NodeSpec spec{
      .type = std::string(type), .name = std::string(name), .inputs = {logits, labels}, .attrs = std::move(attrs)};
  spec.outputs = {{logits.dtype(), PartialShape{batch}}, {logits.dtype(), PartialShape{batch, shape[1]}}};
  return logits.graph().add(std::move(spec)).output(0);
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output bias_add(Output value, Output bias, std::string_view name) {
  detail::require_numeric("BiasAdd", value);
  detail::require_same_dtype("BiasAdd", value, bias);
  detail::require_rank("BiasAdd", bias, 1);
  if (value.shape().has_rank()) {
    const std::size_t rank = value.shape().rank();
    const bool fits =
        rank >= 2 && (!bias.shape().has_rank() || detail::may_equal(value.shape()[rank - 1], bias.shape()[0]));
    if (!fits) {
      throw InvalidArgumentError("BiasAdd: {} does not fit the last dimension of {}", detail::spelled(bias),
                                 detail::spelled(value));
    }
  }
  return detail::add_op(value.graph(), "BiasAdd", name, {value, bias},
                        {{"T", value.dtype()}, {"data_format", std::string("NHWC")}}, value.dtype(), value.shape());
}

TRAINHOOK_DECL Output relu(Output x, std::string_view name) { return detail::activation("Relu", x, name); }

TRAINHOOK_DECL Output relu6(Output x, std::string_view name) { return detail::activation("Relu6", x, name); }

TRAINHOOK_DECL Output elu(Output x, std::string_view name) { return detail::activation("Elu", x, name); }

TRAINHOOK_DECL Output softplus(Output x, std::string_view name) { return detail::activation("Softplus", x, name); }

TRAINHOOK_DECL Output sigmoid(Output x, std::string_view name) { return detail::activation("Sigmoid", x, name); }

TRAINHOOK_DECL Output tanh(Output x, std::string_view name) { return detail::activation("Tanh", x, name); }

TRAINHOOK_DECL Output leaky_relu(Output x, float alpha, std::string_view name) {
  detail::require_floating("LeakyRelu", x);
  return detail::add_op(x.graph(), "LeakyRelu", name, {x}, {{"T", x.dtype()}, {"alpha", alpha}}, x.dtype(), x.shape());
}

TRAINHOOK_DECL Output softmax(Output logits, std::string_view name) {
  return detail::softmax_op("Softmax", logits, name);
}

TRAINHOOK_DECL Output log_softmax(Output logits, std::string_view name) {
  return detail::softmax_op("LogSoftmax", logits, name);
}

TRAINHOOK_DECL Output sparse_softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name) {
  constexpr std::string_view type = "SparseSoftmaxCrossEntropyWithLogits";
  detail::require_floating(type, logits);
  detail::require_index(type, labels);
  detail::require_rank(type, labels, 1);
  if (labels.shape().has_rank() && logits.shape().has_rank() && logits.shape().rank() > 0 &&
      !detail::may_equal(labels.shape()[0], logits.shape()[0])) {
    throw InvalidArgumentError("{}: labels {} and logits {} differ in batch size", type, detail::spelled(labels),
                               detail::spelled(logits));
  }
  return detail::cross_entropy_node(type, logits, labels, {{"T", logits.dtype()}, {"Tlabels", labels.dtype()}}, name);
}

TRAINHOOK_DECL Output softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name) {
  constexpr std::string_view type = "SoftmaxCrossEntropyWithLogits";
  detail::require_floating(type, logits);
  detail::require_same_dtype(type, logits, labels);
  static_cast<void>(detail::merged_shape(type, logits, labels));
  return detail::cross_entropy_node(type, logits, stop_gradient(labels), {{"T", logits.dtype()}}, name);
}

TRAINHOOK_DECL Output sigmoid_cross_entropy_with_logits(Output labels, Output logits, std::string_view name) {
  detail::require_floating(name, logits);
  detail::require_same_dtype(name, logits, labels);
  static_cast<void>(detail::merged_shape(name, logits, labels));
  Graph& graph = logits.graph();
  const Graph::Scope scope = graph.name_scope(name);
  const std::string whole = graph.current_scope();
  const Output zeros = zeros_like(logits);
  const Output is_positive = greater_equal(logits, zeros);
  const Output at_least_zero = where(is_positive, logits, zeros);
  const Output minus_abs = where(is_positive, negative(logits), logits);
  return add(subtract(at_least_zero, multiply(logits, labels)), log1p(exp(minus_abs)), whole);
}

TRAINHOOK_DECL Output l2_loss(Output x, std::string_view name) {
  detail::require_floating("L2Loss", x);
  return detail::add_op(x.graph(), "L2Loss", name, {x}, {{"T", x.dtype()}}, x.dtype(), Shape{});
}

TRAINHOOK_DECL Output check_numerics(Output x, std::string_view message, std::string_view name) {
  detail::require_floating("CheckNumerics", x);
  return detail::add_op(x.graph(), "CheckNumerics", name, {x}, {{"T", x.dtype()}, {"message", std::string(message)}},
                        x.dtype(), x.shape());
}

}  // namespace trainhook
