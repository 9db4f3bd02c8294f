// SPDX-License-Identifier: Apache-2.0
/// @file
/// Elementwise loops over two tensors whose shapes are broadcast to one, as NumPy does it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <trainhook/engine/kernels/dispatch.hpp>

namespace trainhook::detail {

/// The shape that both are broadcast to. @throws InvalidArgumentError where there is none.
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

/// Strides of `shape` as seen from the shape `whole` that it is broadcast to: 0 where it repeats.
[[nodiscard]] inline Ints broadcast_strides(const Shape& shape, const Shape& whole) {
  const Ints own = strides_of(shape);
  Ints strides;
  for (std::size_t i = 0; i < whole.rank(); ++i) {
    strides.push_back(i + shape.rank() < whole.rank() ? 0 : own[i + shape.rank() - whole.rank()]);
  }
  return strides;
}

/// Calls `run(x_offset, y_offset, at, count, x_stride, y_stride)` for each innermost run of the whole shape; strides
/// are 0 or 1.
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
    for (;;) {  // to the next run, as an odometer counts
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

/// One run of an elementwise op: `count` elements from x and y, whose strides are 1, or 0 where one element stands for
/// all.
using BinaryRun = void (*)(void* out, const void* x, std::int64_t x_stride, const void* y, std::int64_t y_stride,
                           std::int64_t count);

template <class Op, class T, class R>
void binary_run(void* out_bytes, const void* x_bytes, std::int64_t x_stride, const void* y_bytes, std::int64_t y_stride,
                std::int64_t count) {
  auto* const __restrict out = static_cast<R*>(out_bytes);
  const auto* const x = static_cast<const T*>(x_bytes);
  const auto* const y = static_cast<const T*>(y_bytes);
  if constexpr (std::is_floating_point_v<T> &&
                std::is_same_v<T, R>) {  // where speed matters: loops that become vector code
    if (x_stride == y_stride) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = Op::of(x[i], y[i]);
    } else if (y_stride == 0) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = Op::of(x[i], y[0]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i] = Op::of(x[0], y[i]);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = Op::of(x[i * x_stride], y[i * y_stride]);
  }
}

template <class T>
[[nodiscard]] const void* address_of(const Tensor& tensor) {
  return tensor.data<T>().data();
}

/// Runs `run` over both inputs, broadcast to one shape. The code that depends on the op is behind the pointer, to be
/// compiled but once.
inline void broadcast_binary(KernelContext& context, BinaryRun run, const void* x, const void* y, std::size_t size,
                             DType result, std::size_t result_size) {
  const Shape& x_shape = context.shape(0);
  const Shape& y_shape = context.shape(1);
  const bool x_repeats = x_shape.rank() == 0;
  const bool y_repeats = y_shape.rank() == 0;
  if (x_repeats || y_repeats || x_shape == y_shape) {
    Tensor& out = context.output(0, result, x_repeats ? y_shape : x_shape);
    run(out.overwrite_bytes().data(), x, x_repeats && !y_repeats ? 0 : 1, y, y_repeats && !x_repeats ? 0 : 1,
        out.num_elements());
    return;
  }
  const Shape whole = broadcast_shapes(x_shape, y_shape);
  std::byte* const out = context.output(0, result, whole).overwrite_bytes().data();
  const auto at = [](const void* start, std::int64_t elements, std::size_t element) {
    return static_cast<const std::byte*>(start) + static_cast<std::size_t>(elements) * element;
  };
  for_each_run(whole, broadcast_strides(x_shape, whole), broadcast_strides(y_shape, whole),
               [&](std::int64_t x_at, std::int64_t y_at, std::int64_t to, std::int64_t count, std::int64_t x_stride,
                   std::int64_t y_stride) {
                 run(out + static_cast<std::size_t>(to) * result_size, at(x, x_at, size), x_stride, at(y, y_at, size),
                     y_stride, count);
               });
}

/// The kernel of an op whose result has dtype R; which T the elements have is the node's `T`.
template <class Op, class T, class R>
[[nodiscard]] Kernel binary_kernel() {
  return +[](KernelContext& context) {
    broadcast_binary(context, binary_run<Op, T, R>, address_of<T>(context.input(0)), address_of<T>(context.input(1)),
                     sizeof(T), dtype_of<R>, sizeof(R));
  };
}

}  // namespace trainhook::detail
