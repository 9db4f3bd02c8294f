// SPDX-License-Identifier: Apache-2.0
/// @file
/// Elementwise kernels from Eigen's array expressions: `Op::of(x)` or `Op::of(x, y)`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>

namespace trainhook::detail {

// Eigen's functions do not define the result for NaN.
struct LargerOfTwo {
  template <class T>
  T operator()(T x, T y) const {
    // NOLINTNEXTLINE(misc-redundant-expression): true for NaN
    return x < y || y != y ? y : x;
  }
};
struct SmallerOfTwo {
  template <class T>
  T operator()(T x, T y) const {
    // NOLINTNEXTLINE(misc-redundant-expression): true for NaN
    return y < x || y != y ? y : x;
  }
};

/// The kernel of an op with one input of elements T and a result of elements R.
template <class Op, class T, class R = T>
[[nodiscard]] Kernel unary_kernel() {
  return +[](KernelContext& context) {
    output_array<R>(context, 0, context.shape(0)) = Op::of(input_array<T>(context, 0));
  };
}

/// The kernel of an op with two inputs of one shape.
template <class Op, class T>
[[nodiscard]] Kernel same_shape_kernel() {
  return +[](KernelContext& context) {
    if (context.shape(0) != context.shape(1)) throw InvalidArgumentError("both inputs must have one shape");
    output_array<T>(context, 0, context.shape(0)) = Op::of(input_array<T>(context, 0), input_array<T>(context, 1));
  };
}

/// `count` contiguous elements of the result. The stride of x and of y is 1, or 0 if one element is used for all.
using BinaryRun = void (*)(void* result, const void* x, std::int64_t x_stride, const void* y, std::int64_t y_stride,
                           std::int64_t count);

template <class Op, class T, class R>
void binary_run(void* result, const void* x_start, std::int64_t x_stride, const void* y_start, std::int64_t y_stride,
                std::int64_t count) {
  const T* const x = static_cast<const T*>(x_start);
  const T* const y = static_cast<const T*>(y_start);
  ArrayMap<R> to(static_cast<R*>(result), count);
  if constexpr (std::is_same_v<T, std::string>) {  // Eigen is for numbers
    for (std::int64_t i = 0; i < count; ++i) to[i] = Op::of(x[i * x_stride], y[i * y_stride]);
  } else if constexpr (!std::is_floating_point_v<R>) {  // one expression for all strides compiles much faster
    using Strided = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>, 0, Eigen::InnerStride<>>;
    to = Op::of(Strided(x, count, Eigen::InnerStride<>(x_stride)), Strided(y, count, Eigen::InnerStride<>(y_stride)));
  } else if (x_stride == y_stride) {
    to = Op::of(ConstArrayMap<T>(x, count), ConstArrayMap<T>(y, count));
  } else if (y_stride == 0) {
    to = Op::of(ConstArrayMap<T>(x, count), repeated(*y, count));
  } else {
    to = Op::of(repeated(*x, count), ConstArrayMap<T>(y, count));
  }
}

/// Calls `run` for the runs of both inputs, broadcast to one shape. Only `run` depends on the op, so this is compiled
/// once. `x` and `y` point to elements of `size` bytes; `result_size` is the size of a result's element.
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

/// The kernel of an op with two inputs of elements T, broadcast to one shape, and a result of elements R.
template <class Op, class T, class R = T>
[[nodiscard]] Kernel binary_kernel() {
  return +[](KernelContext& context) {
    broadcast_binary(context, binary_run<Op, T, R>, context.data<T>(0).data(), context.data<T>(1).data(), sizeof(T),
                     dtype_of<R>, sizeof(R));
  };
}

}  // namespace trainhook::detail
