// SPDX-License-Identifier: Apache-2.0
/// @file
/// Elementwise kernels from Eigen's array expressions: `Op::of(x)` or `Op::of(x, y)`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/pieces.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

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

/// Computes output 0, of elements R, from the inputs, which have its shape and elements T: `code(array, ...)` takes an
/// array of each input.
template <class R, class... Ts, class Code>
void compute_elements(KernelContext& context, const Code& code) {
  ArrayMap<R> result = output_array<R>(context, 0, context.shape(0));
  for_each_block(context, {result.size(), 1}, [&](const Block& block) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      result.segment(block.begin, block.size()) =
          code(ConstArrayMap<Ts>(context.data<Ts>(I).data() + block.begin, block.size())...);
    }(std::index_sequence_for<Ts...>{});
  });
}

/// The same of elements T: `code(x, ...)` takes a vector, or a single element, of each input.
template <class T, std::size_t Inputs, class Code>
void compute_each(KernelContext& context, const Code& code) {
  T* const to = context.output<T>(0, context.shape(0)).data();
  for_each_block(context, {context.shape(0).num_elements(), 1}, [&](const Block& block) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      kernels::detail::compute(to + block.begin, block.size(), code, context.data<T>(I).data() + block.begin...);
    }(std::make_index_sequence<Inputs>{});
  });
}

/// The same in pieces that stay in the L1 cache: `Op::of_piece(x, room)` returns an expression.
template <class Op, class T>
void compute_pieces(KernelContext& context) {
  ArrayMap<T> result = output_array<T>(context, 0, context.shape(0));
  const T* const x = context.data<T>(0).data();
  in_pieces(context, static_cast<std::size_t>(result.size()), [&](Eigen::Index at, Eigen::Index n) {
    PieceRoom<T> room;
    result.segment(at, n) = Op::of_piece(ConstArrayMap<T>(x + at, n), room);
  });
}

/// exp(x) - 1 where x is below zero, and 0 where it is not. The result refers to `room`.
template <class T>
[[nodiscard]] ArrayMap<T> expm1_below_zero(const ConstArrayMap<T>& x, PieceRoom<T>& room) {
  ArrayMap<T> result(room.elements.data(), x.size());
  if constexpr (std::is_same_v<T, float>) {  // for Eigen's expm1 it takes an exponential and a logarithm
    result = ((x.min)(T{0}) / T{2}).tanh();
    result = (result + result) / (T{1} - result);
  } else {
    result = (x.min)(T{0}).expm1();
  }
  return result;
}

/// The kernel of an op with one input of elements T and a result of elements R. `Op::each` computes vectors, or single
/// elements, where Eigen makes no vectors of its expressions.
template <class Op, class T, class R = T>
[[nodiscard]] Kernel unary_kernel() {
  return +[](KernelContext& context) {
    if constexpr (requires(const ConstArrayMap<T>& x, PieceRoom<T>& room) { Op::of_piece(x, room); }) {
      compute_pieces<Op, T>(context);
    } else if constexpr (requires(T x) { Op::each(x); }) {
      compute_each<T, 1>(context, [](const auto& x) { return Op::each(x); });
    } else {
      compute_elements<R, T>(context, [](const auto& x) { return Op::of(x); });
    }
  };
}

/// The kernel of an op with two inputs of one shape.
template <class Op, class T>
[[nodiscard]] Kernel same_shape_kernel() {
  return +[](KernelContext& context) {
    if (context.shape(0) != context.shape(1)) throw InvalidArgumentError("both inputs must have one shape");
    if constexpr (requires(T x) { Op::each(x, x); }) {
      compute_each<T, 2>(context, [](const auto& x, const auto& y) { return Op::each(x, y); });
    } else {
      compute_elements<T, T, T>(context, [](const auto& x, const auto& y) { return Op::of(x, y); });
    }
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
  } else if constexpr (requires { Op::each(*x, *y); }) {
    if (x_stride == y_stride) {
      kernels::detail::compute(
          to.data(), count, [](const auto& a, const auto& b) { return Op::each(a, b); }, x, y);
    } else if (y_stride == 0) {
      kernels::detail::compute(
          to.data(), count, [b = *y]<class V>(const V& a) { return Op::each(a, b - V{}); }, x);
    } else {
      kernels::detail::compute(
          to.data(), count, [a = *x]<class V>(const V& b) { return Op::each(a - V{}, b); }, y);
    }
  } else if constexpr (!std::is_floating_point_v<R>) {  // one expression for all strides compiles much faster
    const bool repeats = x_stride != y_stride;
    std::array<T, 256> same;
    const std::int64_t step = repeats ? (std::min)(count, static_cast<std::int64_t>(same.size())) : count;
    if (repeats) std::fill_n(same.data(), step, x_stride == 0 ? *x : *y);
    for (std::int64_t at = 0; at < count; at += step) {
      const std::int64_t n = (std::min)(step, count - at);
      to.segment(at, n) = Op::of(ConstArrayMap<T>(repeats && x_stride == 0 ? same.data() : x + at, n),
                                 ConstArrayMap<T>(repeats && y_stride == 0 ? same.data() : y + at, n));
    }
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
  const auto at = [size](const void* start, std::int64_t elements) {
    return static_cast<const std::byte*>(start) + static_cast<std::size_t>(elements) * size;
  };
  const bool x_repeats = x_shape.rank() == 0;
  const bool y_repeats = y_shape.rank() == 0;
  if (x_repeats || y_repeats || x_shape == y_shape) {
    Tensor& out = context.output(0, result, x_repeats ? y_shape : x_shape);
    const std::int64_t x_stride = x_repeats && !y_repeats ? 0 : 1;
    const std::int64_t y_stride = y_repeats && !x_repeats ? 0 : 1;
    std::byte* const to = out.overwrite_bytes().data();
    for_each_block(context, {out.num_elements(), 1}, [&](const Block& block) {
      run(to + static_cast<std::size_t>(block.begin) * result_size, at(x, block.begin * x_stride), x_stride,
          at(y, block.begin * y_stride), y_stride, block.size());
    });
    return;
  }
  const Shape whole = broadcast_shapes(x_shape, y_shape);
  const Ints x_strides = broadcast_strides(x_shape, whole);
  const Ints y_strides = broadcast_strides(y_shape, whole);
  std::byte* const out = context.output(0, result, whole).overwrite_bytes().data();
  const std::int64_t inner = product_of(whole, 1, whole.rank());
  for_each_block(context, {whole[0], inner}, [&](const Block& block) {
    Ints dims(whole.dims());
    dims[0] = block.size();
    for_each_run(shape_of_ints(dims), x_strides, y_strides,
                 [&](std::int64_t x_at, std::int64_t y_at, std::int64_t to, std::int64_t count, std::int64_t x_stride,
                     std::int64_t y_stride) {
                   run(out + static_cast<std::size_t>(block.begin * inner + to) * result_size,
                       at(x, block.begin * x_strides[0] + x_at), x_stride, at(y, block.begin * y_strides[0] + y_at),
                       y_stride, count);
                 });
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
