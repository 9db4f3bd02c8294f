// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of array_gradients.hpp.
#pragma once

#include <trainhook/graph/array_gradients.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/array_ops.hpp>
#include <trainhook/graph/constant_ops.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/matrix_ops.hpp>
#include <trainhook/graph/nn_ops.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/slice_ops.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL Output reshape_like(const Output& grad, const Output& x) {
  const PartialShape& shape = x.shape();
  if (shape.has_rank() && (shape == grad.shape()) && (shape.is_fully_known() || shape.rank() == 1)) return grad;
  const auto unknown = std::ranges::count(shape.dims(), kUnknownDim);
  const bool has_zero = std::ranges::count(shape.dims(), 0) > 0;
  if (shape.has_rank() && unknown <= 1 && !has_zero) return reshape(grad, dims_of(shape));
  return reshape(grad, trainhook::shape(x));
}

TRAINHOOK_DECL Output fill_value(const Output& grad) {
  return grad.node().type() == "Fill" ? grad.node().inputs()[1] : Output();
}

TRAINHOOK_DECL std::vector<std::int64_t> inverse_permutation(const std::vector<std::int64_t>& perm) {
  std::vector<std::int64_t> inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

TRAINHOOK_DECL Grads transpose_grad(const GradientContext& context) {
  const auto perm = constant_integers(context.input(1));
  if (perm) return {transpose(context.grad(), inverse_permutation(*perm)), Output()};
  const Output perm_node = context.input(1);
  const Output inverse = add_op(context.graph(), "InvertPermutation", {}, {perm_node}, {{"T", perm_node.dtype()}},
                                perm_node.dtype(), perm_node.shape());
  const Output grad = context.grad();
  return {add_op(context.graph(), "Transpose", {}, {grad, inverse}, {{"T", grad.dtype()}, {"Tperm", inverse.dtype()}},
                 grad.dtype(), context.input(0).shape()),
          Output()};
}

/// `Slice` whose bounds are tensors.
TRAINHOOK_DECL Output slice_with(const Output& x, const Output& begin, const Output& extents,
                                 const PartialShape& shape) {
  return add_op(x.graph(), "Slice", {}, {x, begin, extents}, {{"Index", begin.dtype()}, {"T", x.dtype()}}, x.dtype(),
                shape);
}

TRAINHOOK_DECL Grads concat_grad(const GradientContext& context) {
  const std::size_t count = context.input_count() - 1;
  const auto axis = constant_integers(context.input(count));
  const Output grad = context.grad();
  Grads result(context.input_count());
  bool is_static = axis.has_value() && context.output().shape().has_rank();
  const std::size_t along =
      is_static ? normalized_axis("ConcatV2", axis->front(), context.output().shape().rank(), grad) : 0;
  for (std::size_t i = 0; i < count; ++i) is_static = is_static && context.input(i).shape()[along] != kUnknownDim;
  if (is_static) {
    std::vector<std::int64_t> begin(grad.shape().has_rank() ? grad.shape().rank() : context.output().shape().rank(), 0);
    std::vector<std::int64_t> extents(begin.size(), -1);
    for (std::size_t i = 0; i < count; ++i) {
      extents[along] = context.input(i).shape()[along];
      if (context.needs(i)) result[i] = slice(grad, begin, extents);
      begin[along] += extents[along];
    }
    return result;
  }
  std::vector<Output> inputs{context.input(count)};
  NodeSpec offsets{.type = "ConcatOffset",
                   .attrs = {{"N", static_cast<std::int64_t>(count)}, {"shape_type", DType::Int32}}};
  for (std::size_t i = 0; i < count; ++i) {
    inputs.push_back(trainhook::shape(context.input(i)));
    offsets.outputs.push_back({DType::Int32, inputs.back().shape()});
  }
  offsets.inputs = inputs;
  const Operation starts = context.graph().add(std::move(offsets));
  for (std::size_t i = 0; i < count; ++i) {
    if (context.needs(i)) result[i] = slice_with(grad, starts.output(i), inputs[i + 1], context.input(i).shape());
  }
  return result;
}

/// Slices of the gradient, summed where an index occurs more than once; along another axis than 0, with that one in
/// front meanwhile.
TRAINHOOK_DECL Grads gather_grad(const GradientContext& context) {
  const Output params = context.input(0);
  const Output indices = context.input(1);
  const auto axes = constant_integers(context.input(2));
  if (!axes || axes->size() != 1 || !params.shape().is_fully_known()) {
    throw UnimplementedError("the gradient of {} (GatherV2) needs a constant axis and params of known shape, not {}",
                             context.node().name(), spelled(params));
  }
  const std::size_t axis = normalized_axis("GatherV2", axes->front(), params.shape().rank(), params);
  std::vector<std::int64_t> rows = dims_of(params.shape());
  const std::int64_t count = std::exchange(rows[axis], -1);
  std::vector<std::int64_t> to_front(rows.size());
  std::iota(to_front.begin(), to_front.end(), 0);
  std::vector<std::int64_t> to_back = to_front;
  const auto until = static_cast<std::ptrdiff_t>(axis) + 1;
  std::rotate(to_front.begin(), to_front.begin() + until - 1, to_front.begin() + until);
  std::rotate(to_back.begin(), to_back.begin() + 1, to_back.begin() + until);

  const bool is_flat = indices.shape().has_rank() && indices.shape().rank() == 1;
  const Output flat_indices = is_flat ? indices : reshape(indices, {-1});
  Output grad = is_flat ? context.grad() : reshape(context.grad(), rows);
  if (axis > 0) grad = transpose(grad, to_front);
  std::vector<std::int64_t> summed = dims_of(params.shape());
  std::rotate(summed.begin(), summed.begin() + until - 1, summed.begin() + until);
  const Output segments = constant_int(context.graph(), count, "num_segments");
  const Output sum = add_op(context.graph(), "UnsortedSegmentSum", {}, {grad, flat_indices, segments},
                            {{"T", params.dtype()}, {"Tindices", indices.dtype()}, {"Tnumsegments", DType::Int32}},
                            params.dtype(), shape_of(summed));
  return {axis > 0 ? transpose(sum, to_back) : sum, Output(), Output()};
}

TRAINHOOK_DECL Grads slice_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const auto begin = constant_integers(context.input(1));
  const PartialShape& cut = context.output().shape();
  if (!begin || !x.shape().has_rank()) {
    throw UnimplementedError("the gradient of {} (Slice) needs constant bounds and a known rank",
                             context.node().name());
  }
  std::vector<PadAmount> paddings;
  for (std::size_t i = 0; i < begin->size(); ++i) {
    const bool whole = (*begin)[i] == 0 && constant_integers(context.input(2)).value_or(*begin)[i] == -1;
    if (!whole && (x.shape()[i] == kUnknownDim || cut[i] == kUnknownDim)) {
      throw UnimplementedError("the gradient of {} (Slice) needs a known extent of dimension {}", context.node().name(),
                               i);
    }
    paddings.push_back({(*begin)[i], whole ? 0 : x.shape()[i] - cut[i] - (*begin)[i]});
  }
  return {pad(context.grad(), paddings), Output(), Output()};
}

/// Zeros with the gradient where the slice was.
TRAINHOOK_DECL Grads strided_slice_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const Output begin = context.input(1);
  Attrs attrs{{"Index", begin.dtype()}, {"T", x.dtype()}};
  for (const char* mask : {"begin_mask", "ellipsis_mask", "end_mask", "new_axis_mask", "shrink_axis_mask"}) {
    attrs.emplace(mask, context.node().attr<std::int64_t>(mask));
  }
  const Output dims = add_op(context.graph(), "Shape", {}, {x}, {{"T", x.dtype()}, {"out_type", begin.dtype()}},
                             begin.dtype(), PartialShape{kUnknownDim});
  Grads result(4);
  result[0] =
      add_op(context.graph(), "StridedSliceGrad", {}, {dims, begin, context.input(2), context.input(3), context.grad()},
             std::move(attrs), x.dtype(), x.shape());
  return result;
}

TRAINHOOK_DECL Grads pad_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const auto paddings = constant_integers(context.input(1));
  if (!paddings) throw UnimplementedError("the gradient of {} (Pad) needs constant paddings", context.node().name());
  std::vector<std::int64_t> begin;
  for (std::size_t i = 0; i < paddings->size(); i += 2) begin.push_back((*paddings)[i]);
  if (x.shape().is_fully_known()) return {slice(context.grad(), begin, dims_of(x.shape())), Output()};
  const Output from = constant_ints(context.graph(), begin, "begin");
  return {slice_with(context.grad(), from, trainhook::shape(x), x.shape()), Output()};
}

/// A slice of the gradient for each value that was stacked.
TRAINHOOK_DECL Grads pack_grad(const GradientContext& context) {
  const auto count = static_cast<std::int64_t>(context.input_count());
  const std::int64_t axis = context.node().attr<std::int64_t>("axis");
  const Output grad = context.grad();
  NodeSpec spec{.type = "Unpack", .inputs = {grad}, .attrs = {{"T", grad.dtype()}, {"axis", axis}, {"num", count}}};
  for (std::size_t i = 0; i < context.input_count(); ++i)
    spec.outputs.push_back({grad.dtype(), context.input(i).shape()});
  const Operation unpacked = context.graph().add(std::move(spec));
  Grads result;
  for (std::size_t i = 0; i < context.input_count(); ++i) result.push_back(unpacked.output(i));
  return result;
}

/// The copies that tiling made, as dimensions of their own, summed.
TRAINHOOK_DECL Grads tile_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const auto multiples = constant_integers(context.input(1));
  if (!multiples || !x.shape().is_fully_known()) {
    throw UnimplementedError("the gradient of {} (Tile) needs a known shape and constant multiples",
                             context.node().name());
  }
  std::vector<std::int64_t> split;
  std::vector<std::int64_t> copies;
  for (std::size_t i = 0; i < multiples->size(); ++i) {
    copies.push_back(static_cast<std::int64_t>(split.size()));
    split.push_back((*multiples)[i]);
    split.push_back(x.shape()[i]);
  }
  if (split.size() > kMaxRank) {
    throw UnimplementedError("the gradient of {} (Tile) is limited to rank {}", context.node().name(), kMaxRank / 2);
  }
  return {reduce_sum(reshape(context.grad(), split), {.axis = copies}), Output()};
}

TRAINHOOK_DECL void add_array_gradients(GradientRegistry& registry) {
  for (const char* type : {"Identity", "PlaceholderWithDefault", "CheckNumerics"}) {
    registry.add(type, [](const GradientContext& context) { return Grads{context.grad()}; });
  }
  for (const char* type :
       {"StopGradient", "ZerosLike", "OnesLike", "Shape", "ShapeN", "Size", "Rank", "Range", "ArgMax", "ArgMin",
        "OneHot", "Assign", "AssignAdd", "AssignSub", "ScatterAdd", "ScatterSub", "ScatterUpdate"}) {
    registry.add_not_differentiable(type);
  }
  registry.add("Reshape", [](const GradientContext& context) {
    return Grads{reshape_like(context.grad(), context.input(0)), Output()};
  });
  registry.add("ExpandDims", [](const GradientContext& context) {
    return Grads{reshape_like(context.grad(), context.input(0)), Output()};
  });
  registry.add("Squeeze",
               [](const GradientContext& context) { return Grads{reshape_like(context.grad(), context.input(0))}; });
  registry.add("Cast",
               [](const GradientContext& context) { return Grads{cast(context.grad(), context.input(0).dtype())}; });
  registry.add("Fill", [](const GradientContext& context) {
    const std::size_t rank = context.output().shape().rank();
    if (!context.output().shape().has_rank()) {
      throw UnimplementedError("the gradient of {} (Fill) needs a known rank", context.node().name());
    }
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    return Grads{Output(), reduce_sum(context.grad(), {.axis = axes})};
  });
  registry.add("Transpose", transpose_grad);
  registry.add("ConcatV2", concat_grad);
  registry.add("GatherV2", gather_grad);
  registry.add("Slice", slice_grad);
  registry.add("StridedSlice", strided_slice_grad);
  registry.add("Pad", pad_grad);
  registry.add("Pack", pack_grad);
  registry.add("Tile", tile_grad);
}

}  // namespace trainhook::detail
