// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of local response normalization, with its gradient.
#pragma once

#include <trainhook/compat/kernels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// Local response normalization: each channel is divided by a power of the squares of `radius` channels around it.
struct LrnAttrs {
  std::int64_t radius = 5;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5F;

  /// The channels [first, last) around one of `count`.
  [[nodiscard]] std::int64_t first(std::int64_t channel) const { return (std::max)(channel - radius, std::int64_t{0}); }
  [[nodiscard]] std::int64_t last(std::int64_t channel, std::int64_t count) const {
    return (std::min)(channel + radius + 1, count);
  }
};

/// The rows of channels of an image. @throws InvalidArgumentError unless it is of rank 4.
inline ConstTableMap<float> channels_in(const KernelContext& context, std::size_t input) {
  const Shape& shape = context.shape(input);
  if (shape.rank() != 4 || shape != context.shape(0))
    throw InvalidArgumentError("images must be of rank 4 and of one shape, not {}", shape);
  return {context.data<float>(input).data(), product_of(shape, 0, 3), shape[3]};
}

inline void local_response(KernelContext& context, const LrnAttrs& attrs) {
  const ConstTableMap<float> x = channels_in(context, 0);
  TableMap<float> y(context.output<float>(0, context.shape(0)).data(), x.rows(), x.cols());
  for (Eigen::Index row = 0; row < x.rows(); ++row) {
    for (Eigen::Index channel = 0; channel < x.cols(); ++channel) {
      const std::int64_t first = attrs.first(channel);
      const float squares = x.row(row).segment(first, attrs.last(channel, x.cols()) - first).square().sum();
      y(row, channel) = x(row, channel) * std::pow(attrs.bias + attrs.alpha * squares, -attrs.beta);
    }
  }
}

/// Inputs: the gradient, what came in, what came out.
inline void local_response_gradient(KernelContext& context, const LrnAttrs& attrs) {
  const ConstTableMap<float> gradient = channels_in(context, 0);
  const ConstTableMap<float> x = channels_in(context, 1);
  const ConstTableMap<float> y = channels_in(context, 2);
  TableMap<float> result(context.output<float>(0, context.shape(0)).data(), x.rows(), x.cols());
  result.setZero();
  for (Eigen::Index row = 0; row < x.rows(); ++row) {
    for (Eigen::Index channel = 0; channel < x.cols(); ++channel) {
      const std::int64_t first = attrs.first(channel);
      const std::int64_t count = attrs.last(channel, x.cols()) - first;
      const auto around = x.row(row).segment(first, count);
      const float norm = attrs.bias + attrs.alpha * around.square().sum();
      const float share = gradient(row, channel) * (-2 * attrs.alpha * attrs.beta) * y(row, channel) / norm;
      result.row(row).segment(first, count) += around * share;
      result(row, channel) += gradient(row, channel) * std::pow(norm, -attrs.beta);
    }
  }
}

template <void (*Code)(KernelContext&, const LrnAttrs&)>
Kernel make_local_response(const Node& node) {
  const LrnAttrs attrs{.radius = node.attr<std::int64_t>("depth_radius"),
                       .bias = node.attr<float>("bias"),
                       .alpha = node.attr<float>("alpha"),
                       .beta = node.attr<float>("beta")};
  if (attrs.radius < 0 || attrs.radius > INT32_MAX)
    throw InvalidArgumentError("{} '{}': depth_radius is {}, not in [0, {}]", node.type(), node.name(), attrs.radius,
                               INT32_MAX);
  return kernel_for(DTypes<float>{}, node, "T",
                    [=]<class T>() { return Kernel([=](KernelContext& context) { Code(context, attrs); }); });
}

inline constexpr std::array kLocalResponse{
    KernelDef{.type = "LRN", .make = make_local_response<local_response>},
    KernelDef{.type = "LRNGrad", .make = make_local_response<local_response_gradient>},
};

}  // namespace detail

KernelGroup local_response() noexcept { return detail::kLocalResponse; }

}  // namespace trainhook::kernels
