// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of slice_ops.hpp.
#pragma once

#include <trainhook/graph/slice_ops.hpp>

#include <algorithm>

#include <fmt/core.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/array_ops.hpp>
#include <trainhook/graph/constant_ops.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL PartialShape shape_in(const Output& dims) {
  if (const auto values = constant_integers(dims)) return shape_of(*values);
  if (dims.node().type() == "Shape") return dims.node().inputs()[0].shape();
  if (dims.shape().has_rank() && dims.shape().rank() == 1 && dims.shape()[0] != kUnknownDim) {
    return unknown_of_rank(static_cast<std::size_t>(dims.shape()[0]));
  }
  return {};
}

TRAINHOOK_DECL Output shape_tensor(const Output& x) {
  return x.shape().is_fully_known() ? constant_ints(x.graph(), dims_of(x.shape()), "Shape") : shape(x);
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output slice(Output x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size,
                            std::string_view name) {
  Graph& graph = detail::graph_of("Slice", x);
  if (begin.size() != size.size()) {
    throw InvalidArgumentError("Slice: begin and size name {} and {} dimensions", begin.size(), size.size());
  }
  detail::require_rank("Slice", x, begin.size());
  std::vector<std::int64_t> dims = size;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t extent = x.shape().has_rank() ? x.shape()[i] : kUnknownDim;
    const bool fits = begin[i] >= 0 && size[i] >= -1 &&
                      (extent == kUnknownDim || (begin[i] <= extent && (size[i] <= extent - begin[i])));
    if (!fits) {
      throw InvalidArgumentError("Slice: begin {} and size {} leave {}", detail::dims_to_string(begin),
                                 detail::dims_to_string(size), detail::spelled(x));
    }
    if (size[i] == -1 && extent != kUnknownDim) dims[i] = extent - begin[i];
  }
  const Output from = detail::constant_ints(graph, begin, fmt::format("{}/begin", name));
  const Output extents = detail::constant_ints(graph, size, fmt::format("{}/size", name));
  return detail::add_op(graph, "Slice", name, {x, from, extents}, {{"Index", DType::Int32}, {"T", x.dtype()}},
                        x.dtype(), detail::shape_of(dims));
}

TRAINHOOK_DECL Output pad(Output x, const std::vector<PadAmount>& paddings, std::string_view name) {
  Graph& graph = detail::graph_of("Pad", x);
  detail::require_rank("Pad", x, paddings.size());
  Tensor amounts = Tensor::uninitialized(DType::Int32, Shape{static_cast<std::int64_t>(paddings.size()), 2});
  const std::span<std::int32_t> flat = amounts.overwrite_data<std::int32_t>();
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < paddings.size(); ++i) {
    const auto [before, after] = paddings[i];
    if (before < 0 || after < 0) throw InvalidArgumentError("Pad {}: the padding of dimension {} is negative", name, i);
    flat[2 * i] = static_cast<std::int32_t>(before);
    flat[2 * i + 1] = static_cast<std::int32_t>(after);
    const std::int64_t extent = x.shape().has_rank() ? x.shape()[i] : kUnknownDim;
    dims.push_back(extent == kUnknownDim ? kUnknownDim : extent + before + after);
  }
  const Output around = constant(graph, amounts, fmt::format("{}/paddings", name));
  return detail::add_op(graph, "Pad", name, {x, around}, {{"T", x.dtype()}, {"Tpaddings", DType::Int32}}, x.dtype(),
                        detail::shape_of(dims));
}

TRAINHOOK_DECL Output tile(Output x, const std::vector<std::int64_t>& multiples, std::string_view name) {
  Graph& graph = detail::graph_of("Tile", x);
  detail::require_rank("Tile", x, multiples.size());
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < multiples.size(); ++i) {
    if (multiples[i] < 0) throw InvalidArgumentError("Tile {}: multiple {} is negative", name, multiples[i]);
    const std::int64_t extent = x.shape().has_rank() ? x.shape()[i] : kUnknownDim;
    dims.push_back(extent == kUnknownDim ? kUnknownDim : extent * multiples[i]);
  }
  const Output times = detail::constant_ints(graph, multiples, fmt::format("{}/multiples", name));
  return detail::add_op(graph, "Tile", name, {x, times}, {{"T", x.dtype()}, {"Tmultiples", DType::Int32}}, x.dtype(),
                        detail::shape_of(dims));
}

TRAINHOOK_DECL Output fill(Output dims, Output value, std::string_view name) {
  Graph& graph = detail::graph_of("Fill", value);
  detail::require_index("Fill", dims);
  detail::require_rank("Fill", value, 0);
  return detail::add_op(graph, "Fill", name, {dims, value}, {{"T", value.dtype()}, {"index_type", dims.dtype()}},
                        value.dtype(), detail::shape_in(dims));
}

TRAINHOOK_DECL Output broadcast_to(Output x, Output dims, std::string_view name) {
  Graph& graph = detail::graph_of("BroadcastTo", x);
  detail::require_index("BroadcastTo", dims);
  return detail::add_op(graph, "BroadcastTo", name, {x, dims}, {{"T", x.dtype()}, {"Tidx", dims.dtype()}}, x.dtype(),
                        detail::shape_in(dims));
}

TRAINHOOK_DECL Output where(Output condition, const Operand& if_true, const Operand& if_false, std::string_view name) {
  Graph& graph = detail::graph_of("SelectV2", condition);
  detail::require_dtype("SelectV2", condition, condition.dtype() == DType::Bool, "bool");
  const auto [x, y] = detail::both("SelectV2", if_true, if_false);
  detail::require_same_dtype("SelectV2", x, y);
  PartialShape result = detail::broadcast_shape("SelectV2", x, y);
  const PartialShape with_x = detail::broadcast_shape("SelectV2", condition, x);
  const PartialShape with_y = detail::broadcast_shape("SelectV2", condition, y);
  if (with_x.has_rank() && with_y.has_rank() && result.has_rank()) {
    const std::size_t rank = std::max({result.rank(), with_x.rank(), with_y.rank()});
    std::vector<std::int64_t> dims(rank, 1);
    for (const PartialShape& shape : {result, with_x, with_y}) {
      for (std::size_t back = 1; back <= shape.rank(); ++back) {
        dims[rank - back] = detail::broadcast_dim(dims[rank - back], shape[shape.rank() - back]).value_or(kUnknownDim);
      }
    }
    result = detail::shape_of(dims);
  } else {
    result = PartialShape();
  }
  return detail::add_op(graph, "SelectV2", name, {condition, x, y}, {{"T", x.dtype()}}, x.dtype(), result);
}

}  // namespace trainhook
