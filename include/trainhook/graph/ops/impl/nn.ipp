// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of nn.hpp, and the definitions of its ops.
#pragma once

#include <trainhook/graph/ops/nn.hpp>

#include <array>
#include <string>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_registry.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/ops/array.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/math.hpp>
#include <trainhook/graph/ops/matrix.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/graph/ops/slice.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL bool is_nhwc(const NodeSpec& node) { return attr_of<std::string>(node, "data_format") == "NHWC"; }

/// @throws InvalidArgumentError if the input must have a lower rank than `rank`.
TRAINHOOK_DECL void require_rank_at_least(const NodeSpec& node, const Output& x, std::size_t rank) {
  if (x.shape().has_rank() && x.shape().rank() < rank)
    throw InvalidArgumentError("{}: {} must be of rank {} or more", label(node), x, rank);
}

TRAINHOOK_DECL PartialShape bias_add_shape(const NodeSpec& node, std::size_t) {
  const Output& value = node.inputs[0];
  const Output& bias = node.inputs[1];
  require_rank(label(node), bias, 1);
  if (!value.shape().has_rank()) return {};
  const std::size_t rank = value.shape().rank();
  const bool fits = rank >= 2 && (!bias.shape().has_rank() ||
                                  may_equal(value.shape()[is_nhwc(node) ? rank - 1 : 1], bias.shape()[0]));
  if (!fits) {
    throw InvalidArgumentError("{}: {} does not fit the {} dimension of {}", label(node), bias,
                               is_nhwc(node) ? "last" : "second", value);
  }
  return value.shape();
}

TRAINHOOK_DECL PartialShape bias_add_grad_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& shape = node.inputs[0].shape();
  require_rank_at_least(node, node.inputs[0], 2);
  return PartialShape{shape.has_rank() ? shape[is_nhwc(node) ? shape.rank() - 1 : 1] : kUnknownDim};
}

TRAINHOOK_DECL PartialShape softmax_shape(const NodeSpec& node, std::size_t) {
  const Output& logits = node.inputs[0];
  if (logits.shape().has_rank() && logits.shape().rank() == 0)
    throw InvalidArgumentError("{}: {} must not be a scalar", label(node), logits);
  return logits.shape();
}

/// A loss for each row of the logits, [batch], and its gradient, [batch, classes].
TRAINHOOK_DECL PartialShape of_rows(std::size_t index, const PartialShape& logits, std::int64_t batch) {
  const std::int64_t rows = logits.has_rank() && logits[0] != kUnknownDim ? logits[0] : batch;
  return index == 0 ? PartialShape{rows} : PartialShape{rows, logits.has_rank() ? logits[1] : kUnknownDim};
}

TRAINHOOK_DECL PartialShape cross_entropy_shape(const NodeSpec& node, std::size_t index) {
  for (const Output& input : node.inputs) require_rank(label(node), input, 2);
  return of_rows(index, shape_rules::merged(node, 0), kUnknownDim);
}

TRAINHOOK_DECL PartialShape sparse_cross_entropy_shape(const NodeSpec& node, std::size_t index) {
  const Output& logits = node.inputs[0];
  const Output& labels = node.inputs[1];
  require_rank(label(node), logits, 2);
  require_rank(label(node), labels, 1);
  const bool is_known = labels.shape().has_rank() && logits.shape().has_rank();
  if (is_known && !may_equal(labels.shape()[0], logits.shape()[0])) {
    throw InvalidArgumentError("{}: labels {} and logits {} differ in batch size", label(node), labels, logits);
  }
  return of_rows(index, logits.shape(), labels.shape().has_rank() ? labels.shape()[0] : kUnknownDim);
}

/// A node such as ReluGrad, whose result is like its two inputs.
TRAINHOOK_DECL Output grad_op(std::string_view type, const Output& a, const Output& b, Attrs attrs = {}) {
  return add_op(nn_ops(), type, {}, {a, b}, std::move(attrs));
}

TRAINHOOK_DECL Grads bias_add_grad(const GradientContext& context) {
  const Output grad = context.grad();
  Grads result{grad, Output()};
  if (context.needs(1)) {
    result[1] = add_node(context.graph(), nn_ops(),
                         {.type = "BiasAddGrad",
                          .inputs = {grad},
                          .attrs = {{"data_format", context.node().attr<std::string>("data_format")}},
                          .outputs = {{grad.dtype(), context.input(1).shape()}}})
                    .output();
  }
  return result;
}

TRAINHOOK_DECL Grads relu_grad(const GradientContext& c) { return {grad_op("ReluGrad", c.grad(), c.output())}; }
TRAINHOOK_DECL Grads relu6_grad(const GradientContext& c) { return {grad_op("Relu6Grad", c.grad(), c.output())}; }
TRAINHOOK_DECL Grads elu_grad(const GradientContext& c) { return {grad_op("EluGrad", c.grad(), c.output())}; }
TRAINHOOK_DECL Grads sigmoid_grad(const GradientContext& c) { return {grad_op("SigmoidGrad", c.output(), c.grad())}; }
TRAINHOOK_DECL Grads tanh_grad(const GradientContext& c) { return {grad_op("TanhGrad", c.output(), c.grad())}; }
TRAINHOOK_DECL Grads softplus_grad(const GradientContext& c) { return {grad_op("SoftplusGrad", c.grad(), c.input(0))}; }
TRAINHOOK_DECL Grads leaky_relu_grad(const GradientContext& c) {
  return {grad_op("LeakyReluGrad", c.grad(), c.input(0), {{"alpha", c.node().attr<float>("alpha")}})};
}

TRAINHOOK_DECL Grads softmax_grad(const GradientContext& c) {
  return {multiply(subtract(c.grad(), sum_of_last(multiply(c.grad(), c.output()))), c.output())};
}

TRAINHOOK_DECL Grads log_softmax_grad(const GradientContext& c) {
  return {subtract(c.grad(), multiply(sum_of_last(c.grad()), exp(c.output())))};
}

/// The op's second output holds the gradient of each loss for its logits; the chain rule scales its rows. If all losses
/// of the batch have the same gradient, as under a mean, one scalar is enough.
TRAINHOOK_DECL Grads cross_entropy_grad(const GradientContext& context) {
  if (context.grad(1).has_value()) {
    throw UnimplementedError("second derivatives of {} ({}) are not available", context.node().name(),
                             context.node().type());
  }
  const Output same = fill_value(context.grad(0));
  return {multiply(same.has_value() ? same : expand_dims(context.grad(0), -1), context.output(1)), Output()};
}

TRAINHOOK_DECL Grads l2_loss_grad(const GradientContext& c) { return {multiply(c.input(0), c.grad())}; }
TRAINHOOK_DECL Grads check_numerics_grad(const GradientContext& c) { return {c.grad()}; }

// Derivatives of derivatives, where they are simple.

TRAINHOOK_DECL Grads relu_grad_grad(const GradientContext& c) {
  return {grad_op("ReluGrad", c.grad(), c.input(1)), Output()};
}

TRAINHOOK_DECL Grads bias_add_grad_grad(const GradientContext& c) {
  return {broadcast_to(c.grad(), shape_tensor(c.input(0)))};
}

inline constexpr std::string_view kFloating = "T:floating";
inline constexpr std::string_view kFloatUnlessTold = "T:floating=float32";
inline constexpr std::string_view kBiasAdd = "T:number data_format:string=NHWC";

inline constexpr std::array kNnOps{
    OpDef{"BiasAdd", "T T -> T", kBiasAdd, bias_add_shape, bias_add_grad},
    OpDef{"BiasAddGrad", "T -> T", kBiasAdd, bias_add_grad_shape, bias_add_grad_grad},
    OpDef{"CheckNumerics", "T -> T", "T:floating message:string", shape_rules::like<0>, check_numerics_grad},
    OpDef{"Elu", "T -> T", kFloating, shape_rules::like<0>, elu_grad},
    OpDef{"EluGrad", "T T -> T", kFloating, shape_rules::merged},
    OpDef{"L2Loss", "T -> T", kFloating, shape_rules::scalar, l2_loss_grad},
    OpDef{"LeakyRelu", "T -> T", "T:floating=float32 alpha:float=0.2", shape_rules::like<0>, leaky_relu_grad},
    OpDef{"LeakyReluGrad", "T T -> T", "T:floating=float32 alpha:float=0.2", shape_rules::merged},
    OpDef{"LogSoftmax", "T -> T", kFloating, softmax_shape, log_softmax_grad},
    OpDef{"Relu", "T -> T", kFloatUnlessTold, shape_rules::like<0>, relu_grad},
    OpDef{"Relu6", "T -> T", kFloatUnlessTold, shape_rules::like<0>, relu6_grad},
    OpDef{"Relu6Grad", "T T -> T", kFloatUnlessTold, shape_rules::merged},
    OpDef{"ReluGrad", "T T -> T", kFloatUnlessTold, shape_rules::merged, relu_grad_grad},
    OpDef{"Sigmoid", "T -> T", kFloating, shape_rules::like<0>, sigmoid_grad},
    OpDef{"SigmoidGrad", "T T -> T", kFloating, shape_rules::merged},
    OpDef{"Softmax", "T -> T", kFloating, softmax_shape, softmax_grad},
    OpDef{"SoftmaxCrossEntropyWithLogits", "T T -> T T", kFloating, cross_entropy_shape, cross_entropy_grad},
    OpDef{"Softplus", "T -> T", kFloating, shape_rules::like<0>, softplus_grad},
    OpDef{"SoftplusGrad", "T T -> T", kFloating, shape_rules::merged},
    OpDef{"SparseSoftmaxCrossEntropyWithLogits", "T Tlabels -> T T", "T:floating Tlabels:{int32,int64}=int64",
          sparse_cross_entropy_shape, cross_entropy_grad},
    OpDef{"Tanh", "T -> T", kFloating, shape_rules::like<0>, tanh_grad},
    OpDef{"TanhGrad", "T T -> T", kFloating, shape_rules::merged},
};

TRAINHOOK_DECL std::span<const OpDef> nn_ops() noexcept { return kNnOps; }

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output bias_add(Output value, Output bias, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "BiasAdd", name, {value, bias});
}

TRAINHOOK_DECL Output relu(Output x, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "Relu", name, {x});
}

TRAINHOOK_DECL Output relu6(Output x, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "Relu6", name, {x});
}

TRAINHOOK_DECL Output elu(Output x, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "Elu", name, {x});
}

TRAINHOOK_DECL Output softplus(Output x, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "Softplus", name, {x});
}

TRAINHOOK_DECL Output sigmoid(Output x, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "Sigmoid", name, {x});
}

TRAINHOOK_DECL Output tanh(Output x, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "Tanh", name, {x});
}

TRAINHOOK_DECL Output leaky_relu(Output x, float alpha, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "LeakyRelu", name, {x}, {{"alpha", alpha}});
}

TRAINHOOK_DECL Output softmax(Output logits, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "Softmax", name, {logits});
}

TRAINHOOK_DECL Output log_softmax(Output logits, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "LogSoftmax", name, {logits});
}

TRAINHOOK_DECL Output sparse_softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "SparseSoftmaxCrossEntropyWithLogits", name, {logits, labels});
}

TRAINHOOK_DECL Output softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "SoftmaxCrossEntropyWithLogits", name, {logits, stop_gradient(labels)});
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
  return detail::add_op(detail::nn_ops(), "L2Loss", name, {x});
}

TRAINHOOK_DECL Output check_numerics(Output x, std::string_view message, std::string_view name) {
  return detail::add_op(detail::nn_ops(), "CheckNumerics", name, {x}, {{"message", std::string(message)}});
}

}  // namespace trainhook
