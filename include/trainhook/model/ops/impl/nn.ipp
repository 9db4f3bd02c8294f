// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/nn.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/broadcast.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/ops/slice.hpp>

namespace trainhook::detail {

inline bool is_nhwc(const NodeSpec& node) { return attr_of<std::string>(node, "data_format") == "NHWC"; }

/// @throws InvalidArgumentError if the input must have a lower rank than `rank`.
inline void require_rank_at_least(const NodeSpec& node, const Output& x, std::size_t rank) {
  if (x.shape().has_rank() && x.shape().rank() < rank)
    throw InvalidArgumentError("{}: {} must be of rank {} or more", label(node), x, rank);
}

inline PartialShape bias_add_shape(const NodeSpec& node, std::size_t) {
  const Output& value = node.inputs[0];
  const Output& bias = node.inputs[1];
  require_rank(label(node), bias, 1);
  if (!value.shape().has_rank()) return {};
  const std::size_t rank = value.shape().rank();
  const bool fits = rank >= (is_nhwc(node) ? 2 : 3) &&
                    (!bias.shape().has_rank() || may_equal(value.shape()[channel_axis(node, rank)], bias.shape()[0]));
  if (!fits) {
    throw InvalidArgumentError("{}: {} does not fit the {} dimension of {}", label(node), bias,
                               is_nhwc(node) ? "last" : "second", value);
  }
  return value.shape();
}

inline PartialShape bias_add_grad_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& shape = node.inputs[0].shape();
  require_rank_at_least(node, node.inputs[0], is_nhwc(node) ? 2 : 3);
  return PartialShape{shape.has_rank() ? shape[channel_axis(node, shape.rank())] : kUnknownDim};
}

inline PartialShape softmax_shape(const NodeSpec& node, std::size_t) {
  const Output& logits = node.inputs[0];
  if (logits.shape().has_rank() && logits.shape().rank() == 0)
    throw InvalidArgumentError("{}: {} must not be a scalar", label(node), logits);
  return logits.shape();
}

/// A loss for each row of the logits, [batch], and its gradient, [batch, classes].
inline PartialShape of_rows(std::size_t index, const PartialShape& logits, std::int64_t batch) {
  const std::int64_t rows = logits.has_rank() && logits[0] != kUnknownDim ? logits[0] : batch;
  return index == 0 ? PartialShape{rows} : PartialShape{rows, logits.has_rank() ? logits[1] : kUnknownDim};
}

inline PartialShape cross_entropy_shape(const NodeSpec& node, std::size_t index) {
  for (const Output& input : node.inputs) require_rank(label(node), input, 2);
  return of_rows(index, shape_rules::merged(node, 0), kUnknownDim);
}

inline PartialShape sparse_cross_entropy_shape(const NodeSpec& node, std::size_t index) {
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

inline constexpr std::string_view kFloating = "T:floating";
inline constexpr std::string_view kFloatUnlessTold = "T:floating=float32";
inline constexpr std::string_view kBiasAddAttrs = "T:number data_format:string{NHWC,NCHW}=NHWC";

// The ops of gradients. Two of them have a gradient themselves.

inline Grads bias_add_grad_grad(const GradientContext& c);
inline Grads relu_grad_grad(const GradientContext& c);

inline constexpr OpDef kBiasAddGradOp{"BiasAddGrad", "T -> T", kBiasAddAttrs, bias_add_grad_shape, bias_add_grad_grad};
inline constexpr OpDef kEluGradOp{"EluGrad", "T T -> T", kFloating, shape_rules::merged};
inline constexpr OpDef kLeakyReluGradOp{"LeakyReluGrad", "T T -> T", "T:floating=float32 alpha:float=0.2",
                                        shape_rules::merged};
inline constexpr OpDef kRelu6GradOp{"Relu6Grad", "T T -> T", kFloatUnlessTold, shape_rules::merged};
inline constexpr OpDef kReluGradOp{"ReluGrad", "T T -> T", kFloatUnlessTold, shape_rules::merged, relu_grad_grad};
inline constexpr OpDef kSigmoidGradOp{"SigmoidGrad", "T T -> T", kFloating, shape_rules::merged};
inline constexpr OpDef kSeluGradOp{"SeluGrad", "T T -> T", kFloating, shape_rules::merged};
inline constexpr OpDef kSoftsignGradOp{"SoftsignGrad", "T T -> T", kFloatUnlessTold, shape_rules::merged};
inline constexpr OpDef kSoftplusGradOp{"SoftplusGrad", "T T -> T", kFloating, shape_rules::merged};
inline constexpr OpDef kTanhGradOp{"TanhGrad", "T T -> T", kFloating, shape_rules::merged};

Grads relu_grad_grad(const GradientContext& c) { return {add_op(kReluGradOp, {}, {c.grad(), c.input(1)}), Output()}; }

inline Grads bias_add_grad(const GradientContext& context) {
  const Output grad = context.grad();
  Grads result{grad, Output()};
  if (context.needs(1)) {
    result[1] = add_node(context.graph(), kBiasAddGradOp,
                         {.inputs = {grad},
                          .attrs = {{"data_format", context.node().attr<std::string>("data_format")}},
                          .outputs = {{grad.dtype(), context.input(1).shape()}}})
                    .output();
  }
  return result;
}

inline Grads relu_grad(const GradientContext& c) { return {add_op(kReluGradOp, {}, {c.grad(), c.output()})}; }
inline Grads relu6_grad(const GradientContext& c) { return {add_op(kRelu6GradOp, {}, {c.grad(), c.output()})}; }
inline Grads elu_grad(const GradientContext& c) { return {add_op(kEluGradOp, {}, {c.grad(), c.output()})}; }
inline Grads selu_grad(const GradientContext& c) { return {add_op(kSeluGradOp, {}, {c.grad(), c.output()})}; }
inline Grads softsign_grad(const GradientContext& c) { return {add_op(kSoftsignGradOp, {}, {c.grad(), c.input(0)})}; }
inline Grads sigmoid_grad(const GradientContext& c) { return {add_op(kSigmoidGradOp, {}, {c.output(), c.grad()})}; }
inline Grads tanh_grad(const GradientContext& c) { return {add_op(kTanhGradOp, {}, {c.output(), c.grad()})}; }
inline Grads softplus_grad(const GradientContext& c) { return {add_op(kSoftplusGradOp, {}, {c.grad(), c.input(0)})}; }
inline Grads leaky_relu_grad(const GradientContext& c) {
  return {add_op(kLeakyReluGradOp, {}, {c.grad(), c.input(0)}, {{"alpha", c.node().attr<float>("alpha")}})};
}

inline Grads softmax_grad(const GradientContext& c) {
  return {multiply(subtract(c.grad(), sum_of_last(multiply(c.grad(), c.output()))), c.output())};
}

inline Grads log_softmax_grad(const GradientContext& c) {
  return {subtract(c.grad(), multiply(sum_of_last(c.grad()), exp(c.output())))};
}

/// The factor of each row: the gradient of its loss. If all losses of the batch have the same gradient, as under a
/// mean, one scalar is enough.
inline Output loss_gradient(const GradientContext& context) {
  if (context.grad(1).has_value()) {
    throw UnimplementedError("second derivatives of {} ({}) are not available", context.node().name(),
                             context.node().type());
  }
  const Output same = fill_value(context.grad(0));
  return same.has_value() ? same : expand_dims(context.grad(0), -1);
}

/// The op's second output holds the gradient of each loss for its logits; the chain rule scales its rows.
inline Grads sparse_cross_entropy_grad(const GradientContext& context) {
  return {multiply(loss_gradient(context), context.output(1)), Output()};
}

inline Grads cross_entropy_grad(const GradientContext& context) {
  const Output factor = loss_gradient(context);
  Grads result(2);
  if (context.needs(0)) result[0] = multiply(factor, context.output(1));
  if (context.needs(1)) result[1] = multiply(factor, negative(log_softmax(context.input(0))));
  return result;
}

inline Grads l2_loss_grad(const GradientContext& c) { return {multiply(c.input(0), c.grad())}; }
inline Grads check_numerics_grad(const GradientContext& c) { return {c.grad()}; }

inline constexpr OpDef kBiasAddOp{"BiasAdd", "T T -> T", kBiasAddAttrs, bias_add_shape, bias_add_grad};

/// The same bias for all of the input.
Grads bias_add_grad_grad(const GradientContext& c) {
  return {add_op(kBiasAddOp, {}, {zeros_like(c.input(0)), c.grad()},
                 {{"data_format", c.node().attr<std::string>("data_format")}})};
}

inline constexpr OpDef kCheckNumericsOp{"CheckNumerics", "T -> T", "T:floating message:string", shape_rules::like<0>,
                                        check_numerics_grad};
inline constexpr OpDef kEluOp{"Elu", "T -> T", kFloating, shape_rules::like<0>, elu_grad};
inline constexpr OpDef kL2LossOp{"L2Loss", "T -> T", kFloating, shape_rules::scalar, l2_loss_grad};
inline constexpr OpDef kLeakyReluOp{"LeakyRelu", "T -> T", "T:floating=float32 alpha:float=0.2", shape_rules::like<0>,
                                    leaky_relu_grad};
inline constexpr OpDef kLogSoftmaxOp{"LogSoftmax", "T -> T", kFloating, softmax_shape, log_softmax_grad};
inline constexpr OpDef kReluOp{"Relu", "T -> T", kFloatUnlessTold, shape_rules::like<0>, relu_grad};
inline constexpr OpDef kRelu6Op{"Relu6", "T -> T", kFloatUnlessTold, shape_rules::like<0>, relu6_grad};
inline constexpr OpDef kSeluOp{"Selu", "T -> T", kFloating, shape_rules::like<0>, selu_grad};
inline constexpr OpDef kSoftsignOp{"Softsign", "T -> T", kFloatUnlessTold, shape_rules::like<0>, softsign_grad};
inline constexpr OpDef kSigmoidOp{"Sigmoid", "T -> T", kFloating, shape_rules::like<0>, sigmoid_grad};
inline constexpr OpDef kSoftmaxOp{"Softmax", "T -> T", kFloating, softmax_shape, softmax_grad};
inline constexpr OpDef kSoftmaxCrossEntropyWithLogitsOp{"SoftmaxCrossEntropyWithLogits", "T T -> T T", kFloating,
                                                        cross_entropy_shape, cross_entropy_grad};
inline constexpr OpDef kSoftplusOp{"Softplus", "T -> T", kFloating, shape_rules::like<0>, softplus_grad};
inline constexpr OpDef kSparseSoftmaxCrossEntropyWithLogitsOp{"SparseSoftmaxCrossEntropyWithLogits", "T Tlabels -> T T",
                                                              "T:floating Tlabels:{int32,int64}=int64",
                                                              sparse_cross_entropy_shape, sparse_cross_entropy_grad};
inline constexpr OpDef kTanhOp{"Tanh", "T -> T", kFloating, shape_rules::like<0>, tanh_grad};

inline constexpr std::array kNnOps{&kBiasAddOp,     &kBiasAddGradOp,   &kCheckNumericsOp,
                                   &kEluOp,         &kEluGradOp,       &kL2LossOp,
                                   &kLeakyReluOp,   &kLeakyReluGradOp, &kLogSoftmaxOp,
                                   &kReluOp,        &kRelu6Op,         &kRelu6GradOp,
                                   &kReluGradOp,    &kSeluOp,          &kSeluGradOp,
                                   &kSoftsignOp,    &kSoftsignGradOp,  &kSigmoidOp,
                                   &kSigmoidGradOp, &kSoftmaxOp,       &kSoftmaxCrossEntropyWithLogitsOp,
                                   &kSoftplusOp,    &kSoftplusGradOp,  &kSparseSoftmaxCrossEntropyWithLogitsOp,
                                   &kTanhOp,        &kTanhGradOp};

OpFamily nn_ops() noexcept { return kNnOps; }

}  // namespace trainhook::detail

namespace trainhook {

Output bias_add(Output value, Output bias, std::string_view name) {
  return detail::add_op(detail::kBiasAddOp, name, {value, bias});
}

Output relu(Output x, std::string_view name) { return detail::add_op(detail::kReluOp, name, {x}); }

Output relu6(Output x, std::string_view name) { return detail::add_op(detail::kRelu6Op, name, {x}); }

Output elu(Output x, std::string_view name) { return detail::add_op(detail::kEluOp, name, {x}); }

Output softplus(Output x, std::string_view name) { return detail::add_op(detail::kSoftplusOp, name, {x}); }

Output sigmoid(Output x, std::string_view name) { return detail::add_op(detail::kSigmoidOp, name, {x}); }

Output tanh(Output x, std::string_view name) { return detail::add_op(detail::kTanhOp, name, {x}); }

Output selu(Output x, std::string_view name) { return detail::add_op(detail::kSeluOp, name, {x}); }

Output softsign(Output x, std::string_view name) { return detail::add_op(detail::kSoftsignOp, name, {x}); }

Output leaky_relu(Output x, float alpha, std::string_view name) {
  return detail::add_op(detail::kLeakyReluOp, name, {x}, {{"alpha", alpha}});
}

Output softmax(Output logits, std::string_view name) { return detail::add_op(detail::kSoftmaxOp, name, {logits}); }

Output log_softmax(Output logits, std::string_view name) {
  return detail::add_op(detail::kLogSoftmaxOp, name, {logits});
}

Output sparse_softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name) {
  return detail::add_op(detail::kSparseSoftmaxCrossEntropyWithLogitsOp, name, {logits, labels});
}

Output softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name) {
  return softmax_cross_entropy_with_logits_v2(stop_gradient(labels), logits, name);
}

Output softmax_cross_entropy_with_logits_v2(Output labels, Output logits, std::string_view name) {
  return detail::add_op(detail::kSoftmaxCrossEntropyWithLogitsOp, name, {logits, labels});
}

Output sigmoid_cross_entropy_with_logits(Output labels, Output logits, std::string_view name) {
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

Output l2_loss(Output x, std::string_view name) { return detail::add_op(detail::kL2LossOp, name, {x}); }

Output check_numerics(Output x, std::string_view message, std::string_view name) {
  return detail::add_op(detail::kCheckNumericsOp, name, {x}, {{"message", std::string(message)}});
}

}  // namespace trainhook
