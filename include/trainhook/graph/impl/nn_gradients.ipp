// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of nn_gradients.hpp.
#pragma once

#include <trainhook/graph/nn_gradients.hpp>

#include <string>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/array_gradients.hpp>
#include <trainhook/graph/array_ops.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/math_gradients.hpp>
#include <trainhook/graph/math_ops.hpp>
#include <trainhook/graph/matrix_ops.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/slice_ops.hpp>

namespace trainhook::detail {

/// An op such as ReluGrad, whose result is like its two inputs.
TRAINHOOK_DECL Output grad_op(std::string_view type, const Output& a, const Output& b, Attrs attrs = {}) {
  attrs.emplace("T", a.dtype());
  return add_op(a.graph(), type, {}, {a, b}, std::move(attrs), a.dtype(), merged_shape(type, a, b));
}

TRAINHOOK_DECL Grads bias_add_grad(const GradientContext& context) {
  const Output grad = context.grad();
  Grads result{grad, Output()};
  if (context.needs(1)) {
    result[1] = add_op(context.graph(), "BiasAddGrad", {}, {grad},
                       {{"T", grad.dtype()}, {"data_format", context.node().attr<std::string>("data_format")}},
                       grad.dtype(), context.input(1).shape());
  }
  return result;
}

TRAINHOOK_DECL Output sum_of_last(const Output& x) {
  return reduce_sum(x, {.axis = std::vector<std::int64_t>{-1}, .keep_dims = true});
}

/// The op's second output holds the gradient of each loss for its logits; the chain rule scales its rows. Where all
/// losses of the batch have the same gradient, as under a mean, one scalar does.
TRAINHOOK_DECL Output scaled_backprop(const GradientContext& context) {
  const Output same = fill_value(context.grad(0));
  return multiply(same.has_value() ? same : expand_dims(context.grad(0), -1), context.output(1));
}

TRAINHOOK_DECL Grads cross_entropy_grad(const GradientContext& context) {
  if (context.grad(1).has_value()) {
    throw UnimplementedError("second derivatives of {} ({}) are not available", context.node().name(),
                             context.node().type());
  }
  return {scaled_backprop(context), Output()};
}

TRAINHOOK_DECL void add_nn_gradients(GradientRegistry& registry) {
  using C = const GradientContext&;
  using O = const Output&;
  registry.add("BiasAdd", bias_add_grad);
  registry.add("Relu", elementwise([](C c, O, O g) { return grad_op("ReluGrad", g, c.output()); }));
  registry.add("Relu6", elementwise([](C c, O, O g) { return grad_op("Relu6Grad", g, c.output()); }));
  registry.add("LeakyRelu", elementwise([](C c, O x, O g) {
                 return grad_op("LeakyReluGrad", g, x, {{"alpha", c.node().attr<float>("alpha")}});
               }));
  registry.add("Elu", elementwise([](C c, O, O g) { return grad_op("EluGrad", g, c.output()); }));
  registry.add("Softplus", elementwise([](C, O x, O g) { return grad_op("SoftplusGrad", g, x); }));
  registry.add("Sigmoid", elementwise([](C c, O, O g) { return grad_op("SigmoidGrad", c.output(), g); }));
  registry.add("Tanh", elementwise([](C c, O, O g) { return grad_op("TanhGrad", c.output(), g); }));
  registry.add("Softmax", elementwise([](C c, O, O g) {
                 return multiply(subtract(g, sum_of_last(multiply(g, c.output()))), c.output());
               }));
  registry.add("LogSoftmax",
               elementwise([](C c, O, O g) { return subtract(g, multiply(sum_of_last(g), exp(c.output()))); }));
  registry.add("SparseSoftmaxCrossEntropyWithLogits", cross_entropy_grad);
  registry.add("SoftmaxCrossEntropyWithLogits", cross_entropy_grad);

  // Derivatives of derivatives, where they are simple.
  registry.add("ReluGrad", [](C c) { return Grads{grad_op("ReluGrad", c.grad(), c.input(1)), Output()}; });
  registry.add("BiasAddGrad", [](C c) {
    const Output x = c.input(0);
    return Grads{broadcast_to(c.grad(), shape_tensor(x))};
  });
}

}  // namespace trainhook::detail
