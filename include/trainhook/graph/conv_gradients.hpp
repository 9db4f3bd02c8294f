// SPDX-License-Identifier: Apache-2.0
/// @file
/// Gradients of convolution and pooling.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/conv_ops.hpp>
#include <trainhook/graph/math_gradients.hpp>

namespace trainhook::detail {

inline Grads conv2d_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const Output filter = context.input(1);
  const Output grad = context.grad();
  const Attrs& attrs = context.node().attrs();
  Grads result(2);
  if (context.needs(0)) {
    result[0] = add_op(context.graph(), "Conv2DBackpropInput", {}, {shape_tensor(x), filter, grad}, attrs, x.dtype(), x.shape());
  }
  if (context.needs(1)) {
    result[1] = add_op(context.graph(), "Conv2DBackpropFilter", {}, {x, shape_tensor(filter), grad}, attrs, x.dtype(), filter.shape());
  }
  return result;
}

inline Grads max_pool_grad(const GradientContext& context) {
  const Output x = context.input(0);
  return {add_op(context.graph(), "MaxPoolGrad", {}, {x, context.output(), context.grad()}, context.node().attrs(), x.dtype(), x.shape())};
}

inline Grads avg_pool_grad(const GradientContext& context) {
  const Output x = context.input(0);
  return {add_op(context.graph(), "AvgPoolGrad", {}, {shape_tensor(x), context.grad()}, context.node().attrs(), x.dtype(), x.shape())};
}

inline void add_conv_gradients(GradientRegistry& registry) {
  registry.add("Conv2D", conv2d_grad);
  registry.add("MaxPool", max_pool_grad);
  registry.add("AvgPool", avg_pool_grad);
}

}  // namespace trainhook::detail
