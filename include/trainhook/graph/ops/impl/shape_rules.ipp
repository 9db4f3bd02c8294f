// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/ops/shape_rules.hpp>

#include <string>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

PartialShape shape_in(const Output& dims) {
  if (const auto values = constant_integers(dims)) return shape_of(*values);
  if (dims.node().type() == "Shape") return dims.node().inputs()[0].shape();
  return unknown_of_extent(dims.shape());
}

PartialShape unknown_of_extent(const PartialShape& dims) {
  const bool is_known =
      dims.has_rank() && dims.rank() > 0 && dims[0] != kUnknownDim && static_cast<std::size_t>(dims[0]) <= kMaxRank;
  return is_known ? unknown_of_rank(static_cast<std::size_t>(dims[0])) : PartialShape();
}

std::size_t channel_axis(const NodeSpec& node, std::size_t rank) {
  return attr_of<std::string>(node, "data_format").starts_with("NC") ? 1 : rank - 1;
}

void require_one(const NodeSpec& node, const Output& x, std::size_t axis) {
  if (!may_equal(x.shape()[axis], 1))
    throw InvalidArgumentError("{}: dimension {} of {} is not 1", label(node), axis, x);
}

PartialShape with_dim(const NodeSpec& node, std::int64_t axis, std::int64_t dim) {
  const PartialShape& from = node.inputs[0].shape();
  if (!from.has_rank()) return {};
  Dims dims = dims_of(from);
  const std::size_t at = normalized_axis(label(node), axis, dims.size() + 1, node.inputs[0]);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), dim);
  return shape_of(dims);
}

}  // namespace trainhook::detail

namespace trainhook::detail::shape_rules {

PartialShape attr_shape(const NodeSpec& node, std::size_t) { return attr_of<PartialShape>(node, "shape"); }

PartialShape broadcast(const NodeSpec& node, std::size_t) {
  return broadcast_shape(label(node), node.inputs[0], node.inputs[1]);
}

PartialShape merged(const NodeSpec& node, std::size_t) { return merged_shapes(label(node), node.inputs); }

}  // namespace trainhook::detail::shape_rules
