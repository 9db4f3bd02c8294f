// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/matrix.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/broadcast.hpp>
#include <trainhook/model/ops/strided_slice.hpp>

namespace trainhook::detail {

/// What the dimensions before the matrices are broadcast to.
inline Dims broadcast_batch(const NodeSpec& node) {
  const PartialShape& a = node.inputs[0].shape();
  const PartialShape& b = node.inputs[1].shape();
  const std::size_t rank = (std::max)(a.rank(), b.rank());
  Dims dims(rank - 2, 1);
  for (std::size_t back = 3; back <= rank; ++back) {
    const std::int64_t left = back <= a.rank() ? a[a.rank() - back] : 1;
    const std::int64_t right = back <= b.rank() ? b[b.rank() - back] : 1;
    const std::optional<std::int64_t> dim = broadcast_dim(left, right);
    if (!dim) {
      throw InvalidArgumentError("{}: the batches of {} and {} cannot be broadcast to one shape", label(node),
                                 node.inputs[0], node.inputs[1]);
    }
    dims[rank - back] = *dim;
  }
  return dims;
}

inline PartialShape batch_matmul_shape(const NodeSpec& node, std::size_t) {
  const bool ta = attr_of<bool>(node, "adj_x");
  const bool tb = attr_of<bool>(node, "adj_y");
  const auto dim = [&](const Output& x, std::size_t back) {
    if (!x.shape().has_rank()) return kUnknownDim;
    if (x.shape().rank() < 2) throw InvalidArgumentError("{}: {} must be of rank 2 or more", label(node), x);
    return x.shape()[x.shape().rank() - back];
  };
  const Output& a = node.inputs[0];
  const Output& b = node.inputs[1];
  const std::int64_t inner_a = dim(a, ta ? 2 : 1);
  const std::int64_t inner_b = dim(b, tb ? 1 : 2);
  if (!may_equal(inner_a, inner_b)) {
    throw InvalidArgumentError("{}: {}{} and {}{} have inner dimensions {} and {}", label(node), a,
                               ta ? " transposed" : "", b, tb ? " transposed" : "", inner_a, inner_b);
  }
  if (!a.shape().has_rank() || !b.shape().has_rank()) return {};
  Dims dims = broadcast_batch(node);
  dims.push_back(dim(a, ta ? 1 : 2));
  dims.push_back(dim(b, tb ? 2 : 1));
  return shape_of(dims);
}

/// The dimensions of `x` before its matrices, when the graph runs.
inline Output batch_dims(const Output& x) { return strided_slice(trainhook::shape(x), {0}, {-2}, {1}); }

/// `grad`, of the broadcast batch of `x` and `other`, summed to the shape of `x`.
inline Output unbroadcast_batch(const Output& grad, const Output& x, const Output& other) {
  const PartialShape& mine = x.shape();
  const PartialShape& its = other.shape();
  if (mine.has_rank() && its.has_rank() && mine.rank() == its.rank()) {
    bool is_same = true;
    for (std::size_t i = 0; i + 2 < mine.rank(); ++i) is_same = is_same && mine[i] == its[i] && mine[i] != kUnknownDim;
    if (is_same) return grad;
  }
  const Output x_dims = batch_dims(x);
  const Output other_dims = batch_dims(other);
  return reshape_like(sum_over(grad, broadcast_gradient_axes(x_dims, other_dims)), x);
}

inline Grads batch_matmul_grad(const GradientContext& context) {
  const bool ta = context.node().attr<bool>("adj_x");
  const bool tb = context.node().attr<bool>("adj_y");
  const Output a = context.input(0);
  const Output b = context.input(1);
  const Output grad = context.grad();
  Grads result(2);
  if (context.needs(0)) {
    const Output whole = ta ? batch_matmul(b, grad, tb, true, {}) : batch_matmul(grad, b, false, !tb, {});
    result[0] = unbroadcast_batch(whole, a, b);
  }
  if (context.needs(1)) {
    const Output whole = tb ? batch_matmul(grad, a, true, ta, {}) : batch_matmul(a, grad, !ta, false, {});
    result[1] = unbroadcast_batch(whole, b, a);
  }
  return result;
}

inline constexpr OpDef kBatchMatMulV2Op{
    "BatchMatMulV2", "T T -> T",
    "T:{int16,int32,int64,uint8,uint16,uint32,uint64,inexact} adj_x:bool=false adj_y:bool=false", batch_matmul_shape,
    batch_matmul_grad};

inline constexpr std::array kBatchMatMulOps{&kBatchMatMulV2Op};

OpFamily batch_matmul_ops() noexcept { return kBatchMatMulOps; }

Output batch_matmul(const Output& a, const Output& b, bool transpose_a, bool transpose_b, std::string_view name) {
  return add_op(kBatchMatMulV2Op, name, {a, b}, {{"adj_x", transpose_a}, {"adj_y", transpose_b}});
}

}  // namespace trainhook::detail
