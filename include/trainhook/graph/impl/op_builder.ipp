// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/op_builder.hpp>

#include <algorithm>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

Graph& graph_of(std::string_view op, const Output& x) {
  if (!x.has_value()) throw InvalidArgumentError("{}: an input is empty, it names no node", op);
  return x.graph();
}

void require_same_dtype(std::string_view op, const Output& a, const Output& b) {
  graph_of(op, b);
  if (a.dtype() != b.dtype()) throw InvalidArgumentError("{}: {} and {} differ in dtype; cast() one of them", op, a, b);
}

void require_dtype(std::string_view op, const Output& x, bool allowed, std::string_view wanted) {
  if (!allowed) throw InvalidArgumentError("{}: {} must be of {}", op, x, wanted);
}

void require_floating(std::string_view op, const Output& x) {
  graph_of(op, x);
  require_dtype(op, x, is_floating(x.dtype()), "a floating dtype");
}

void require_rank(std::string_view op, const Output& x, std::size_t rank) {
  if (x.shape().has_rank() && x.shape().rank() != rank)
    throw InvalidArgumentError("{}: {} must be of rank {}", op, x, rank);
}

std::size_t normalized_axis(std::string_view op, std::int64_t axis, std::size_t rank, const Output& x) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    throw InvalidArgumentError("{}: axis {} does not exist in {}", op, axis, x);
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::vector<std::int64_t> dims_of(const PartialShape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

PartialShape shape_of(const std::vector<std::int64_t>& dims) {
  return PartialShape(std::span<const std::int64_t>(dims));
}

PartialShape unknown_of_rank(std::size_t rank) { return shape_of(std::vector<std::int64_t>(rank, kUnknownDim)); }

std::optional<std::int64_t> broadcast_dim(std::int64_t a, std::int64_t b) noexcept {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  if (a == kUnknownDim) return b;  // must turn out 1 or b
  if (b == kUnknownDim) return a;
  return std::nullopt;
}

PartialShape broadcast_shape(std::string_view op, const Output& a, const Output& b) {
  const PartialShape& left = a.shape();
  const PartialShape& right = b.shape();
  if (!left.has_rank() || !right.has_rank()) return {};
  const std::size_t rank = (std::max)(left.rank(), right.rank());
  std::vector<std::int64_t> dims(rank, 1);
  for (std::size_t back = 1; back <= rank; ++back) {
    const std::int64_t l = back <= left.rank() ? left[left.rank() - back] : 1;
    const std::int64_t r = back <= right.rank() ? right[right.rank() - back] : 1;
    const std::optional<std::int64_t> dim = broadcast_dim(l, r);
    if (!dim) throw InvalidArgumentError("{}: {} and {} cannot be broadcast to one shape", op, a, b);
    dims[rank - back] = *dim;
  }
  return shape_of(dims);
}

PartialShape merge(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank()) return b;
  if (!b.has_rank()) return a;
  std::vector<std::int64_t> dims = dims_of(a);
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = dims[i] == kUnknownDim ? b[i] : dims[i];
  return shape_of(dims);
}

PartialShape merged_shape(std::string_view op, const Output& a, const Output& b) {
  if (!a.shape().compatible_with(b.shape())) throw InvalidArgumentError("{}: {} and {} differ in shape", op, a, b);
  return merge(a.shape(), b.shape());
}

PartialShape merged_shapes(std::string_view op, std::span<const Output> inputs) {
  PartialShape shape;
  for (const Output& input : inputs) {
    if (!shape.compatible_with(input.shape())) {  // then it does not fit one of those before it
      for (const Output& earlier : inputs) static_cast<void>(merged_shape(op, earlier, input));
    }
    shape = merge(shape, input.shape());
  }
  return shape;
}

PartialShape reduced_shape(const PartialShape& shape, const std::vector<std::size_t>& axes, bool keep_dims) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced) dims.push_back(shape[i]);
    if (reduced && keep_dims) dims.push_back(1);
  }
  return shape_of(dims);
}

Operation add_node(Graph& graph, const OpDef& def, NodeSpec spec) {
  infer_attrs(spec, def);
  return graph.add(def, std::move(spec));
}

Output add_op(const OpDef& def, std::string_view name, std::vector<Output> inputs, Attrs attrs) {
  Graph& graph = graph_of(def.type, inputs.front());
  return add_node(graph, def, {.name = std::string(name), .inputs = std::move(inputs), .attrs = std::move(attrs)})
      .output();
}

/// The value of an output that is a constant.
inline const Tensor* constant_value(const Output& x) {
  const bool is_known = x.node().type() == "Const" && !x.node().has_attr(kCannotRun);
  return is_known ? &x.node().attr<Tensor>("value") : nullptr;
}

std::optional<std::vector<std::int64_t>> constant_integers(const Output& x) {
  const Tensor* value = constant_value(x);
  if (value == nullptr) return std::nullopt;
  std::vector<std::int64_t> result;
  if (value->dtype() == DType::Int32) {
    for (const std::int32_t element : value->data<std::int32_t>()) result.push_back(element);
  } else if (value->dtype() == DType::Int64) {
    for (const std::int64_t element : value->data<std::int64_t>()) result.push_back(element);
  } else {
    return std::nullopt;
  }
  return result;
}

std::optional<std::int64_t> constant_integer(const Output& x, std::size_t index) {
  const Tensor* value = constant_value(x);
  if (value == nullptr || index >= static_cast<std::size_t>(value->num_elements())) return std::nullopt;
  if (value->dtype() == DType::Int32) return value->data<std::int32_t>()[index];
  if (value->dtype() == DType::Int64) return value->data<std::int64_t>()[index];
  return std::nullopt;
}

}  // namespace trainhook::detail
