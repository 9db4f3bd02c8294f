// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of conv_gradients.hpp.
#pragma once

#include <trainhook/graph/conv_gradients.hpp>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/array_gradients.hpp>
#include <trainhook/graph/conv_ops.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/math_gradients.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/slice_ops.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL Grads conv2d_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const Output filter = context.input(1);
  const Output grad = context.grad();
  const Attrs& attrs = context.node().attrs();
  Grads result(2);
  if (context.needs(0)) {
    result[0] = add_op(context.graph(), "Conv2DBackpropInput", {}, {shape_tensor(x), filter, grad}, attrs, x.dtype(),
                       x.shape());
  }
  if (context.needs(1)) {
    result[1] = add_op(context.graph(), "Conv2DBackpropFilter", {}, {x, shape_tensor(filter), grad}, attrs, x.dtype(),
                       filter.shape());
  }
  return result;
}

TRAINHOOK_DECL Grads max_pool_grad(const GradientContext& context) {
  const Output x = context.input(0);
  return {add_op(context.graph(), "MaxPoolGrad", {}, {x, context.output(), context.grad()}, context.node().attrs(),
                 x.dtype(), x.shape())};
}

TRAINHOOK_DECL Grads avg_pool_grad(const GradientContext& context) {
  const Output x = context.input(0);
  return {add_op(context.graph(), "AvgPoolGrad", {}, {shape_tensor(x), context.grad()}, context.node().attrs(),
                 x.dtype(), x.shape())};
}

TRAINHOOK_DECL void add_conv_gradients(GradientRegistry& registry) {
  registry.add("Conv2D", conv2d_grad);
  registry.add("MaxPool", max_pool_grad);
  registry.add("AvgPool", avg_pool_grad);
}

}  // namespace trainhook::detail
