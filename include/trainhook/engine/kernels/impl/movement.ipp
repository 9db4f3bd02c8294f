// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that move elements: transpose, concat, slice, tile.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/strided_copy.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

inline void transpose(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const Ints order = ints_of(context.input(1));
  if (order.size() != shape.rank())
    throw InvalidArgumentError("perm has {} elements for rank {}", order.size(), shape.rank());
  const Ints strides = full_strides(shape);
  std::array<bool, kMaxRank> seen{};
  StridedView from;
  Ints dims;
  for (const std::int64_t entry : order) {
    const std::size_t axis = axis_of(entry, shape.rank());
    if (std::exchange(seen[axis], true)) throw InvalidArgumentError("perm names dimension {} twice", axis);
    dims.push_back(shape[axis]);
    from.strides.push_back(strides[axis]);
  }
  Tensor& out = context.output(0, context.input(0).dtype(), shape_of_ints(dims));
  copy_strided(context, out, {0, full_strides(out.shape())}, context.input(0), from, dims);
}

template <class T>
void invert_permutation(KernelContext& context) {
  const std::span<const T> order = context.data<T>(0);
  const std::span<T> inverse = context.output<T>(0, context.shape(0));
  std::ranges::fill(inverse, T{-1});
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<std::size_t>(order[i]);
    if (order[i] < 0 || at >= order.size() || inverse[at] != -1)
      throw InvalidArgumentError("the input is not a permutation of 0 to {} less 1", order.size());
    inverse[at] = static_cast<T>(i);
  }
}
inline Kernel make_invert_permutation(const Node& node) {
  return kernel_for(IndexTypes{}, node, "T", []<class T>() { return Kernel(invert_permutation<T>); });
}

inline void reverse(KernelContext& context) {
  const Shape& shape = context.shape(0);
  StridedView from{0, full_strides(shape)};
  std::array<bool, kMaxRank> seen{};
  for (const std::int64_t entry : ints_of(context.input(1))) {
    const std::size_t axis = axis_of(entry, shape.rank());
    if (std::exchange(seen[axis], true)) throw InvalidArgumentError("axis {} is named twice", axis);
    if (shape[axis] > 0) from.offset += (shape[axis] - 1) * from.strides[axis];
    from.strides[axis] *= -1;
  }
  Tensor& out = context.output(0, context.input(0).dtype(), shape);
  copy_strided(context, out, {0, full_strides(shape)}, context.input(0), from, Ints(shape.dims()));
}

/// Splits input `value` along `axis` into parts with the extents `size_of(i)`.
inline void split_into(KernelContext& context, std::size_t value, std::size_t axis, const auto& size_of) {
  const Tensor& whole = context.input(value);
  const Ints strides = full_strides(whole.shape());
  Ints dims(whole.shape().dims());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    dims[axis] = size_of(i);
    Tensor& out = context.output(i, whole.dtype(), shape_of_ints(dims));
    copy_strided(context, out, {0, full_strides(out.shape())}, whole, {offset, strides}, dims);
    offset += dims[axis] * strides[axis];
  }
}

inline void split(KernelContext& context) {
  const Shape& shape = context.shape(1);
  const std::size_t axis = axis_of(int_of(context.input(0)), shape.rank());
  const auto count = static_cast<std::int64_t>(context.num_outputs());
  if (shape[axis] % count != 0)
    throw InvalidArgumentError("dimension {} of {} cannot be split into {} equal parts", axis, shape, count);
  split_into(context, 1, axis, [&](std::size_t) { return shape[axis] / count; });
}

inline void split_by_sizes(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const std::size_t axis = axis_of(int_of(context.input(2)), shape.rank());
  const bool is_narrow = context.input(1).dtype() == DType::Int32;
  if (context.shape(1) != Shape{static_cast<std::int64_t>(context.num_outputs())})
    throw InvalidArgumentError("there must be one size for each of {} parts", context.num_outputs());
  const auto size = [&](std::size_t i) {
    return is_narrow ? std::int64_t{context.data<std::int32_t>(1)[i]} : context.data<std::int64_t>(1)[i];
  };
  std::int64_t left = shape[axis];
  std::int64_t open = 0;
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    if (size(i) < -1 || size(i) > left) throw InvalidArgumentError("sizes do not add up to {}", shape[axis]);
    open += size(i) == -1 ? 1 : 0;
    left -= size(i) == -1 ? 0 : size(i);
  }
  if (open > 1 || (open == 0 && left != 0)) throw InvalidArgumentError("sizes do not add up to {}", shape[axis]);
  split_into(context, 0, axis, [&](std::size_t i) { return size(i) == -1 ? left : size(i); });
}

inline void concat(KernelContext& context) {
  const std::size_t count = context.num_inputs() - 1;
  const Shape& first = context.shape(0);
  const std::size_t axis = axis_of(int_of(context.input(count)), first.rank());
  Ints dims(first.dims());
  dims[axis] = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Shape& shape = context.shape(i);
    bool fits = shape.rank() == first.rank();
    for (std::size_t k = 0; fits && k < shape.rank(); ++k) fits = k == axis || shape[k] == first[k];
    if (!fits)
      throw InvalidArgumentError("input {} has shape {}, which does not go with {} along axis {}", i, shape, first,
                                 axis);
    if (__builtin_add_overflow(dims[axis], shape[axis], &dims[axis]))
      throw InvalidArgumentError("the inputs are too large together along axis {}", axis);
  }
  Tensor& out = context.output(0, context.input(0).dtype(), shape_of_ints(dims));
  const Ints strides = full_strides(out.shape());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < count; ++i) {
    copy_strided(context, out, {offset, strides}, context.input(i), {0, full_strides(context.shape(i))},
                 Ints(context.shape(i).dims()));
    offset += context.shape(i)[axis] * strides[axis];
  }
}

/// Computes the index at which each of the joined tensors begins, from their shapes.
inline void concat_offset(KernelContext& context) {
  const std::size_t axis = axis_of(int_of(context.input(0)), context.data<std::int32_t>(1).size());
  std::int32_t offset = 0;
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    if (context.shape(i + 1) != context.shape(1)) throw InvalidArgumentError("all shapes must be of one rank");
    if (i > 0 && __builtin_add_overflow(offset, context.data<std::int32_t>(i)[axis], &offset))
      throw InvalidArgumentError("the shapes add up to more than 31 bits along axis {}", axis);
    const std::span<std::int32_t> start = context.output<std::int32_t>(i, context.shape(i + 1));
    std::ranges::fill(start, 0);
    start[axis] = offset;
  }
}

inline void slice(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const Ints begin = ints_of(context.input(1));
  Ints size = ints_of(context.input(2));
  if (begin.size() != shape.rank() || size.size() != shape.rank())
    throw InvalidArgumentError("begin and size need {} elements each", shape.rank());
  const StridedView from{0, full_strides(shape)};
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (size[i] == -1) size[i] = shape[i] - begin[i];
    if (begin[i] < 0 || size[i] < 0 || begin[i] > shape[i] || size[i] > shape[i] - begin[i]) {
      throw InvalidArgumentError("a slice from {} of size {} leaves dimension {} of {}", begin[i], size[i], i, shape);
    }
    offset += begin[i] * from.strides[i];
  }
  Tensor& out = context.output(0, context.input(0).dtype(), shape_of_ints(size));
  copy_strided(context, out, {0, full_strides(out.shape())}, context.input(0), {offset, from.strides}, size);
}

inline void pad(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const Ints paddings = pairs_of(context.input(1), shape.rank());
  Tensor& out = context.output(0, context.input(0).dtype(), padded_shape(shape, paddings));
  set_to_zero(out);
  const Ints strides = full_strides(out.shape());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shape.rank(); ++i) offset += paddings[2 * i] * strides[i];
  copy_strided(context, out, {offset, strides}, context.input(0), {0, full_strides(shape)}, Ints(shape.dims()));
}

/// Inserts a dimension with stride `stride` before axis `at`.
inline Ints with_stride(const Ints& strides, std::size_t at, std::int64_t stride) {
  Ints result;
  for (std::size_t i = 0; i <= strides.size(); ++i) {
    if (i == at) result.push_back(stride);
    if (i < strides.size()) result.push_back(strides[i]);
  }
  return result;
}

inline void pack(KernelContext& context, std::int64_t axis_attr) {
  const Shape& shape = context.shape(0);
  const std::size_t axis = axis_of(axis_attr, shape.rank() + 1);
  const auto count = static_cast<std::int64_t>(context.num_inputs());
  Tensor& out =
      context.output(0, context.input(0).dtype(), shape_of_ints(with_stride(Ints(shape.dims()), axis, count)));
  const Ints strides = full_strides(out.shape());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto input = static_cast<std::size_t>(i);
    if (context.shape(input) != shape) throw InvalidArgumentError("all inputs must have one shape");
    copy_strided(context, out, {i * strides[axis], strides}, context.input(input),
                 {0, with_stride(full_strides(shape), axis, 0)}, with_stride(Ints(shape.dims()), axis, 1));
  }
}

inline void unpack(KernelContext& context, std::int64_t axis_attr) {
  const Shape& shape = context.shape(0);
  const std::size_t axis = axis_of(axis_attr, shape.rank());
  if (shape[axis] != static_cast<std::int64_t>(context.num_outputs())) {
    throw InvalidArgumentError("dimension {} has {} elements, not one for each of {} outputs", axis, shape[axis],
                               context.num_outputs());
  }
  const Ints strides = full_strides(shape);
  Ints dims;
  Ints from;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i == axis) continue;
    dims.push_back(shape[i]);
    from.push_back(strides[i]);
  }
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    Tensor& out = context.output(i, context.input(0).dtype(), shape_of_ints(dims));
    copy_strided(context, out, {0, full_strides(out.shape())}, context.input(0),
                 {static_cast<std::int64_t>(i) * strides[axis], from}, dims);
  }
}

inline void tile(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const Ints multiples = ints_of(context.input(1));
  if (multiples.size() != shape.rank())
    throw InvalidArgumentError("multiples has {} elements for rank {}", multiples.size(), shape.rank());
  Ints whole;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (multiples[i] < 0) throw InvalidArgumentError("multiples must not be negative");
    std::int64_t dim = 0;
    if (__builtin_mul_overflow(shape[i], multiples[i], &dim))
      throw InvalidArgumentError("dimension {} of {} repeated {} times is too large", i, shape, multiples[i]);
    whole.push_back(dim);
  }
  Tensor& out = context.output(0, context.input(0).dtype(), shape_of_ints(whole));
  const Ints out_strides = full_strides(out.shape());
  const Ints in_strides = full_strides(shape);
  Ints dims;
  StridedView to;
  StridedView from;
  for (std::size_t i = 0; i < shape.rank(); ++i) {  // each dimension counts its repeats, then its elements
    for (const std::int64_t dim : {multiples[i], shape[i]}) dims.push_back(dim);
    for (const std::int64_t stride : {out_strides[i] * shape[i], out_strides[i]}) to.strides.push_back(stride);
    for (const std::int64_t stride : {std::int64_t{0}, in_strides[i]}) from.strides.push_back(stride);
  }
  copy_strided(context, out, to, context.input(0), from, dims);
}

inline void broadcast_to(KernelContext& context) {
  const Shape& shape = context.shape(0);
  const Shape wanted = shape_of_ints(ints_of(context.input(1)));
  if (broadcast_shapes(shape, wanted) != wanted)
    throw InvalidArgumentError("shape {} cannot be broadcast to {}", shape, wanted);
  Tensor& out = context.output(0, context.input(0).dtype(), wanted);
  copy_strided(context, out, {0, full_strides(wanted)}, context.input(0), {0, broadcast_strides(shape, wanted)},
               Ints(wanted.dims()));
}

template <void (*Code)(KernelContext&)>
Kernel plain(const Node&) {
  return Code;
}
template <void (*Code)(KernelContext&, std::int64_t)>
Kernel with_axis(const Node& node) {
  return [axis = node.attr<std::int64_t>("axis")](KernelContext& context) { Code(context, axis); };
}

inline constexpr std::array kMovement{
    KernelDef{.type = "Transpose", .make = plain<transpose>},
    KernelDef{.type = "InvertPermutation", .make = make_invert_permutation},
    KernelDef{.type = "ReverseV2", .make = plain<reverse>},
    KernelDef{.type = "Split", .make = plain<split>},
    KernelDef{.type = "SplitV", .make = plain<split_by_sizes>},
    KernelDef{.type = "ConcatV2", .make = plain<concat>},
    KernelDef{.type = "ConcatOffset", .make = plain<concat_offset>},
    KernelDef{.type = "Slice", .make = plain<slice>},
    KernelDef{.type = "Pad", .make = plain<pad>},
    KernelDef{.type = "Pack", .make = with_axis<pack>},
    KernelDef{.type = "Unpack", .make = with_axis<unpack>},
    KernelDef{.type = "Tile", .make = plain<tile>},
    KernelDef{.type = "BroadcastTo", .make = plain<broadcast_to>},
};

}  // namespace detail

KernelGroup movement() noexcept { return detail::kMovement; }

}  // namespace trainhook::kernels
