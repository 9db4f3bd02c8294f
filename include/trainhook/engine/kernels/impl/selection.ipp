// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of selection.hpp.
#pragma once

#include <trainhook/engine/kernels/selection.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/engine/kernels/arrays.hpp>
#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/strided_copy.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

template <class Index>
void gather(KernelContext& context) {
  const Shape& params = context.shape(0);
  const std::size_t axis = axis_of(int_of(context.input(2)), params.rank());
  Ints dims;
  for (std::size_t i = 0; i < axis; ++i) dims.push_back(params[i]);
  for (const std::int64_t dim : context.shape(1).dims()) dims.push_back(dim);
  for (std::size_t i = axis + 1; i < params.rank(); ++i) dims.push_back(params[i]);
  const std::int64_t outer = product_of(params, 0, axis);
  const std::int64_t inner = product_of(params, axis + 1, params.rank());
  const std::span<const Index> indices = context.data<Index>(1);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= params[axis])
      throw InvalidArgumentError("indices[{}] = {} is not in [0, {})", i, indices[i], params[axis]);
  }
  Tensor& out = context.output(0, context.input(0).dtype(), shape_of_ints(dims));
  if (out.num_elements() == 0) return;
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    const T* from = stored<T>(context.input(0));
    for (std::int64_t i = 0; i < outer; ++i, from += params[axis] * inner) {
      for (const Index index : indices) to = std::copy_n(from + index * inner, inner, to);
    }
  });
}

inline Kernel make_gather(const Node& node) {
  if (node.attr<std::int64_t>("batch_dims") != 0)
    throw UnimplementedError("GatherV2 '{}': batch_dims must be 0", node.name());
  return kernel_for(IndexTypes{}, node, "Tindices", []<class Index>() { return Kernel(gather<Index>); });
}

template <class T, class Index>
void unsorted_segment_sum(KernelContext& context) {
  const Shape& data = context.shape(0);
  const Shape& ids = context.shape(1);
  const std::int64_t segments = int_of(context.input(2));
  bool fits = ids.rank() <= data.rank() && segments >= 0;
  for (std::size_t i = 0; fits && i < ids.rank(); ++i) fits = ids[i] == data[i];
  if (!fits)
    throw InvalidArgumentError("data of shape {} does not go with segment_ids of shape {} and {} segments", data, ids,
                               segments);
  Ints dims;
  dims.push_back(segments);
  for (std::size_t i = ids.rank(); i < data.rank(); ++i) dims.push_back(data[i]);
  const std::int64_t inner = product_of(data, ids.rank(), data.rank());
  const ConstTableMap<T> rows(context.data<T>(0).data(), ids.num_elements(), inner);
  TableMap<T> sums(context.output<T>(0, shape_of_ints(dims)).data(), segments, inner);
  sums.setZero();
  std::int64_t row = 0;
  for (const Index id : context.data<Index>(1)) {
    if (id >= segments) throw InvalidArgumentError("segment id {} is out of range [0, {})", id, segments);
    if (id >= 0) sums.row(id) += rows.row(row);
    ++row;
  }
}

inline Kernel make_unsorted_segment_sum(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "Tindices",
                      []<class Index>() { return Kernel(unsorted_segment_sum<T, Index>); });
  });
}

inline void select(KernelContext& context) {
  const Shape whole = broadcast_shapes(context.shape(0), broadcast_shapes(context.shape(1), context.shape(2)));
  const Ints choice = broadcast_strides(context.shape(0), whole);
  const Ints yes = broadcast_strides(context.shape(1), whole);
  const Ints no = broadcast_strides(context.shape(2), whole);
  const bool* condition = context.data<bool>(0).data();
  Tensor& out = context.output(0, context.input(1).dtype(), whole);
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    const T* if_true = stored<T>(context.input(1));
    const T* if_false = stored<T>(context.input(2));
    std::array<std::int64_t, kMaxRank> index{};
    for (std::int64_t at = 0; at < whole.num_elements(); ++at) {
      std::int64_t c = 0;
      std::int64_t y = 0;
      std::int64_t n = 0;
      for (std::size_t i = 0; i < whole.rank(); ++i) {
        c += index[i] * choice[i];
        y += index[i] * yes[i];
        n += index[i] * no[i];
      }
      to[at] = condition[c] ? if_true[y] : if_false[n];
      for (std::size_t i = whole.rank(); i-- > 0 && ++index[i] == whole[i];) index[i] = 0;
    }
  });
}

/// TensorFlow 1's form: nothing broadcasts, but one condition may decide for all elements, or for all of a row.
inline void select_rows(KernelContext& context) {
  const Shape& condition = context.shape(0);
  const Shape& shape = context.shape(1);
  const bool is_rows = condition.rank() == 1 && shape.rank() > 0 && condition[0] == shape[0];
  if (shape != context.shape(2) || (!is_rows && condition.rank() > 0 && condition != shape)) {
    throw InvalidArgumentError("condition {} does not choose between {} and {}", condition, shape, context.shape(2));
  }
  Tensor& out = context.output(0, context.input(1).dtype(), shape);
  if (out.num_elements() == 0) return;
  const std::int64_t each = shape.num_elements() / condition.num_elements();
  visit_storage(out.dtype(), [&]<class T>() {
    T* to = stored_for_writing<T>(out);
    const T* if_true = stored<T>(context.input(1));
    const T* if_false = stored<T>(context.input(2));
    for (const bool holds : context.data<bool>(0)) {
      to = std::copy_n(holds ? if_true : if_false, each, to);
      if_true += each;
      if_false += each;
    }
  });
}

inline constexpr std::array kSelection{
    KernelDef{.type = "GatherV2", .make = make_gather},
    KernelDef{.type = "UnsortedSegmentSum", .make = make_unsorted_segment_sum},
    KernelDef{.type = "SelectV2", .make = [](const Node&) { return Kernel(select); }},
    KernelDef{.type = "Select", .make = [](const Node&) { return Kernel(select_rows); }},
};

}  // namespace detail

TRAINHOOK_DECL KernelGroup selection() noexcept { return detail::kSelection; }

}  // namespace trainhook::kernels
