// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of shape_rules.hpp.
#pragma once

#include <trainhook/graph_def/shape_rules.hpp>

#include <algorithm>
#include <optional>
#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/array_ops.hpp>
#include <trainhook/graph_def/op_def.hpp>

namespace trainhook::detail::shape_rules {

TRAINHOOK_DECL PartialShape attr_shape(const NodeSpec& node, std::size_t) {
  return attr_of<PartialShape>(node, "shape");
}

TRAINHOOK_DECL PartialShape attr_value(const NodeSpec& node, std::size_t) {
  const Tensor& value = attr_of<Tensor>(node, "value");
  if (value.dtype() != attr_of<DType>(node, "dtype")) {
    throw InvalidArgumentError("node '{}' ({}) holds {}, which is not of its dtype", node.name, node.type, value);
  }
  return value.shape();
}

TRAINHOOK_DECL PartialShape attr_output_shapes(const NodeSpec& node, std::size_t index) {
  const auto& shapes = attr_of<std::vector<PartialShape>>(node, "output_shapes");
  if (index >= shapes.size())
    throw InvalidArgumentError("node '{}' ({}) has too few output_shapes", node.name, node.type);
  return shapes[index];
}

TRAINHOOK_DECL PartialShape queue_component(const NodeSpec& node, std::size_t index, const Dims& rows) {
  const Attrs& queue = node.inputs[0].node().attrs();
  const auto found = queue.find("shapes");
  const auto* shapes = found == queue.end() ? nullptr : std::get_if<std::vector<PartialShape>>(&found->second);
  if (shapes == nullptr || index >= shapes->size() || !(*shapes)[index].has_rank()) return {};
  Dims dims = rows;
  dims.insert(dims.end(), (*shapes)[index].dims().begin(), (*shapes)[index].dims().end());
  return shape_of(dims);
}

TRAINHOOK_DECL PartialShape queue_elements(const NodeSpec& node, std::size_t index) {
  const auto count = constant_integers(node.inputs[1]);
  return queue_component(node, index,
                         {count && count->size() == 1 && count->front() >= 0 ? count->front() : kUnknownDim});
}

TRAINHOOK_DECL PartialShape broadcast(const NodeSpec& node, std::size_t) {
  return broadcast_shape(node.type, node.inputs[0], node.inputs[1]);
}

TRAINHOOK_DECL PartialShape select(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[1];
  return x.shape() == node.inputs[2].shape() && node.inputs[0].shape() == x.shape() ? x.shape() : PartialShape();
}

/// Axes of input 0 that input 1 names, where it is a constant.
TRAINHOOK_DECL std::optional<std::vector<std::size_t>> axes_of(const NodeSpec& node) {
  const auto axes = constant_integers(node.inputs[1]);
  if (!axes || !node.inputs[0].shape().has_rank()) return std::nullopt;
  std::vector<std::size_t> result;
  for (const std::int64_t axis : *axes)
    result.push_back(normalized_axis(node.type, axis, node.inputs[0].shape().rank(), node.inputs[0]));
  return result;
}

TRAINHOOK_DECL PartialShape reduction(const NodeSpec& node, std::size_t) {
  const auto axes = axes_of(node);
  const bool keep_dims = attr_of<bool>(node, "keep_dims");
  if (axes) return reduced_shape(node.inputs[0].shape(), *axes, keep_dims);
  return keep_dims && node.inputs[0].shape().has_rank() ? unknown_of_rank(node.inputs[0].shape().rank())
                                                        : PartialShape();
}

TRAINHOOK_DECL PartialShape arg_extreme(const NodeSpec& node, std::size_t) {
  const auto axes = axes_of(node);
  return axes ? reduced_shape(node.inputs[0].shape(), *axes, false) : PartialShape();
}

TRAINHOOK_DECL PartialShape vector_of_rank(const NodeSpec& node, std::size_t index) {
  const PartialShape& shape = node.inputs[index].shape();
  return PartialShape{shape.has_rank() ? static_cast<std::int64_t>(shape.rank()) : kUnknownDim};
}

TRAINHOOK_DECL PartialShape unique(const NodeSpec& node, std::size_t index) {
  require_rank(node.type, node.inputs[0], 1);
  return index == 0 ? PartialShape{kUnknownDim} : node.inputs[0].shape();
}

TRAINHOOK_DECL PartialShape last_dim(const NodeSpec& node, std::size_t) {
  const PartialShape& shape = node.inputs[0].shape();
  return PartialShape{shape.has_rank() && shape.rank() > 0 ? shape[shape.rank() - 1] : kUnknownDim};
}

TRAINHOOK_DECL PartialShape matmul(const NodeSpec& node, std::size_t) {
  const auto dim = [&](std::size_t input, std::string_view transposed, std::size_t axis) {
    const PartialShape& shape = node.inputs[input].shape();
    require_rank(node.type, node.inputs[input], 2);
    return shape.has_rank() ? shape[attr_of<bool>(node, transposed) ? 1 - axis : axis] : kUnknownDim;
  };
  if (!may_equal(dim(0, "transpose_a", 1), dim(1, "transpose_b", 0))) {
    throw InvalidArgumentError("MatMul '{}': the inner dimensions of {} and {} differ", node.name,
                               spelled(node.inputs[0]), spelled(node.inputs[1]));
  }
  return PartialShape{dim(0, "transpose_a", 0), dim(1, "transpose_b", 1)};
}

TRAINHOOK_DECL PartialShape reshape(const NodeSpec& node, std::size_t) {
  const PartialShape& from = node.inputs[0].shape();
  PartialShape to = shape_in(node.inputs[1]);
  if (!constant_integers(node.inputs[1]) || std::ranges::count(to.dims(), kUnknownDim) > 1) return to;
  if (!from.is_fully_known()) return to;
  Dims dims = dims_of(to);
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    if (dim != kUnknownDim && __builtin_mul_overflow(product, dim, &product)) return to;
  }
  const std::int64_t count = from.known().num_elements();
  const auto open = std::ranges::find(dims, kUnknownDim);
  const bool fits = open == dims.end() ? count == product : product != 0 && count % product == 0;
  if (!fits) throw InvalidArgumentError("Reshape '{}': {} cannot become {}", node.name, spelled(node.inputs[0]), to);
  if (open != dims.end()) *open = count / product;
  return shape_of(dims);
}

TRAINHOOK_DECL PartialShape transpose(const NodeSpec& node, std::size_t) {
  const PartialShape& shape = node.inputs[0].shape();
  const auto order = constant_integers(node.inputs[1]);
  if (!shape.has_rank()) return {};
  if (!order) return unknown_of_rank(shape.rank());
  if (order->size() != shape.rank()) {
    throw InvalidArgumentError("Transpose '{}': perm has {} elements for {}", node.name, order->size(),
                               spelled(node.inputs[0]));
  }
  Dims dims;
  for (const std::int64_t axis : *order)
    dims.push_back(shape[normalized_axis(node.type, axis, shape.rank(), node.inputs[0])]);
  return shape_of(dims);
}

TRAINHOOK_DECL PartialShape concat(const NodeSpec& node, std::size_t) {
  const PartialShape& first = node.inputs.front().shape();
  const auto axis = constant_integers(node.inputs.back());
  if (!first.has_rank()) return {};
  Dims dims = dims_of(first);
  if (!axis || axis->size() != 1) return unknown_of_rank(dims.size());
  const std::size_t along = normalized_axis(node.type, axis->front(), dims.size(), node.inputs.front());
  for (std::size_t i = 1; i + 1 < node.inputs.size(); ++i) {
    const PartialShape& next = node.inputs[i].shape();
    if (!next.has_rank()) return unknown_of_rank(dims.size());
    require_rank(node.type, node.inputs[i], dims.size());
    const bool is_known = dims[along] != kUnknownDim && next[along] != kUnknownDim;
    if (!is_known || __builtin_add_overflow(dims[along], next[along], &dims[along])) dims[along] = kUnknownDim;
  }
  return shape_of(dims);
}

TRAINHOOK_DECL PartialShape slice(const NodeSpec& node, std::size_t) {
  const auto size = constant_integers(node.inputs[2]);
  const PartialShape& from = node.inputs[0].shape();
  if (!size) return from.has_rank() ? unknown_of_rank(from.rank()) : PartialShape();
  const auto begin = constant_integers(node.inputs[1]);
  Dims dims = *size;
  for (std::size_t i = 0; i < dims.size() && i < from.rank() && begin && i < begin->size(); ++i) {
    if (dims[i] == -1 && from[i] != kUnknownDim && (*begin)[i] >= 0 && (*begin)[i] <= from[i])
      dims[i] = from[i] - (*begin)[i];
  }
  return shape_of(dims);
}

TRAINHOOK_DECL PartialShape strided_slice(const NodeSpec& node, std::size_t) {
  const auto mask = [&](std::string_view key) { return attr_of<std::int64_t>(node, key); };
  const StridedSliceMasks masks{mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"),
                                mask("shrink_axis_mask")};
  try {
    return strided_slice_shape(node.inputs[0].shape(), constant_integers(node.inputs[1]),
                               constant_integers(node.inputs[2]), constant_integers(node.inputs[3]), masks);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("StridedSlice '{}' of {}: {}", node.name, spelled(node.inputs[0]), error.what());
  }
}

TRAINHOOK_DECL PartialShape range(const NodeSpec& node, std::size_t) {
  return range_shape(node.inputs[0], node.inputs[1], node.inputs[2]);
}

TRAINHOOK_DECL PartialShape pad(const NodeSpec& node, std::size_t) {
  return changed(node, 2, [](std::int64_t& dim, const std::int64_t* amount) {
    return !__builtin_add_overflow(dim, amount[0], &dim) && !__builtin_add_overflow(dim, amount[1], &dim);
  });
}

TRAINHOOK_DECL PartialShape tile(const NodeSpec& node, std::size_t) {
  return changed(
      node, 1, [](std::int64_t& dim, const std::int64_t* times) { return !__builtin_mul_overflow(dim, *times, &dim); });
}

/// The dimensions of input 0 with `dim` put in at `axis`.
TRAINHOOK_DECL PartialShape with_dim(const NodeSpec& node, std::int64_t axis, std::int64_t dim) {
  const PartialShape& from = node.inputs[0].shape();
  if (!from.has_rank()) return {};
  Dims dims = dims_of(from);
  const std::size_t at = normalized_axis(node.type, axis, dims.size() + 1, node.inputs[0]);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), dim);
  return shape_of(dims);
}

TRAINHOOK_DECL PartialShape pack(const NodeSpec& node, std::size_t) {
  return with_dim(node, attr_of<std::int64_t>(node, "axis"), static_cast<std::int64_t>(node.inputs.size()));
}

TRAINHOOK_DECL PartialShape expand_dims(const NodeSpec& node, std::size_t) {
  const auto axis = constant_integers(node.inputs[1]);
  return axis && axis->size() == 1 ? with_dim(node, axis->front(), 1) : PartialShape();
}

TRAINHOOK_DECL PartialShape one_hot(const NodeSpec& node, std::size_t) {
  const auto depth = constant_integers(node.inputs[1]);
  return with_dim(node, attr_of<std::int64_t>(node, "axis"),
                  depth && depth->size() == 1 ? depth->front() : kUnknownDim);
}

TRAINHOOK_DECL PartialShape unpack(const NodeSpec& node, std::size_t) {
  const PartialShape& from = node.inputs[0].shape();
  if (!from.has_rank()) return {};
  return reduced_shape(
      from, {normalized_axis(node.type, attr_of<std::int64_t>(node, "axis"), from.rank(), node.inputs[0])}, false);
}

TRAINHOOK_DECL PartialShape squeeze(const NodeSpec& node, std::size_t) {
  const PartialShape& from = node.inputs[0].shape();
  const auto& axes = attr_of<Dims>(node, "squeeze_dims");
  if (!from.has_rank() || (axes.empty() && !from.is_fully_known())) return {};
  std::vector<std::size_t> gone;
  for (const std::int64_t axis : axes) gone.push_back(normalized_axis(node.type, axis, from.rank(), node.inputs[0]));
  for (std::size_t i = 0; axes.empty() && i < from.rank(); ++i) {
    if (from[i] == 1) gone.push_back(i);
  }
  return reduced_shape(from, gone, false);
}

TRAINHOOK_DECL PartialShape gather(const NodeSpec& node, std::size_t) {
  const PartialShape& params = node.inputs[0].shape();
  const PartialShape& indices = node.inputs[1].shape();
  const auto axis = constant_integers(node.inputs[2]);
  if (!params.has_rank() || !indices.has_rank() || !axis || axis->size() != 1) return {};
  Dims dims = dims_of(params);
  const auto at = dims.begin() +
                  static_cast<std::ptrdiff_t>(normalized_axis(node.type, axis->front(), dims.size(), node.inputs[0]));
  dims.insert(dims.erase(at), indices.dims().begin(), indices.dims().end());
  return shape_of(dims);
}

TRAINHOOK_DECL PartialShape segment_sum(const NodeSpec& node, std::size_t) {
  const PartialShape& data = node.inputs[0].shape();
  const PartialShape& ids = node.inputs[1].shape();
  const auto segments = constant_integers(node.inputs[2]);
  if (!data.has_rank() || !ids.has_rank() || ids.rank() > data.rank()) return {};
  Dims dims{segments && segments->size() == 1 ? segments->front() : kUnknownDim};
  dims.insert(dims.end(), data.dims().begin() + static_cast<std::ptrdiff_t>(ids.rank()), data.dims().end());
  return shape_of(dims);
}

TRAINHOOK_DECL PartialShape cross_entropy(const NodeSpec& node, std::size_t index) {
  const PartialShape& logits = node.inputs[0].shape();
  require_rank(node.type, node.inputs[0], 2);
  if (!logits.has_rank()) return unknown_of_rank(index + 1);
  return index == 0 ? PartialShape{logits[0]} : logits;
}

TRAINHOOK_DECL PartialShape windows(const NodeSpec& node, std::int64_t height, std::int64_t width,
                                    std::int64_t channels) {
  const Output& x = node.inputs[0];
  const auto& strides = attr_of<Dims>(node, "strides");
  const std::string& padding = attr_of<std::string>(node, "padding");
  const auto format = node.attrs.find("data_format");
  const bool is_nhwc = format == node.attrs.end() || format->second == AttrValue(std::string("NHWC"));
  const bool is_known =
      x.shape().has_rank() && strides.size() == 4 && is_nhwc && (padding == "SAME" || padding == "VALID");
  if (!is_known) return unknown_of_rank(4);
  require_rank(node.type, x, 4);
  require_window(node.type, "strides", {strides[1], strides[2]});
  const Padding mode = padding == "SAME" ? Padding::Same : Padding::Valid;
  return PartialShape{x.shape()[0], windowed(node.type, x, x.shape()[1], height, strides[1], mode),
                      windowed(node.type, x, x.shape()[2], width, strides[2], mode), channels};
}

TRAINHOOK_DECL PartialShape conv2d(const NodeSpec& node, std::size_t) {
  const PartialShape& filter = node.inputs[1].shape();
  require_rank(node.type, node.inputs[1], 4);
  return filter.has_rank() ? windows(node, filter[0], filter[1], filter[3]) : unknown_of_rank(4);
}

TRAINHOOK_DECL PartialShape pool(const NodeSpec& node, std::size_t) {
  const auto& ksize = attr_of<Dims>(node, "ksize");
  if (ksize.size() != 4 || ksize[1] < 1 || ksize[2] < 1)
    throw InvalidArgumentError("{} '{}': ksize is not [1,h,w,1]", node.type, node.name);
  const PartialShape& x = node.inputs[0].shape();
  require_rank(node.type, node.inputs[0], 4);
  return windows(node, ksize[1], ksize[2], x.has_rank() ? x[3] : kUnknownDim);
}

}  // namespace trainhook::detail::shape_rules
