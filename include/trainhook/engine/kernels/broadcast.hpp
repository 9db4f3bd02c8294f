// SPDX-License-Identifier: Apache-2.0
/// @file
/// Broadcasts two shapes by NumPy's rules, and finds the contiguous runs of elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <trainhook/engine/kernels/dispatch.hpp>

namespace trainhook::detail {

/// The broadcast shape of both. @throws InvalidArgumentError if there is none.
[[nodiscard]] inline Shape broadcast_shapes(const Shape& x, const Shape& y) {
  const std::size_t rank = (std::max)(x.rank(), y.rank());
  Ints dims;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t a = i + x.rank() < rank ? 1 : x[i + x.rank() - rank];
    const std::int64_t b = i + y.rank() < rank ? 1 : y[i + y.rank() - rank];
    if (a != b && a != 1 && b != 1)
      throw InvalidArgumentError("Incompatible shapes: {} and {} cannot be broadcast to one", x, y);
    dims.push_back(a == 1 ? b : a);
  }
  return shape_of_ints(dims);
}

/// Strides of `shape` broadcast to `whole`: 0 for dimensions that repeat.
[[nodiscard]] inline Ints broadcast_strides(const Shape& shape, const Shape& whole) {
  const Ints own = strides_of(shape);
  Ints strides;
  for (std::size_t i = 0; i < whole.rank(); ++i) {
    strides.push_back(i + shape.rank() < whole.rank() ? 0 : own[i + shape.rank() - whole.rank()]);
  }
  return strides;
}

/// The offset of element `i`, counted in storage order, of a tensor of shape `whole` that has these strides.
[[nodiscard]] inline std::int64_t offset_of(std::int64_t i, const Shape& whole, const Ints& strides) {
  std::int64_t offset = 0;
  for (std::size_t axis = whole.rank(); axis-- > 0; i /= whole[axis]) offset += i % whole[axis] * strides[axis];
  return offset;
}

/// Calls `run(x_offset, y_offset, at, count, x_stride, y_stride)` for each innermost run of the broadcast shape;
/// strides are 0 or 1.
template <class Run>
void for_each_run(const Shape& whole, const Ints& x, const Ints& y, const Run& run) {
  const std::size_t rank = whole.rank();
  if (whole.num_elements() == 0) return;
  if (rank == 0) {
    run(0, 0, 0, 1, 0, 0);
    return;
  }
  const std::int64_t count = whole[rank - 1];
  std::int64_t index[kMaxRank] = {};
  std::int64_t x_offset = 0;
  std::int64_t y_offset = 0;
  for (std::int64_t at = 0;; at += count) {
    run(x_offset, y_offset, at, count, x[rank - 1], y[rank - 1]);
    std::size_t axis = rank - 1;
    for (;;) {  // advances to the next run like an odometer
      if (axis == 0) return;
      --axis;
      x_offset += x[axis];
      y_offset += y[axis];
      if (++index[axis] < whole[axis]) break;
      x_offset -= x[axis] * index[axis];
      y_offset -= y[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace trainhook::detail
