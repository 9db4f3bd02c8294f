// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/array.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

/// The rank of the input of the same number as the extent of a vector.
inline PartialShape vector_of_rank(const NodeSpec& node, std::size_t index) {
  const PartialShape& shape = node.inputs[index].shape();
  return PartialShape{shape.has_rank() ? static_cast<std::int64_t>(shape.rank()) : kUnknownDim};
}

std::int64_t integers_in_range(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0 || (delta > 0 ? start > limit : start < limit)) return kUnknownDim;
  const auto from = static_cast<std::uint64_t>(start);  // the distance of two numbers may not fit an int64
  const auto to = static_cast<std::uint64_t>(limit);
  const std::uint64_t way = delta > 0 ? to - from : from - to;
  const std::uint64_t step = delta > 0 ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
  const std::uint64_t count = way / step + (way % step != 0 ? 1 : 0);
  return std::in_range<std::int64_t>(count) ? static_cast<std::int64_t>(count) : kUnknownDim;
}

inline PartialShape range_shape(const NodeSpec& node, std::size_t) {
  for (const Output& number : node.inputs) require_rank(label(node), number, 0);
  const auto first = constant_integers(node.inputs[0]);
  const auto last = constant_integers(node.inputs[1]);
  const auto step = constant_integers(node.inputs[2]);
  if (!first || !last || !step) return PartialShape{kUnknownDim};
  const bool goes_on = step->front() > 0 ? first->front() <= last->front() : first->front() >= last->front();
  if (step->front() == 0 || !goes_on) {
    throw InvalidArgumentError("{}: steps of {} do not lead from {} to {}", label(node), step->front(), first->front(),
                               last->front());
  }
  return PartialShape{integers_in_range(first->front(), last->front(), step->front())};
}

/// The product of the dimensions that are known; nothing if it does not fit.
inline std::optional<std::int64_t> product_of_known(std::span<const std::int64_t> dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    if (dim != kUnknownDim && __builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return product;
}

inline PartialShape reshape_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  PartialShape to = shape_rules::dims_in<1>(node, 0);
  const auto constant = constant_integers(node.inputs[1]);
  if (!constant || !x.shape().has_rank()) return to;
  Dims dims = dims_of(to);
  const auto open = std::ranges::find(dims, kUnknownDim);
  const auto open_before = std::ranges::count(x.shape().dims(), kUnknownDim);
  if (std::ranges::count(dims, kUnknownDim) + open_before > 1) return to;
  const auto count = product_of_known(x.shape().dims());
  const auto product = product_of_known(dims);
  if (!count || !product) return to;
  const bool is_fixed = open == dims.end() && open_before == 0;
  const std::int64_t whole = open_before == 0 ? *count : *product;
  const std::int64_t part = open_before == 0 ? *product : *count;
  const bool fits = is_fixed ? whole == part : (part == 0 ? open_before > 0 : whole % part == 0);
  if (!fits) throw InvalidArgumentError("{}: {} cannot become {}", label(node), x, to);
  if (open != dims.end()) *open = whole / part;
  return shape_of(dims);
}

inline PartialShape transpose_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& shape = node.inputs[0].shape();
  const auto perm = constant_integers(node.inputs[1]);
  require_rank(label(node), node.inputs[1], 1);
  const PartialShape some = unknown_of_extent(node.inputs[1].shape());
  if (some.has_rank()) require_rank(label(node), node.inputs[0], some.rank());
  if (!perm) return shape.has_rank() ? unknown_of_rank(shape.rank()) : some;
  require_rank(label(node), node.inputs[0], perm->size());
  Dims sorted = *perm;
  std::sort(sorted.begin(), sorted.end());
  Dims dims;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i))
      throw InvalidArgumentError("{}: {} is not a permutation", label(node), dims_to_string(*perm));
    dims.push_back(shape.has_rank() ? shape[static_cast<std::size_t>((*perm)[i])] : kUnknownDim);
  }
  return shape_of(dims);
}

inline PartialShape permutation_shape(const NodeSpec& node, std::size_t) {
  require_rank(label(node), node.inputs[0], 1);
  return node.inputs[0].shape().has_rank() ? node.inputs[0].shape() : PartialShape{kUnknownDim};
}

inline PartialShape expand_dims_shape(const NodeSpec& node, std::size_t) {
  const auto axis = constant_integers(node.inputs[1]);
  if (axis && axis->size() != 1)
    throw InvalidArgumentError("{}: {} must be a single axis", label(node), node.inputs[1]);
  return axis ? with_dim(node, axis->front(), 1) : PartialShape();
}

inline PartialShape squeeze_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  const PartialShape& from = x.shape();
  const auto& axes = attr_of<Dims>(node, "squeeze_dims");
  if (!from.has_rank() || (axes.empty() && !from.is_fully_known())) return {};
  std::vector<std::size_t> gone;
  for (const std::int64_t axis : axes) {
    gone.push_back(normalized_axis(label(node), axis, from.rank(), x));
    require_one(node, x, gone.back());
  }
  for (std::size_t i = 0; axes.empty() && i < from.rank(); ++i) {
    if (from[i] == 1) gone.push_back(i);
  }
  return reduced_shape(from, gone, false);
}

inline PartialShape one_hot_shape(const NodeSpec& node, std::size_t) {
  const auto depth = constant_integers(node.inputs[1]);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) require_rank(label(node), node.inputs[i], 0);
  if (depth && depth->front() < 0) throw InvalidArgumentError("{}: depth {} is negative", label(node), depth->front());
  return with_dim(node, attr_of<std::int64_t>(node, "axis"), depth ? depth->front() : kUnknownDim);
}

Output shape_tensor(const Output& x) {
  return x.shape().is_fully_known() ? constant_ints(x.graph(), dims_of(x.shape()), "Shape") : shape(x);
}

Output reshape_like(const Output& grad, const Output& x) {
  const PartialShape& shape = x.shape();
  if (shape.has_rank() && (shape == grad.shape()) && (shape.is_fully_known() || shape.rank() == 1)) return grad;
  const auto unknown = std::ranges::count(shape.dims(), kUnknownDim);
  const bool has_zero = std::ranges::count(shape.dims(), 0) > 0;
  if (shape.has_rank() && unknown <= 1 && !has_zero) return reshape(grad, dims_of(shape));
  return reshape(grad, trainhook::shape(x));
}

/// The gradient of ops that only change the shape of input 0.
inline Grads reshape_grad(const GradientContext& context) {
  Grads result(context.input_count());
  result[0] = reshape_like(context.grad(), context.input(0));
  return result;
}

inline Grads transpose_grad(const GradientContext& context);

inline constexpr OpDef kExpandDimsOp{"ExpandDims", "T Tdim -> T", "Tdim:{int32,int64}=int32", expand_dims_shape,
                                     reshape_grad};
inline constexpr OpDef kInvertPermutationOp{"InvertPermutation", "T -> T", "T:{int32,int64}=int32", permutation_shape};
inline constexpr OpDef kOneHotOp{"OneHot", "TI int32 T T -> T", "TI:{uint8,int32,int64}=int64 axis:int=-1",
                                 one_hot_shape, no_gradient};
inline constexpr OpDef kRangeOp{"Range", "Tidx Tidx Tidx -> Tidx",
                                "Tidx:{int8,int16,int32,int64,uint16,uint32,floating}=int32", range_shape, no_gradient};
inline constexpr OpDef kRankOp{"Rank", "T -> int32", "", shape_rules::scalar, no_gradient};
inline constexpr OpDef kReshapeOp{"Reshape", "T Tshape -> T", "Tshape:{int32,int64}=int32", reshape_shape,
                                  reshape_grad};
inline constexpr OpDef kShapeOp{"Shape", "T -> out_type", "out_type:{int32,int64}=int32", vector_of_rank, no_gradient};
inline constexpr OpDef kShapeNOp{"ShapeN", "N*T -> N*out_type", "N:int>0 out_type:{int32,int64}=int32", vector_of_rank,
                                 no_gradient};
inline constexpr OpDef kSizeOp{"Size", "T -> out_type", "out_type:{int32,int64}=int32", shape_rules::scalar,
                               no_gradient};
inline constexpr OpDef kSqueezeOp{"Squeeze", "T -> T", "squeeze_dims:ints=[]", squeeze_shape, reshape_grad};
inline constexpr OpDef kTransposeOp{"Transpose", "T Tperm -> T", "Tperm:{int32,int64}=int32", transpose_shape,
                                    transpose_grad};

Grads transpose_grad(const GradientContext& context) {
  const Output grad = context.grad();
  if (const auto perm = constant_integers(context.input(1))) {
    Dims inverse(perm->size());
    for (std::size_t i = 0; i < perm->size(); ++i)
      inverse[static_cast<std::size_t>((*perm)[i])] = static_cast<std::int64_t>(i);
    return {transpose(grad, inverse), Output()};
  }
  const Output inverse = add_op(kInvertPermutationOp, {}, {context.input(1)});
  const NodeSpec back{.inputs = {grad, inverse}, .outputs = {{grad.dtype(), context.input(0).shape()}}};
  return {add_node(context.graph(), kTransposeOp, back).output(), Output()};
}

Output shape_as(const Output& x, DType dtype) { return add_op(kShapeOp, {}, {x}, {{"out_type", dtype}}); }

Output reshape_to(const Output& x, const Output& to, const PartialShape& known) {
  return add_node(graph_of("Reshape", x), kReshapeOp, {.inputs = {x, to}, .outputs = {{x.dtype(), known}}}).output();
}

inline constexpr std::array kArrayOps{&kExpandDimsOp, &kInvertPermutationOp, &kOneHotOp,   &kRangeOp,
                                      &kRankOp,       &kReshapeOp,           &kShapeOp,    &kShapeNOp,
                                      &kSizeOp,       &kSqueezeOp,           &kTransposeOp};

OpFamily array_ops() noexcept { return kArrayOps; }

}  // namespace trainhook::detail

namespace trainhook {

Output shape(Output x, std::string_view name) { return detail::add_op(detail::kShapeOp, name, {x}); }

Output size(Output x, std::string_view name) { return detail::add_op(detail::kSizeOp, name, {x}); }

Output rank(Output x, std::string_view name) { return detail::add_op(detail::kRankOp, name, {x}); }

Output range(Output start, Output limit, Output delta, std::string_view name) {
  return detail::add_op(detail::kRangeOp, name, {start, limit, delta});
}

Output reshape(Output x, Output to, std::string_view name) { return detail::add_op(detail::kReshapeOp, name, {x, to}); }

Output reshape(Output x, const std::vector<std::int64_t>& dims, std::string_view name) {
  if (std::ranges::count(dims, kUnknownDim) > 1)
    throw InvalidArgumentError("Reshape: only one dimension of {} may be -1", detail::dims_to_string(dims));
  const std::string base(name.empty() ? "Reshape" : name);
  return reshape(x, detail::constant_ints(detail::graph_of("Reshape", x), dims, base + "/shape"), base);
}

Output transpose(Output x, std::vector<std::int64_t> perm, std::string_view name) {
  Graph& graph = detail::graph_of("Transpose", x);
  if (perm.empty()) {
    if (!x.shape().has_rank()) throw InvalidArgumentError("Transpose: {} has no known rank; give perm", x);
    for (std::size_t i = x.shape().rank(); i > 0; --i) perm.push_back(static_cast<std::int64_t>(i) - 1);
  }
  const Output order = detail::constant_ints(graph, perm, fmt::format("{}/perm", name));
  return detail::add_op(detail::kTransposeOp, name, {x, order});
}

Output expand_dims(Output x, std::int64_t axis, std::string_view name) {
  const Output at = detail::constant_int(detail::graph_of("ExpandDims", x), axis, fmt::format("{}/dim", name));
  return detail::add_op(detail::kExpandDimsOp, name, {x, at});
}

Output squeeze(Output x, const std::vector<std::int64_t>& axis, std::string_view name) {
  return detail::add_op(detail::kSqueezeOp, name, {x}, {{"squeeze_dims", axis}});
}

Output one_hot(Output indices, std::int64_t depth, const OneHotOptions& options, std::string_view name) {
  Graph& graph = detail::graph_of("OneHot", indices);
  const Output depth_node = detail::constant_int(graph, depth, fmt::format("{}/depth", name));
  const Output on = constant(graph, detail::filled_tensor(options.dtype, Shape{}, options.on_value),
                             fmt::format("{}/on_value", name));
  const Output off = constant(graph, detail::filled_tensor(options.dtype, Shape{}, options.off_value),
                              fmt::format("{}/off_value", name));
  return detail::add_op(detail::kOneHotOp, name, {indices, depth_node, on, off}, {{"axis", options.axis}});
}

}  // namespace trainhook
