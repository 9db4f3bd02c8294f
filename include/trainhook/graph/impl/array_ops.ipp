// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of array_ops.hpp.
#pragma once

#include <trainhook/graph/array_ops.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/constant_ops.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>

namespace trainhook {

TRAINHOOK_DECL Output cast(Output x, DType dtype, std::string_view name) {
  Graph& graph = detail::graph_of("Cast", x);
  if (x.dtype() == dtype) return x;
  detail::require_dtype("Cast", x, x.dtype() != DType::String && dtype != DType::String, "a dtype other than string");
  return detail::add_op(graph, "Cast", name, {x}, {{"DstT", dtype}, {"SrcT", x.dtype()}, {"Truncate", false}}, dtype,
                        x.shape());
}

TRAINHOOK_DECL Output shape(Output x, std::string_view name) {
  Graph& graph = detail::graph_of("Shape", x);
  const PartialShape known =
      x.shape().has_rank() ? PartialShape{static_cast<std::int64_t>(x.shape().rank())} : PartialShape{kUnknownDim};
  return detail::add_op(graph, "Shape", name, {x}, {{"T", x.dtype()}, {"out_type", DType::Int32}}, DType::Int32, known);
}

TRAINHOOK_DECL Output size(Output x, std::string_view name) {
  Graph& graph = detail::graph_of("Size", x);
  return detail::add_op(graph, "Size", name, {x}, {{"T", x.dtype()}, {"out_type", DType::Int32}}, DType::Int32,
                        Shape{});
}

TRAINHOOK_DECL Output rank(Output x, std::string_view name) {
  Graph& graph = detail::graph_of("Rank", x);
  return detail::add_op(graph, "Rank", name, {x}, {{"T", x.dtype()}}, DType::Int32, Shape{});
}

}  // namespace trainhook

namespace trainhook::detail {

TRAINHOOK_DECL std::int64_t integers_in_range(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0 || (delta > 0 ? start > limit : start < limit)) return kUnknownDim;
  const auto from = static_cast<std::uint64_t>(start);  // the distance of two numbers may be no int64
  const auto to = static_cast<std::uint64_t>(limit);
  const std::uint64_t way = delta > 0 ? to - from : from - to;
  const std::uint64_t step = delta > 0 ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
  const std::uint64_t count = way / step + (way % step != 0 ? 1 : 0);
  return std::in_range<std::int64_t>(count) ? static_cast<std::int64_t>(count) : kUnknownDim;
}

TRAINHOOK_DECL PartialShape range_shape(const Output& start, const Output& limit, const Output& delta) {
  for (const Output& number : {start, limit, delta}) require_rank("Range", number, 0);
  const auto first = constant_integers(start);
  const auto last = constant_integers(limit);
  const auto step = constant_integers(delta);
  return PartialShape{first && last && step ? integers_in_range(first->front(), last->front(), step->front())
                                            : kUnknownDim};
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output range(Output start, Output limit, Output delta, std::string_view name) {
  Graph& graph = detail::graph_of("Range", start);
  detail::require_numeric("Range", start);
  for (const Output& number : {limit, delta}) {
    detail::graph_of("Range", number);
    detail::require_same_dtype("Range", start, number);
  }
  return detail::add_op(graph, "Range", name, {start, limit, delta}, {{"Tidx", start.dtype()}}, start.dtype(),
                        detail::range_shape(start, limit, delta));
}

TRAINHOOK_DECL Output reshape(Output x, Output to, std::string_view name) {
  Graph& graph = detail::graph_of("Reshape", x);
  detail::require_index("Reshape", to);
  detail::require_rank("Reshape", to, 1);
  PartialShape result;
  if (const auto dims = detail::constant_integers(to)) {
    std::vector<std::int64_t> known = *dims;
    const auto unknown = std::count(known.begin(), known.end(), kUnknownDim);
    if (unknown > 1) throw InvalidArgumentError("Reshape: only one dimension of {} may be -1", detail::shape_of(known));
    std::int64_t product = 1;
    for (const std::int64_t dim : known) product *= dim == kUnknownDim ? 1 : dim;
    if (x.shape().is_fully_known()) {
      const std::int64_t count = x.shape().known().num_elements();
      const bool fits = unknown == 0 ? count == product : product != 0 && count % product == 0;
      if (!fits)
        throw InvalidArgumentError("Reshape: {} cannot become {}", detail::spelled(x), detail::shape_of(known));
      if (unknown == 1) *std::find(known.begin(), known.end(), kUnknownDim) = count / product;
    }
    result = detail::shape_of(known);
  } else if (to.shape().has_rank() && to.shape()[0] != kUnknownDim) {
    result = detail::unknown_of_rank(static_cast<std::size_t>(to.shape()[0]));
  }
  return detail::add_op(graph, "Reshape", name, {x, to}, {{"T", x.dtype()}, {"Tshape", to.dtype()}}, x.dtype(), result);
}

TRAINHOOK_DECL Output reshape(Output x, const std::vector<std::int64_t>& dims, std::string_view name) {
  const std::string base(name.empty() ? "Reshape" : name);
  return reshape(x, detail::constant_ints(detail::graph_of("Reshape", x), dims, base + "/shape"), base);
}

TRAINHOOK_DECL Output transpose(Output x, std::vector<std::int64_t> perm, std::string_view name) {
  Graph& graph = detail::graph_of("Transpose", x);
  if (perm.empty()) {
    if (!x.shape().has_rank())
      throw InvalidArgumentError("Transpose: {} has no known rank; give perm", detail::spelled(x));
    for (std::size_t i = x.shape().rank(); i > 0; --i) perm.push_back(static_cast<std::int64_t>(i) - 1);
  }
  detail::require_rank("Transpose", x, perm.size());
  std::vector<std::int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) {
      throw InvalidArgumentError("Transpose: {} is not a permutation", detail::shape_of(perm));
    }
    dims.push_back(x.shape().has_rank() ? x.shape()[static_cast<std::size_t>(perm[i])] : kUnknownDim);
  }
  const Output order = detail::constant_ints(graph, perm, fmt::format("{}/perm", name));
  return detail::add_op(graph, "Transpose", name, {x, order}, {{"T", x.dtype()}, {"Tperm", DType::Int32}}, x.dtype(),
                        detail::shape_of(dims));
}

TRAINHOOK_DECL Output concat(const std::vector<Output>& values, std::int64_t axis, std::string_view name) {
  if (values.empty()) throw InvalidArgumentError("ConcatV2 needs at least one value");
  Graph& graph = detail::graph_of("ConcatV2", values.front());
  PartialShape result = values.front().shape();
  for (const Output& value : values) {
    detail::require_same_dtype("ConcatV2", values.front(), value);
    if (!value.shape().has_rank()) result = PartialShape();
  }
  if (result.has_rank()) {
    const std::size_t along = detail::normalized_axis("ConcatV2", axis, result.rank(), values.front());
    std::vector<std::int64_t> dims = detail::dims_of(result);
    for (std::size_t i = 1; i < values.size(); ++i) {
      detail::require_rank("ConcatV2", values[i], dims.size());
      for (std::size_t d = 0; d < dims.size(); ++d) {
        const std::int64_t dim = values[i].shape()[d];
        const bool unknown = dims[d] == kUnknownDim || dim == kUnknownDim;
        if (d == along) {
          dims[d] = unknown ? kUnknownDim : dims[d] + dim;
        } else if (!unknown && dims[d] != dim) {
          throw InvalidArgumentError("ConcatV2: {} and {} differ beside axis {}", detail::spelled(values.front()),
                                     detail::spelled(values[i]), axis);
        } else if (dims[d] == kUnknownDim) {
          dims[d] = dim;
        }
      }
    }
    result = detail::shape_of(dims);
  }
  std::vector<Output> inputs = values;
  inputs.push_back(detail::constant_int(graph, axis, fmt::format("{}/axis", name)));
  return detail::add_op(
      graph, "ConcatV2", name, std::move(inputs),
      {{"N", static_cast<std::int64_t>(values.size())}, {"T", values.front().dtype()}, {"Tidx", DType::Int32}},
      values.front().dtype(), result);
}

TRAINHOOK_DECL Output stack(const std::vector<Output>& values, std::int64_t axis, std::string_view name) {
  if (values.empty()) throw InvalidArgumentError("Pack needs at least one value");
  Graph& graph = detail::graph_of("Pack", values.front());
  for (const Output& value : values) {
    detail::require_same_dtype("Pack", values.front(), value);
    static_cast<void>(detail::merged_shape("Pack", values.front(), value));
  }
  PartialShape result;
  if (values.front().shape().has_rank()) {
    std::vector<std::int64_t> dims = detail::dims_of(values.front().shape());
    const std::size_t at = detail::normalized_axis("Pack", axis, dims.size() + 1, values.front());
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::int64_t>(values.size()));
    result = detail::shape_of(dims);
  }
  return detail::add_op(
      graph, "Pack", name, values,
      {{"N", static_cast<std::int64_t>(values.size())}, {"T", values.front().dtype()}, {"axis", axis}},
      values.front().dtype(), result);
}

TRAINHOOK_DECL Output expand_dims(Output x, std::int64_t axis, std::string_view name) {
  Graph& graph = detail::graph_of("ExpandDims", x);
  PartialShape result;
  if (x.shape().has_rank()) {
    std::vector<std::int64_t> dims = detail::dims_of(x.shape());
    dims.insert(
        dims.begin() + static_cast<std::ptrdiff_t>(detail::normalized_axis("ExpandDims", axis, dims.size() + 1, x)), 1);
    result = detail::shape_of(dims);
  }
  const Output at = detail::constant_int(graph, axis, fmt::format("{}/dim", name));
  return detail::add_op(graph, "ExpandDims", name, {x, at}, {{"T", x.dtype()}, {"Tdim", DType::Int32}}, x.dtype(),
                        result);
}

TRAINHOOK_DECL Output squeeze(Output x, const std::vector<std::int64_t>& axis, std::string_view name) {
  Graph& graph = detail::graph_of("Squeeze", x);
  PartialShape result;
  if (x.shape().has_rank() && (!axis.empty() || x.shape().is_fully_known())) {
    std::vector<std::size_t> gone;
    for (const std::int64_t a : axis) gone.push_back(detail::normalized_axis("Squeeze", a, x.shape().rank(), x));
    for (std::size_t i = 0; axis.empty() && i < x.shape().rank(); ++i) {
      if (x.shape()[i] == 1) gone.push_back(i);
    }
    for (const std::size_t i : gone) {
      if (x.shape()[i] != 1 && x.shape()[i] != kUnknownDim) {
        throw InvalidArgumentError("Squeeze: dimension {} of {} is not 1", i, detail::spelled(x));
      }
    }
    result = detail::reduced_shape(x.shape(), gone, false);
  }
  return detail::add_op(graph, "Squeeze", name, {x}, {{"T", x.dtype()}, {"squeeze_dims", axis}}, x.dtype(), result);
}

TRAINHOOK_DECL Output one_hot(Output indices, std::int64_t depth, const OneHotOptions& options, std::string_view name) {
  Graph& graph = detail::graph_of("OneHot", indices);
  detail::require_dtype(
      "OneHot", indices,
      indices.dtype() == DType::UInt8 || indices.dtype() == DType::Int32 || indices.dtype() == DType::Int64,
      "uint8, int32 or int64");
  if (depth < 0) throw InvalidArgumentError("OneHot {}: depth {} is negative", name, depth);
  PartialShape result;
  if (indices.shape().has_rank()) {
    std::vector<std::int64_t> dims = detail::dims_of(indices.shape());
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(
                                   detail::normalized_axis("OneHot", options.axis, dims.size() + 1, indices)),
                depth);
    result = detail::shape_of(dims);
  }
  const Output depth_node = detail::constant_int(graph, depth, fmt::format("{}/depth", name));
  const Output on = constant(graph, detail::filled_tensor(options.dtype, Shape{}, options.on_value),
                             fmt::format("{}/on_value", name));
  const Output off = constant(graph, detail::filled_tensor(options.dtype, Shape{}, options.off_value),
                              fmt::format("{}/off_value", name));
  return detail::add_op(graph, "OneHot", name, {indices, depth_node, on, off},
                        {{"T", options.dtype}, {"TI", indices.dtype()}, {"axis", options.axis}}, options.dtype, result);
}

TRAINHOOK_DECL Output gather(Output params, Output indices, std::int64_t axis, std::string_view name) {
  Graph& graph = detail::graph_of("GatherV2", params);
  detail::require_index("GatherV2", indices);
  PartialShape result;
  if (params.shape().has_rank() && indices.shape().has_rank()) {
    const std::size_t at = detail::normalized_axis("GatherV2", axis, params.shape().rank(), params);
    std::vector<std::int64_t> dims = detail::dims_of(params.shape());
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), indices.shape().dims().begin(),
                indices.shape().dims().end());
    result = detail::shape_of(dims);
  }
  const Output at = detail::constant_int(graph, axis, fmt::format("{}/axis", name));
  return detail::add_op(graph, "GatherV2", name, {params, indices, at},
                        {{"Taxis", DType::Int32},
                         {"Tindices", indices.dtype()},
                         {"Tparams", params.dtype()},
                         {"batch_dims", std::int64_t{0}}},
                        params.dtype(), result);
}

}  // namespace trainhook
