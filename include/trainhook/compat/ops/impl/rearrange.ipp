// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of the ops of rearrange.hpp.
#pragma once

#include <trainhook/compat/ops/rearrange.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/slice.hpp>

namespace trainhook::detail {

std::optional<std::int64_t> padded(std::int64_t extent, std::int64_t before, std::int64_t after) noexcept {
  const bool fits = before >= 0 && after >= 0 && !__builtin_add_overflow(extent, before, &extent) &&
                    !__builtin_add_overflow(extent, after, &extent);
  return fits ? std::optional(extent) : std::nullopt;
}

std::optional<std::int64_t> cropped(std::int64_t extent, std::int64_t before, std::int64_t after) noexcept {
  const bool fits = before >= 0 && after >= 0 && before <= extent && after <= extent - before;
  return fits ? std::optional(extent - before - after) : std::nullopt;
}

std::optional<std::int64_t> blocks_in(std::int64_t extent, std::int64_t before, std::int64_t after,
                                      std::int64_t size) noexcept {
  const auto whole = padded(extent, before, after);
  return whole && *whole % size == 0 ? std::optional(*whole / size) : std::nullopt;
}

std::optional<std::int64_t> elements_in(std::int64_t blocks, std::int64_t before, std::int64_t after,
                                        std::int64_t size) noexcept {
  std::int64_t whole = 0;
  return __builtin_mul_overflow(blocks, size, &whole) ? std::nullopt : cropped(whole, before, after);
}

/// @throws InvalidArgumentError unless `x` can be [count,2], numbers before and after each of `count` dimensions.
inline void require_pairs(const NodeSpec& node, const Output& x, std::int64_t count) {
  require_rank(label(node), x, 2);
  if (x.shape().has_rank() && (!may_equal(x.shape()[0], count) || !may_equal(x.shape()[1], 2)))
    throw InvalidArgumentError("{}: {} must be [{},2]", label(node), x, count);
}

/// Space to batch, or back if `to_batch` does not hold.
inline PartialShape blocks_shape(const NodeSpec& node, bool to_batch) {
  const Output& x = node.inputs[0];
  const Output& block = node.inputs[1];
  require_rank(label(node), block, 1);
  if (!block.shape().has_rank() || block.shape()[0] == kUnknownDim)
    throw InvalidArgumentError("{}: block_shape must have known size", label(node));
  const auto spatial = static_cast<std::size_t>(block.shape()[0]);
  require_pairs(node, node.inputs[2], block.shape()[0]);
  const auto sizes = constant_integers(block);
  if (sizes && std::ranges::any_of(*sizes, [](std::int64_t size) { return size < 1; }))
    throw InvalidArgumentError("{}: block_shape {} must be positive", label(node), dims_to_string(*sizes));
  if (!x.shape().has_rank()) return {};
  if (x.shape().rank() <= spatial)
    throw InvalidArgumentError("{}: {} must be of rank {} or more", label(node), x, spatial + 1);
  const auto borders = constant_integers(node.inputs[2]);
  Dims dims = dims_of(x.shape());
  for (std::size_t i = 0; i < spatial; ++i) {
    std::int64_t& dim = dims[i + 1];
    const auto misfit = [&] {
      return InvalidArgumentError("{}: dimension {} of {} does not go with block_shape and the borders", label(node),
                                  i + 1, x);
    };
    if (borders && ((*borders)[2 * i] < 0 || (*borders)[2 * i + 1] < 0)) throw misfit();
    std::int64_t& batch = dims[0];
    if (!sizes) {
      batch = kUnknownDim;
    } else if (batch != kUnknownDim && to_batch) {
      if (__builtin_mul_overflow(batch, (*sizes)[i], &batch)) throw misfit();
    } else if (batch != kUnknownDim) {
      if (batch % (*sizes)[i] != 0) throw misfit();
      batch /= (*sizes)[i];
    }
    if (!sizes || !borders || dim == kUnknownDim) {
      dim = kUnknownDim;
      continue;
    }
    const auto changed =
        (to_batch ? blocks_in : elements_in)(dim, (*borders)[2 * i], (*borders)[2 * i + 1], (*sizes)[i]);
    if (!changed) throw misfit();
    dim = *changed;
  }
  return shape_of(dims);
}
inline PartialShape space_to_batch_shape(const NodeSpec& node, std::size_t) { return blocks_shape(node, true); }
inline PartialShape batch_to_space_shape(const NodeSpec& node, std::size_t) { return blocks_shape(node, false); }

/// Depth to space, or back if `to_space` does not hold.
inline PartialShape depth_shape(const NodeSpec& node, bool to_space) {
  const Output& x = node.inputs[0];
  const auto size = attr_of<std::int64_t>(node, "block_size");
  constexpr std::int64_t kMost = 1 << 15;
  if (size > kMost) throw InvalidArgumentError("{}: block_size {} is too large", label(node), size);
  require_rank(label(node), x, 4);
  if (attr_of<std::string>(node, "data_format") != "NHWC") return unknown_of_rank(4);
  if (!x.shape().has_rank()) return unknown_of_rank(4);
  Dims dims = dims_of(x.shape());
  const auto change = [&](std::int64_t& dim, std::int64_t by, bool multiplies) {
    if (dim == kUnknownDim) return;
    if (!multiplies && dim % by != 0)
      throw InvalidArgumentError("{}: {} does not go with a block_size of {}", label(node), x, size);
    if (!multiplies) {
      dim /= by;
    } else if (__builtin_mul_overflow(dim, by, &dim)) {
      dim = kUnknownDim;
    }
  };
  change(dims[1], size, to_space);
  change(dims[2], size, to_space);
  change(dims[3], size * size, !to_space);
  return shape_of(dims);
}
inline PartialShape depth_to_space_shape(const NodeSpec& node, std::size_t) { return depth_shape(node, true); }
inline PartialShape space_to_depth_shape(const NodeSpec& node, std::size_t) { return depth_shape(node, false); }

/// The dimensions with a constant number of mirrored elements added before and after each, or taken away if `adds` does
/// not hold.
inline PartialShape mirrored_shape(const NodeSpec& node, bool adds) {
  const Output& x = node.inputs[0];
  const Output& paddings = node.inputs[1];
  require_pairs(node, paddings, x.shape().has_rank() ? static_cast<std::int64_t>(x.shape().rank()) : kUnknownDim);
  const auto amounts = constant_integers(paddings);
  if (!x.shape().has_rank() || !amounts) {  // TensorFlow does not look at the input of the gradient
    if (adds && x.shape().has_rank()) return unknown_of_rank(x.shape().rank());
    const bool is_counted = paddings.shape().has_rank() && paddings.shape()[0] != kUnknownDim;
    return is_counted ? unknown_of_rank(static_cast<std::size_t>(paddings.shape()[0])) : PartialShape();
  }
  Dims dims = dims_of(x.shape());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t before = (*amounts)[2 * i];
    const std::int64_t after = (*amounts)[2 * i + 1];
    if (dims[i] == kUnknownDim) continue;
    const auto changed = (adds ? padded : cropped)(dims[i], before, after);
    if (!changed)
      throw InvalidArgumentError("{}: paddings {} and {} do not go with dimension {} of {}", label(node), before, after,
                                 i, x);
    dims[i] = *changed;
  }
  return shape_of(dims);
}
inline PartialShape mirror_pad_shape(const NodeSpec& node, std::size_t) { return mirrored_shape(node, true); }
inline PartialShape mirror_pad_grad_shape(const NodeSpec& node, std::size_t) { return mirrored_shape(node, false); }

inline PartialShape reverse_sequence_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  const Output& lengths = node.inputs[1];
  require_rank(label(node), lengths, 1);
  if (!x.shape().has_rank()) return {};
  const auto rank = static_cast<std::int64_t>(x.shape().rank());
  const auto batch = attr_of<std::int64_t>(node, "batch_dim");
  const auto steps = attr_of<std::int64_t>(node, "seq_dim");
  if (batch < 0 || steps < 0 || batch >= rank || steps >= rank)
    throw InvalidArgumentError("{}: {} has no dimensions {} and {}", label(node), x, batch, steps);
  Dims dims = dims_of(x.shape());
  std::int64_t& dim = dims[static_cast<std::size_t>(batch)];
  const std::int64_t count = lengths.shape().has_rank() ? lengths.shape()[0] : kUnknownDim;
  if (!may_equal(dim, count))
    throw InvalidArgumentError("{}: {} has no length for each batch of {}", label(node), lengths, x);
  if (dim == kUnknownDim) dim = count;
  return shape_of(dims);
}

inline PartialShape band_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  require_rank(label(node), node.inputs[1], 0);
  require_rank(label(node), node.inputs[2], 0);
  if (x.shape().has_rank() && x.shape().rank() < 2)
    throw InvalidArgumentError("{}: {} must be of rank 2 or more", label(node), x);
  return x.shape();
}

inline Grads space_to_batch_grad(const GradientContext& c);
inline Grads batch_to_space_grad(const GradientContext& c);
inline Grads depth_to_space_grad(const GradientContext& c);
inline Grads space_to_depth_grad(const GradientContext& c);
inline Grads mirror_pad_grad(const GradientContext& c);
inline Grads mirror_pad_grad_grad(const GradientContext& c);
inline Grads reverse_sequence_grad(const GradientContext& c) {
  return {add_op(*c.node().op_def(), {}, {c.grad(), c.input(1)},
                 {{"batch_dim", c.node().attr<std::int64_t>("batch_dim")},
                  {"seq_dim", c.node().attr<std::int64_t>("seq_dim")}}),
          Output()};
}
/// As in TensorFlow, the constant has no gradient.
inline Grads pad_with_grad(const GradientContext& c) {
  const auto paddings = constant_integers(c.input(1));
  if (!paddings) throw UnimplementedError("the gradient of {} (PadV2) needs constant paddings", c.node().name());
  Dims begin;
  for (std::size_t i = 0; i < paddings->size(); i += 2) begin.push_back((*paddings)[i]);
  const Output from = constant_ints(c.graph(), begin, "begin");
  return {slice_with(c.grad(), from, trainhook::shape(c.input(0)), c.input(0).shape()), Output(), Output()};
}
inline Grads band_grad(const GradientContext& c) {
  return {add_op(*c.node().op_def(), {}, {c.grad(), c.input(1), c.input(2)}), Output(), Output()};
}

inline constexpr std::string_view kBlockAttrs = "block_size:int>1 data_format:string{NHWC,NCHW}=NHWC";
inline constexpr std::string_view kMirrorAttrs = "Tpaddings:{int32,int64}=int32 mode:string{REFLECT,SYMMETRIC}";

inline constexpr OpDef kBatchToSpaceNDOp{"BatchToSpaceND", "T Tblock_shape Tcrops -> T",
                                         "Tblock_shape:{int32,int64}=int32 Tcrops:{int32,int64}=int32",
                                         batch_to_space_shape, batch_to_space_grad};
inline constexpr OpDef kDepthToSpaceOp{"DepthToSpace", "T -> T", kBlockAttrs, depth_to_space_shape,
                                       depth_to_space_grad};
inline constexpr OpDef kMatrixBandPartOp{"MatrixBandPart", "T Tindex Tindex -> T", "Tindex:{int32,int64}=int64",
                                         band_shape, band_grad};
inline constexpr OpDef kMirrorPadOp{"MirrorPad", "T Tpaddings -> T", kMirrorAttrs, mirror_pad_shape, mirror_pad_grad};
inline constexpr OpDef kMirrorPadGradOp{"MirrorPadGrad", "T Tpaddings -> T", kMirrorAttrs, mirror_pad_grad_shape,
                                        mirror_pad_grad_grad};
inline constexpr OpDef kPadV2Op{"PadV2", "T Tpaddings T -> T", "Tpaddings:{int32,int64}=int32", mirror_pad_shape,
                                pad_with_grad};
inline constexpr OpDef kReverseSequenceOp{"ReverseSequence", "T Tlen -> T",
                                          "seq_dim:int batch_dim:int=0 Tlen:{int32,int64}=int64",
                                          reverse_sequence_shape, reverse_sequence_grad};
inline constexpr OpDef kSpaceToBatchNDOp{"SpaceToBatchND", "T Tblock_shape Tpaddings -> T",
                                         "Tblock_shape:{int32,int64}=int32 Tpaddings:{int32,int64}=int32",
                                         space_to_batch_shape, space_to_batch_grad};
inline constexpr OpDef kSpaceToDepthOp{"SpaceToDepth", "T -> T", kBlockAttrs, space_to_depth_shape,
                                       space_to_depth_grad};

Grads space_to_batch_grad(const GradientContext& c) {
  return {add_op(kBatchToSpaceNDOp, {}, {c.grad(), c.input(1), c.input(2)}), Output(), Output()};
}
Grads batch_to_space_grad(const GradientContext& c) {
  return {add_op(kSpaceToBatchNDOp, {}, {c.grad(), c.input(1), c.input(2)}), Output(), Output()};
}
inline Attrs attrs_of_blocks(const GradientContext& c) {
  return {{"block_size", c.node().attr<std::int64_t>("block_size")},
          {"data_format", c.node().attr<std::string>("data_format")}};
}
Grads depth_to_space_grad(const GradientContext& c) {
  return {add_op(kSpaceToDepthOp, {}, {c.grad()}, attrs_of_blocks(c))};
}
Grads space_to_depth_grad(const GradientContext& c) {
  return {add_op(kDepthToSpaceOp, {}, {c.grad()}, attrs_of_blocks(c))};
}
Grads mirror_pad_grad(const GradientContext& c) {
  return {add_op(kMirrorPadGradOp, {}, {c.grad(), c.input(1)}, {{"mode", c.node().attr<std::string>("mode")}}),
          Output()};
}
Grads mirror_pad_grad_grad(const GradientContext& c) {
  return {add_op(kMirrorPadOp, {}, {c.grad(), c.input(1)}, {{"mode", c.node().attr<std::string>("mode")}}), Output()};
}

inline constexpr std::array kRearrangeOps{&kBatchToSpaceNDOp,  &kDepthToSpaceOp,   &kMatrixBandPartOp,
                                          &kMirrorPadOp,       &kMirrorPadGradOp,  &kPadV2Op,
                                          &kReverseSequenceOp, &kSpaceToBatchNDOp, &kSpaceToDepthOp};

OpFamily rearrange_ops() noexcept { return kRearrangeOps; }

}  // namespace trainhook::detail
