// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/normalization.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

/// The channels that input 0 and the vectors from input `from` to before `to` agree on.
inline std::int64_t channels_of(const NodeSpec& node, std::size_t from, std::size_t to) {
  const Output& x = node.inputs[0];
  std::int64_t channels = x.shape().has_rank() ? x.shape()[channel_axis(node, x.shape().rank())] : kUnknownDim;
  for (std::size_t i = from; i < to; ++i) {
    const Output& vector = node.inputs[i];
    require_rank(label(node), vector, 1);
    if (!vector.shape().has_rank()) continue;
    if (!may_equal(vector.shape()[0], channels))
      throw InvalidArgumentError("{}: {} is not a vector of the {} channels of {}", label(node), vector, channels, x);
    if (channels == kUnknownDim) channels = vector.shape()[0];
  }
  return channels;
}

inline void require_images(const NodeSpec& node, const Output& x) {
  require_rank(label(node), x, attr_of<std::string>(node, "data_format").size());
}

/// Input 0, images, with this many channels.
inline PartialShape with_channels(const NodeSpec& node, std::int64_t channels) {
  const PartialShape& shape = node.inputs[0].shape();
  Dims dims(attr_of<std::string>(node, "data_format").size(), kUnknownDim);
  if (shape.has_rank()) dims = dims_of(shape);
  dims[channel_axis(node, dims.size())] = channels;
  return shape_of(dims);
}

inline PartialShape batch_norm_shape(const NodeSpec& node, std::size_t index) {
  constexpr std::size_t kLast = 5;  // the third reserve space, whose shape depends on the device
  require_images(node, node.inputs[0]);
  if (index == kLast) return {};
  const bool reads_moments = !attr_of<bool>(node, "is_training") || attr_of<float>(node, "exponential_avg_factor") != 1;
  const std::int64_t channels = channels_of(node, 1, reads_moments ? 5 : 3);
  return index == 0 ? with_channels(node, channels) : PartialShape{channels};
}

inline PartialShape batch_norm_grad_shape(const NodeSpec& node, std::size_t index) {
  for (std::size_t i = 0; i < 2; ++i) require_images(node, node.inputs[i]);
  if (index > 2) return PartialShape{0};
  const std::int64_t channels = channels_of(node, 2, 5);
  return index == 0 ? with_channels(node, channels) : PartialShape{channels};
}

inline constexpr OpDef kFusedBatchNormGradV3Op{"FusedBatchNormGradV3", "T T float32 U U U -> T U U U U",
                                               "T:{float16,bfloat16,float32} U:float32 epsilon:float=0.0001 "
                                               "data_format:string{NHWC,NCHW,NDHWC,NCDHW}=NHWC is_training:bool=true",
                                               batch_norm_grad_shape};

/// As in TensorFlow, only what follows from `y` has a gradient.
inline Grads batch_norm_grad(const GradientContext& context) {
  Grads result(context.input_count());
  if (!context.grad(0).has_value()) return result;
  const bool is_training = context.node().attr<bool>("is_training");
  const Output mean = is_training ? context.output(3) : context.input(3);
  const Output variance = is_training ? context.output(4) : context.input(4);
  Attrs attrs;
  for (const char* key : {"T", "U", "data_format", "epsilon", "is_training"})
    attrs.emplace(key, context.node().attrs().at(key));
  const Operation grads =
      add_node(context.graph(), kFusedBatchNormGradV3Op,
               {.inputs = {context.grad(0), context.input(0), context.input(1), mean, variance, context.output(5)},
                .attrs = std::move(attrs)});
  for (std::size_t i = 0; i < 3; ++i) result[i] = grads.output(i);
  return result;
}

inline constexpr OpDef kFusedBatchNormV3Op{
    "FusedBatchNormV3", "T U U U U -> T U U U U U",
    "T:{float16,bfloat16,float32} U:{bfloat16,float32} epsilon:float=0.0001 exponential_avg_factor:float=1 "
    "data_format:string{NHWC,NCHW,NDHWC,NCDHW}=NHWC is_training:bool=true",
    batch_norm_shape, batch_norm_grad};

inline constexpr std::array kNormalizationOps{&kFusedBatchNormV3Op, &kFusedBatchNormGradV3Op};

OpFamily normalization_ops() noexcept { return kNormalizationOps; }

}  // namespace trainhook::detail

namespace trainhook {

FusedBatchNorm fused_batch_norm(Output x, Output scale, Output offset, Output mean, Output variance,
                                const FusedBatchNormOptions& options, std::string_view name) {
  const Operation op = detail::add_node(detail::graph_of("FusedBatchNormV3", x), detail::kFusedBatchNormV3Op,
                                        {.name = std::string(name),
                                         .inputs = {x, scale, offset, mean, variance},
                                         .attrs = {{"epsilon", options.epsilon},
                                                   {"exponential_avg_factor", options.exponential_avg_factor},
                                                   {"is_training", options.is_training}}});
  return {op.output(0), op.output(1), op.output(2)};
}

}  // namespace trainhook
