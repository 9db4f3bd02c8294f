// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/strided_slice.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>

namespace trainhook::detail {

StridedSlicer::StridedSlicer(std::span<const std::int64_t> dims, const StridedSliceBounds& bounds,
                             const StridedSliceMasks& masks)
    : dims_(dims), bounds_(bounds), masks_(masks) {}

StridedParts StridedSlicer::parts() {
  const std::size_t entries = bounds_.begin.size();
  if (bounds_.end.size() != entries || bounds_.strides.size() != entries) {
    throw InvalidArgumentError("begin, end and strides have {}, {} and {} elements, not equally many", entries,
                               bounds_.end.size(), bounds_.strides.size());
  }
  if (entries > kMostEntries)
    throw InvalidArgumentError("begin has {} elements; at most {} are taken", entries, kMostEntries);
  if ((masks_.ellipsis & (masks_.ellipsis - 1)) != 0) throw InvalidArgumentError("more than one ellipsis");
  for (std::size_t i = 0; i < entries; ++i) {
    if (has(masks_.ellipsis, i)) {
      take_whole(dimensions_from(i + 1));
    } else if (has(masks_.new_axis, i)) {
      parts_.result.push_back(1);
    } else {
      take(i);
    }
  }
  take_whole(0);
  if (parts_.result.size() > kMaxRank) {
    throw InvalidArgumentError("the result would have {} dimensions; at most {} can be held", parts_.result.size(),
                               kMaxRank);
  }
  return parts_;
}

std::size_t StridedSlicer::dimensions_from(std::size_t i) const noexcept {
  std::size_t count = 0;
  for (; i < bounds_.begin.size(); ++i) count += has(masks_.new_axis, i) ? 0U : 1U;
  return count;
}

void StridedSlicer::take_whole(std::size_t left) {
  while (parts_.count.size() + left < dims_.size()) add(0, 1, dims_[parts_.count.size()], true);
}

void StridedSlicer::add(std::int64_t begin, std::int64_t step, std::int64_t count, bool stays) {
  parts_.begin.push_back(begin);
  parts_.step.push_back(step);
  parts_.count.push_back(count);
  if (stays) parts_.result.push_back(count);
}

void StridedSlicer::take(std::size_t i) {
  const std::size_t axis = parts_.count.size();
  if (axis == dims_.size())
    throw InvalidArgumentError("begin names more than the {} dimensions that there are", dims_.size());
  const std::int64_t extent = dims_[axis];
  const std::int64_t step = bounds_.strides[i];
  if (step == 0) throw InvalidArgumentError("strides[{}] is 0", i);
  if (has(masks_.shrink_axis, i)) {
    if (step < 0) throw InvalidArgumentError("strides[{}] is {} for a single element; it has to be positive", i, step);
    const std::int64_t begin = bounds_.begin[i];
    if (extent == kUnknownDim) return add(begin, 1, 1, false);
    if (begin < -extent || begin >= extent)
      throw InvalidArgumentError("index {} leaves dimension {} of {}", begin, axis, extent);
    return add(begin < 0 ? begin + extent : begin, 1, 1, false);
  }
  if (extent == kUnknownDim) return add(0, step, kUnknownDim, true);
  const std::int64_t first = step > 0 ? 0 : -1;
  const std::int64_t last = step > 0 ? extent : extent - 1;
  const auto place = [&](std::int64_t bound) { return std::clamp(bound < 0 ? bound + extent : bound, first, last); };
  const std::int64_t begin = has(masks_.begin, i) ? (step > 0 ? first : last) : place(bounds_.begin[i]);
  const std::int64_t end = has(masks_.end, i) ? (step > 0 ? last : first) : place(bounds_.end[i]);
  const std::int64_t way = step > 0 ? end - begin : begin - end;
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  add(begin, step, way <= 0 ? 0 : static_cast<std::int64_t>((static_cast<std::uint64_t>(way) - 1) / stride + 1), true);
}

inline PartialShape strided_slice_shape(const NodeSpec& node, std::size_t) {
  const auto mask = [&](std::string_view key) { return attr_of<std::int64_t>(node, key); };
  const StridedSliceMasks masks{mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"),
                                mask("shrink_axis_mask")};
  for (std::size_t i = 1; i < 4; ++i) require_rank(label(node), node.inputs[i], 1);
  static_cast<void>(merged_shapes(label(node), std::span(node.inputs).subspan(1)));
  const PartialShape& from = node.inputs[0].shape();
  const auto begin = constant_integers(node.inputs[1]);
  const auto end = constant_integers(node.inputs[2]);
  const auto strides = constant_integers(node.inputs[3]);
  if (!from.has_rank() || !begin || !end || !strides) return {};
  try {
    const StridedParts parts = StridedSlicer(from.dims(), {*begin, *end, *strides}, masks).parts();
    return PartialShape(std::span<const std::int64_t>(parts.result));
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("{} of {}: {}", label(node), node.inputs[0], error.what());
  }
}

inline constexpr std::string_view kMasks =
    "begin_mask:int=0 ellipsis_mask:int=0 end_mask:int=0 new_axis_mask:int=0 shrink_axis_mask:int=0 "
    "Index:{int32,int64}";

inline constexpr OpDef kStridedSliceGradOp{"StridedSliceGrad", "Index Index Index Index T -> T", kMasks,
                                           shape_rules::dims_in<0>};

/// Zeros with the gradient where the slice was.
inline Grads strided_slice_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const Output begin = context.input(1);
  const Output dims = shape_as(x, begin.dtype());
  NodeSpec spec{.inputs = {dims, begin, context.input(2), context.input(3), context.grad()},
                .outputs = {{x.dtype(), x.shape()}}};
  for (const char* mask : {"begin_mask", "ellipsis_mask", "end_mask", "new_axis_mask", "shrink_axis_mask"})
    spec.attrs.emplace(mask, context.node().attr<std::int64_t>(mask));
  Grads result(4);
  result[0] = add_node(context.graph(), kStridedSliceGradOp, std::move(spec)).output();
  return result;
}

inline constexpr OpDef kStridedSliceOp{"StridedSlice", "T Index Index Index -> T", kMasks, strided_slice_shape,
                                       strided_slice_grad};

inline constexpr std::array kStridedSliceOps{&kStridedSliceOp, &kStridedSliceGradOp};

OpFamily strided_slice_ops() noexcept { return kStridedSliceOps; }

}  // namespace trainhook::detail

namespace trainhook {

Output strided_slice(Output x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end,
                     const std::vector<std::int64_t>& strides, const StridedSliceMasks& masks, std::string_view name) {
  Graph& graph = detail::graph_of("StridedSlice", x);
  const Output from = detail::constant_ints(graph, begin, fmt::format("{}/begin", name));
  const Output to = detail::constant_ints(graph, end, fmt::format("{}/end", name));
  const Output apart = detail::constant_ints(graph, strides, fmt::format("{}/strides", name));
  return detail::add_op(detail::kStridedSliceOp, name, {x, from, to, apart},
                        {{"begin_mask", masks.begin},
                         {"ellipsis_mask", masks.ellipsis},
                         {"end_mask", masks.end},
                         {"new_axis_mask", masks.new_axis},
                         {"shrink_axis_mask", masks.shrink_axis}});
}

}  // namespace trainhook
