// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/join.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/slice.hpp>

namespace trainhook::detail {

inline PartialShape concat_shape(const NodeSpec& node, std::size_t) {
  const std::string op = label(node);
  const std::span<const Output> values(node.inputs.data(), node.inputs.size() - 1);
  const auto axis = constant_integers(node.inputs.back());
  require_rank(op, node.inputs.back(), 0);
  const auto known = std::ranges::find_if(values, [](const Output& value) { return value.shape().has_rank(); });
  if (known == values.end()) return {};
  const Output& first = *known;
  for (const Output& value : values) require_rank(op, value, first.shape().rank());
  if (first.shape().rank() == 0) throw InvalidArgumentError("{}: {} is a scalar; stack() joins scalars", op, first);
  if (!axis) return unknown_of_rank(first.shape().rank());
  Dims dims = dims_of(first.shape());
  const std::size_t along = normalized_axis(op, axis->front(), dims.size(), first);
  dims[along] = 0;
  for (const Output& value : values) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::int64_t dim = value.shape().has_rank() ? value.shape()[d] : kUnknownDim;
      const bool unknown = dims[d] == kUnknownDim || dim == kUnknownDim;
      if (d == along) {
        if (unknown || __builtin_add_overflow(dims[d], dim, &dims[d])) dims[d] = kUnknownDim;
      } else if (!unknown && dims[d] != dim) {
        throw InvalidArgumentError("{}: {} and {} differ beside axis {}", op, first, value, axis->front());
      } else if (dims[d] == kUnknownDim) {
        dims[d] = dim;
      }
    }
  }
  return shape_of(dims);
}

inline PartialShape concat_offset_shape(const NodeSpec& node, std::size_t) {
  const std::span<const Output> shapes = std::span(node.inputs).subspan(1);
  require_rank(label(node), node.inputs.front(), 0);
  for (const Output& shape : shapes) require_rank(label(node), shape, 1);
  return merged_shapes(label(node), shapes);
}

inline PartialShape pack_shape(const NodeSpec& node, std::size_t) {
  const PartialShape one = merged_shapes(label(node), node.inputs);
  if (!one.has_rank()) return {};
  Dims dims = dims_of(one);
  const std::size_t at =
      normalized_axis(label(node), attr_of<std::int64_t>(node, "axis"), dims.size() + 1, node.inputs.front());
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::int64_t>(node.inputs.size()));
  return shape_of(dims);
}

inline PartialShape unpack_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  if (!x.shape().has_rank()) return {};
  const std::size_t axis = normalized_axis(label(node), attr_of<std::int64_t>(node, "axis"), x.shape().rank(), x);
  const auto count = attr_of<std::int64_t>(node, "num");
  if (!may_equal(x.shape()[axis], count))
    throw InvalidArgumentError("{}: dimension {} of {} is not {}", label(node), axis, x, count);
  return reduced_shape(x.shape(), {axis}, false);
}

inline PartialShape gather_shape(const NodeSpec& node, std::size_t) {
  const Output& params = node.inputs[0];
  const PartialShape& indices = node.inputs[1].shape();
  require_rank(label(node), node.inputs[2], 0);
  const auto axis = constant_integers(node.inputs[2]);
  if (!params.shape().has_rank()) return {};
  Dims dims = dims_of(params.shape());
  if (dims.empty()) throw InvalidArgumentError("{}: {} is a scalar and has no slices", label(node), params);
  if (axis) static_cast<void>(normalized_axis(label(node), axis->front(), dims.size(), params));
  const auto batch_dims = attr_of<std::int64_t>(node, "batch_dims");
  if (!indices.has_rank()) return {};
  const auto most = static_cast<std::int64_t>((std::min)(indices.rank(), dims.size()));
  if (batch_dims > most || batch_dims < -static_cast<std::int64_t>(indices.rank()))
    throw InvalidArgumentError("{}: {} has no {} dimensions of batches", label(node), node.inputs[1], batch_dims);
  if (batch_dims != 0) return {};
  if (!axis) return unknown_of_rank(dims.size() - 1 + indices.rank());
  const std::size_t along = normalized_axis(label(node), axis->front(), dims.size(), params);
  const auto at = dims.begin() + static_cast<std::ptrdiff_t>(along);
  dims.insert(dims.erase(at), indices.dims().begin(), indices.dims().end());
  return shape_of(dims);
}

inline PartialShape segment_sum_shape(const NodeSpec& node, std::size_t) {
  const Output& data = node.inputs[0];
  const Output& ids = node.inputs[1];
  const auto count = constant_integers(node.inputs[2]);
  require_rank(label(node), node.inputs[2], 0);
  if (count && count->front() < 0)
    throw InvalidArgumentError("{}: the number of segments {} is negative", label(node), count->front());
  if (!data.shape().has_rank() || !ids.shape().has_rank()) return {};
  bool fits = ids.shape().rank() <= data.shape().rank();
  for (std::size_t i = 0; fits && i < ids.shape().rank(); ++i) fits = may_equal(ids.shape()[i], data.shape()[i]);
  if (!fits) throw InvalidArgumentError("{}: {} does not start with the dimensions of {}", label(node), data, ids);
  Dims dims{count ? count->front() : kUnknownDim};
  dims.insert(dims.end(), data.shape().dims().begin() + static_cast<std::ptrdiff_t>(ids.shape().rank()),
              data.shape().dims().end());
  return shape_of(dims);
}

/// The elements of all data, at the places that the indices before them name.
inline PartialShape stitched_shape(const NodeSpec& node, std::size_t) {
  const std::size_t count = node.inputs.size() / 2;
  PartialShape element;
  std::int64_t largest = -1;
  bool is_known = true;
  for (std::size_t i = 0; i < count; ++i) {
    const auto places = constant_integers(node.inputs[i]);
    is_known = is_known && places;
    if (places && !places->empty()) largest = (std::max)(largest, (std::ranges::max)(*places));
    const PartialShape& indices = node.inputs[i].shape();
    const PartialShape& data = node.inputs[count + i].shape();
    if (!indices.has_rank() || !data.has_rank()) continue;
    bool fits = indices.rank() <= data.rank();
    for (std::size_t d = 0; fits && d < indices.rank(); ++d) fits = may_equal(indices[d], data[d]);
    const PartialShape rest(data.dims().subspan(fits ? indices.rank() : 0));
    if (!fits || !rest.compatible_with(element)) {
      throw InvalidArgumentError("{}: {} has no element for each of {} that is like the others", label(node),
                                 node.inputs[count + i], node.inputs[i]);
    }
    element = merge(element, rest);
  }
  if (!element.has_rank()) return {};
  Dims dims = dims_of(element);
  dims.insert(dims.begin(), is_known ? largest + 1 : kUnknownDim);
  return shape_of(dims);
}

inline Grads unpack_grad(const GradientContext& context);

inline constexpr OpDef kConcatOffsetOp{"ConcatOffset", "int32 N*shape_type -> N*shape_type",
                                       "N:int>1 shape_type:{int32,int64}=int32", concat_offset_shape};
inline constexpr OpDef kUnpackOp{"Unpack", "T -> num*T", "axis:int=0", unpack_shape, unpack_grad};
inline constexpr OpDef kUnsortedSegmentSumOp{"UnsortedSegmentSum", "T Tindices Tnumsegments -> T",
                                             "T:number Tindices:{int32,int64} Tnumsegments:{int32,int64}=int32",
                                             segment_sum_shape};

inline Grads concat_grad(const GradientContext& context) {
  const std::size_t count = context.input_count() - 1;
  const auto axis = constant_integers(context.input(count));
  const Output grad = context.grad();
  Grads result(context.input_count());
  bool is_static = axis.has_value() && context.output().shape().has_rank();
  const std::size_t along =
      is_static ? normalized_axis("ConcatV2", axis->front(), context.output().shape().rank(), grad) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const PartialShape& shape = context.input(i).shape();
    is_static = is_static && shape.has_rank() && shape[along] != kUnknownDim;
  }
  if (is_static) {
    Dims begin(grad.shape().has_rank() ? grad.shape().rank() : context.output().shape().rank(), 0);
    Dims extents(begin.size(), -1);
    for (std::size_t i = 0; i < count; ++i) {
      extents[along] = context.input(i).shape()[along];
      if (context.needs(i)) result[i] = slice(grad, begin, extents);
      begin[along] += extents[along];
    }
    return result;
  }
  std::vector<Output> inputs{context.input(count)};
  for (std::size_t i = 0; i < count; ++i) inputs.push_back(trainhook::shape(context.input(i)));
  const Operation starts = add_node(context.graph(), kConcatOffsetOp, {.inputs = inputs});
  for (std::size_t i = 0; i < count; ++i) {
    if (context.needs(i)) result[i] = slice_with(grad, starts.output(i), inputs[i + 1], context.input(i).shape());
  }
  return result;
}

/// Slices of the gradient, summed if an index occurs more than once. Another axis than 0 is moved to the front for
/// that.
inline Grads gather_grad(const GradientContext& context) {
  const Output params = context.input(0);
  const Output indices = context.input(1);
  const auto axes = constant_integers(context.input(2));
  if (!axes || axes->size() != 1 || !params.shape().is_fully_known()) {
    throw UnimplementedError("the gradient of {} (GatherV2) needs a constant axis and params of known shape, not {}",
                             context.node().name(), params);
  }
  const std::size_t axis = normalized_axis("GatherV2", axes->front(), params.shape().rank(), params);
  Dims rows = dims_of(params.shape());
  const std::int64_t count = std::exchange(rows[axis], -1);
  Dims to_front(rows.size());
  std::iota(to_front.begin(), to_front.end(), 0);
  Dims to_back = to_front;
  const auto until = static_cast<std::ptrdiff_t>(axis) + 1;
  std::rotate(to_front.begin(), to_front.begin() + until - 1, to_front.begin() + until);
  std::rotate(to_back.begin(), to_back.begin() + 1, to_back.begin() + until);

  const bool is_flat = indices.shape().has_rank() && indices.shape().rank() == 1;
  const Output flat_indices = is_flat ? indices : reshape(indices, {-1});
  Output grad = is_flat ? context.grad() : reshape(context.grad(), rows);
  if (axis > 0) grad = transpose(grad, to_front);
  Dims summed = dims_of(params.shape());
  std::rotate(summed.begin(), summed.begin() + until - 1, summed.begin() + until);
  const Output segments = constant_int(context.graph(), count, "num_segments");
  const Output sum =
      add_node(context.graph(), kUnsortedSegmentSumOp,
               {.inputs = {grad, flat_indices, segments}, .outputs = {{params.dtype(), shape_of(summed)}}})
          .output();
  return {axis > 0 ? transpose(sum, to_back) : sum, Output(), Output()};
}

/// A slice of the gradient for each value that was stacked.
inline Grads pack_grad(const GradientContext& context) {
  const auto count = static_cast<std::int64_t>(context.input_count());
  const std::int64_t axis = context.node().attr<std::int64_t>("axis");
  NodeSpec spec{.inputs = {context.grad()}, .attrs = {{"axis", axis}, {"num", count}}};
  for (std::size_t i = 0; i < context.input_count(); ++i)
    spec.outputs.push_back({context.grad().dtype(), context.input(i).shape()});
  const Operation unpacked = add_node(context.graph(), kUnpackOp, std::move(spec));
  Grads result;
  for (std::size_t i = 0; i < context.input_count(); ++i) result.push_back(unpacked.output(i));
  return result;
}

inline constexpr OpDef kConcatV2Op{"ConcatV2", "N*T Tidx -> T", "N:int>1 Tidx:{int32,int64}=int32", concat_shape,
                                   concat_grad};
inline constexpr OpDef kDynamicStitchOp{"DynamicStitch", "N*int32 N*T -> T", "N:int>0", stitched_shape};
inline constexpr OpDef kParallelDynamicStitchOp{"ParallelDynamicStitch", "N*int32 N*T -> T", "N:int>0", stitched_shape};
inline constexpr OpDef kGatherV2Op{"GatherV2", "Tparams Tindices Taxis -> Tparams",
                                   "batch_dims:int=0 Tindices:{int32,int64} Taxis:{int32,int64}", gather_shape,
                                   gather_grad};
inline constexpr OpDef kPackOp{"Pack", "N*T -> T", "N:int>0 axis:int=0", pack_shape, pack_grad};

/// The gradients of all parts stacked; zeros for parts that nothing depends on.
Grads unpack_grad(const GradientContext& context) {
  std::vector<Output> parts;
  for (std::size_t i = 0; i < context.node().outputs().size(); ++i)
    parts.push_back(context.grad(i).has_value() ? context.grad(i) : zeros_like(context.output(i)));
  return {add_op(kPackOp, {}, std::move(parts), {{"axis", context.node().attr<std::int64_t>("axis")}})};
}

Output concat_along(std::vector<Output> values, const Output& axis) {
  values.push_back(axis);
  return add_op(kConcatV2Op, {}, std::move(values));
}

Output dynamic_stitch(const std::vector<Output>& indices_and_values, std::int64_t count) {
  return add_op(kDynamicStitchOp, {}, indices_and_values, {{"N", count}});
}

Output unsorted_segment_sum(const Output& x, const Output& segments, const Output& count) {
  return add_op(kUnsortedSegmentSumOp, {}, {x, segments, count});
}

inline constexpr std::array kJoinOps{
    &kParallelDynamicStitchOp, &kConcatOffsetOp, &kConcatV2Op, &kDynamicStitchOp, &kGatherV2Op, &kPackOp, &kUnpackOp,
    &kUnsortedSegmentSumOp};

OpFamily join_ops() noexcept { return kJoinOps; }

}  // namespace trainhook::detail

namespace trainhook {

Output concat(const std::vector<Output>& values, std::int64_t axis, std::string_view name) {
  if (values.empty()) throw InvalidArgumentError("ConcatV2 needs at least one value");
  if (values.size() == 1) {  // TensorFlow refuses a ConcatV2 of one value
    const Output& x = values.front();
    detail::graph_of("ConcatV2", x);
    if (x.shape().has_rank()) static_cast<void>(detail::normalized_axis(name, axis, x.shape().rank(), x));
    return identity(x, name);
  }
  std::vector<Output> inputs = values;
  inputs.push_back(
      detail::constant_int(detail::graph_of("ConcatV2", values.front()), axis, fmt::format("{}/axis", name)));
  return detail::add_op(detail::kConcatV2Op, name, std::move(inputs));
}

Output stack(const std::vector<Output>& values, std::int64_t axis, std::string_view name) {
  if (values.empty()) throw InvalidArgumentError("Pack needs at least one value");
  return detail::add_op(detail::kPackOp, name, values, {{"axis", axis}});
}

Output gather(Output params, Output indices, std::int64_t axis, std::string_view name) {
  const Output at = detail::constant_int(detail::graph_of("GatherV2", params), axis, fmt::format("{}/axis", name));
  return detail::add_op(detail::kGatherV2Op, name, {params, indices, at});
}

}  // namespace trainhook
