// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of strided slices and of their gradient.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <trainhook/engine/kernels/strided_copy.hpp>
#include <trainhook/model/ops/strided_slice.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// Returns the elements of a slice of a tensor of shape `whole`.
inline StridedView view_of(const StridedParts& parts, const Shape& whole) {
  StridedView view{0, full_strides(whole)};
  for (std::size_t i = 0; i < whole.rank(); ++i) {
    if (parts.count[i] > 0) view.offset += parts.begin[i] * view.strides[i];
    view.strides[i] = parts.count[i] > 1 ? parts.step[i] * view.strides[i] : 0;
  }
  return view;
}

/// The bounds in the inputs from `first` on.
inline StridedParts parts_in(const KernelContext& context, const Shape& whole, std::size_t first,
                             const StridedSliceMasks& masks) {
  const Ints begin = ints_of(context.input(first));
  const Ints end = ints_of(context.input(first + 1));
  const Ints strides = ints_of(context.input(first + 2));
  return StridedSlicer(whole.dims(), {begin, end, strides}, masks).parts();
}

inline StridedSliceMasks masks_of(const Node& node) {
  return {.begin = node.attr<std::int64_t>("begin_mask"),
          .end = node.attr<std::int64_t>("end_mask"),
          .ellipsis = node.attr<std::int64_t>("ellipsis_mask"),
          .new_axis = node.attr<std::int64_t>("new_axis_mask"),
          .shrink_axis = node.attr<std::int64_t>("shrink_axis_mask")};
}

inline Kernel make_strided_slice(const Node& node) {
  return [masks = masks_of(node)](KernelContext& context) {
    const Shape& whole = context.shape(0);
    const StridedParts parts = parts_in(context, whole, 1, masks);
    Tensor& out = context.output(0, context.input(0).dtype(), shape_of_ints(parts.result));
    copy_strided(context, out, {0, full_strides(shape_of_ints(parts.count))}, context.input(0), view_of(parts, whole),
                 parts.count);
  };
}

/// Zeros of the shape in input 0, with the gradient where the slice was.
inline Kernel make_strided_slice_grad(const Node& node) {
  return [masks = masks_of(node)](KernelContext& context) {
    const Shape whole = shape_of_ints(ints_of(context.input(0)));
    const StridedParts parts = parts_in(context, whole, 1, masks);
    if (context.shape(4) != shape_of_ints(parts.result)) {
      throw InvalidArgumentError("the gradient has shape {}, the slice {}", context.shape(4),
                                 shape_of_ints(parts.result));
    }
    Tensor& out = context.output(0, context.input(4).dtype(), whole);
    set_to_zero(out);
    copy_strided(context, out, view_of(parts, whole), context.input(4), {0, full_strides(shape_of_ints(parts.count))},
                 parts.count);
  };
}

inline constexpr std::array kStridedSlice{
    KernelDef{.type = "StridedSlice", .make = make_strided_slice},
    KernelDef{.type = "StridedSliceGrad", .make = make_strided_slice_grad},
};

}  // namespace detail

KernelGroup strided_slice() noexcept { return detail::kStridedSlice; }

}  // namespace trainhook::kernels
