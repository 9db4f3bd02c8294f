// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of matrix_ops.hpp.
#pragma once

#include <trainhook/graph/matrix_ops.hpp>

#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/constant_ops.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/math_ops.hpp>
#include <trainhook/graph/op_builder.hpp>

namespace trainhook {

TRAINHOOK_DECL Output matmul(Output a, Output b, MatMulOptions options, std::string_view name) {
  detail::require_numeric("MatMul", a);
  detail::require_same_dtype("MatMul", a, b);
  detail::require_rank("MatMul", a, 2);
  detail::require_rank("MatMul", b, 2);
  const auto dim = [](const Output& x, bool transposed, std::size_t axis) {
    return x.shape().has_rank() ? x.shape()[transposed ? 1 - axis : axis] : kUnknownDim;
  };
  const std::int64_t inner_a = dim(a, options.transpose_a, 1);
  const std::int64_t inner_b = dim(b, options.transpose_b, 0);
  if (inner_a != inner_b && inner_a != kUnknownDim && inner_b != kUnknownDim) {
    throw InvalidArgumentError("MatMul: {}{} and {}{} have inner dimensions {} and {}", detail::spelled(a),
                               options.transpose_a ? " transposed" : "", detail::spelled(b),
                               options.transpose_b ? " transposed" : "", inner_a, inner_b);
  }
  return detail::add_op(a.graph(), "MatMul", name, {a, b},
                        {{"T", a.dtype()}, {"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}},
                        a.dtype(), PartialShape{dim(a, options.transpose_a, 0), dim(b, options.transpose_b, 1)});
}

}  // namespace trainhook

namespace trainhook::detail {

TRAINHOOK_DECL Output reduction(std::string_view type, const Output& x, const ReduceOptions& options,
                                std::string_view name) {
  Graph& graph = graph_of(type, x);
  std::vector<std::int64_t> axes;
  PartialShape result;
  if (x.shape().has_rank()) {
    std::vector<std::size_t> gone;
    for (std::size_t i = 0; !options.axis && i < x.shape().rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    if (options.axis) axes = *options.axis;
    for (const std::int64_t axis : axes) gone.push_back(normalized_axis(type, axis, x.shape().rank(), x));
    std::vector<std::size_t> sorted = gone;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      throw InvalidArgumentError("{}: an axis of {} is named twice", type, spelled(x));
    }
    result = reduced_shape(x.shape(), gone, options.keep_dims);
  } else if (options.axis) {
    axes = *options.axis;
  } else {
    throw InvalidArgumentError("{}: {} has no known rank; name the axes", type, spelled(x));
  }
  const std::string base(name.empty() ? type : name);
  const Output indices = constant_ints(graph, axes, base + "/reduction_indices");
  Attrs attrs{{"Tidx", DType::Int32}, {"keep_dims", options.keep_dims}};
  if (type != "All" && type != "Any") attrs.emplace("T", x.dtype());
  return add_op(graph, type, base, {x, indices}, std::move(attrs), x.dtype(), result);
}

TRAINHOOK_DECL Output numeric_reduction(std::string_view type, const Output& x, const ReduceOptions& options,
                                        std::string_view name) {
  require_numeric(type, x);
  return reduction(type, x, options, name);
}

TRAINHOOK_DECL Output logical_reduction(std::string_view type, const Output& x, const ReduceOptions& options,
                                        std::string_view name) {
  graph_of(type, x);
  require_dtype(type, x, x.dtype() == DType::Bool, "bool");
  return reduction(type, x, options, name);
}

TRAINHOOK_DECL Output arg_extreme(std::string_view type, const Output& x, std::int64_t axis, DType dtype,
                                  std::string_view name) {
  require_numeric(type, x);
  if (dtype != DType::Int32 && dtype != DType::Int64) {
    throw InvalidArgumentError("{}: the result must be int32 or int64, not {}", type, dtype);
  }
  PartialShape result;
  if (x.shape().has_rank())
    result = reduced_shape(x.shape(), {normalized_axis(type, axis, x.shape().rank(), x)}, false);
  const std::string base(name.empty() ? type : name);
  const Output dimension = constant_int(x.graph(), axis, base + "/dimension");
  return add_op(x.graph(), type, base, {x, dimension},
                {{"T", x.dtype()}, {"Tidx", DType::Int32}, {"output_type", dtype}}, dtype, result);
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output reduce_sum(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::numeric_reduction("Sum", x, options, name);
}

TRAINHOOK_DECL Output reduce_mean(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::numeric_reduction("Mean", x, options, name);
}

TRAINHOOK_DECL Output reduce_prod(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::numeric_reduction("Prod", x, options, name);
}

TRAINHOOK_DECL Output reduce_max(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::numeric_reduction("Max", x, options, name);
}

TRAINHOOK_DECL Output reduce_min(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::numeric_reduction("Min", x, options, name);
}

TRAINHOOK_DECL Output reduce_all(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::logical_reduction("All", x, options, name);
}

TRAINHOOK_DECL Output reduce_any(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::logical_reduction("Any", x, options, name);
}

TRAINHOOK_DECL Output argmax(Output x, std::int64_t axis, DType dtype, std::string_view name) {
  return detail::arg_extreme("ArgMax", x, axis, dtype, name);
}

TRAINHOOK_DECL Output argmin(Output x, std::int64_t axis, DType dtype, std::string_view name) {
  return detail::arg_extreme("ArgMin", x, axis, dtype, name);
}

}  // namespace trainhook
