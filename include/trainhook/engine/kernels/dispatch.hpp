// SPDX-License-Identifier: Apache-2.0
/// @file
/// Selects a kernel by dtype, and reads small integer inputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <trainhook/core/inline_vector.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::detail {

template <class... Ts>
struct DTypes {};

using FloatingTypes = DTypes<float, double>;
using IndexTypes = DTypes<std::int32_t, std::int64_t>;
using NumberTypes = DTypes<float, double, std::int32_t, std::int64_t>;
using CastTypes = DTypes<float, double, std::int32_t, std::int64_t, std::uint8_t, bool>;

/// Calls `make.operator()<T>()` with the T among `Ts` that the node's attribute names.
/// @throws UnimplementedError if it is none of them.
template <class... Ts, class Make>
[[nodiscard]] Kernel kernel_for(DTypes<Ts...>, const Node& node, std::string_view attr, Make make) {
  const DType dtype = node.attr<DType>(attr);
  Kernel kernel;
  if (((dtype_of<Ts> == dtype && (kernel = make.template operator()<Ts>(), true)) || ...)) return kernel;
  throw UnimplementedError("{} of {} (node '{}') has no kernel", node.type(), dtype, node.name());
}

/// Up to eight integers without an allocation, for shapes and axes.
using Ints = InlineVector<std::int64_t, kMaxRank>;

/// The elements of an int32 or int64 tensor.
[[nodiscard]] inline Ints ints_of(const Tensor& tensor) {
  Ints result;
  if (tensor.dtype() == DType::Int32) {
    for (const std::int32_t value : tensor.data<std::int32_t>()) result.push_back(value);
  } else {
    for (const std::int64_t value : tensor.data<std::int64_t>()) result.push_back(value);
  }
  return result;
}

[[nodiscard]] inline std::int64_t int_of(const Tensor& tensor) {
  return tensor.dtype() == DType::Int32 ? std::int64_t{tensor.scalar<std::int32_t>()} : tensor.scalar<std::int64_t>();
}

[[nodiscard]] inline Shape shape_of_ints(const Ints& dims) { return Shape(std::span<const std::int64_t>(dims)); }

/// The axis counted from the front. @throws InvalidArgumentError if it is out of range.
[[nodiscard]] inline std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    throw InvalidArgumentError("axis {} does not exist in rank {}", axis, rank);
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

/// The amounts of padding before and after each of `rank` dimensions.
/// @throws InvalidArgumentError if they are not [rank,2], or one is negative.
[[nodiscard]] inline Ints pairs_of(const Tensor& tensor, std::size_t rank) {
  if (tensor.shape() != Shape{static_cast<std::int64_t>(rank), 2})
    throw InvalidArgumentError("the numbers around each dimension must be [{},2]", rank);
  Ints pairs = ints_of(tensor);
  if (std::ranges::any_of(pairs, [](std::int64_t x) { return x < 0; }))
    throw InvalidArgumentError("the numbers around each dimension must not be negative");
  return pairs;
}

/// `shape` padded before and after each dimension. @throws InvalidArgumentError if the result exceeds 63 bits.
[[nodiscard]] inline Shape padded_shape(const Shape& shape, const Ints& pairs) {
  Ints dims(shape.dims());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (__builtin_add_overflow(dims[i], pairs[2 * i], &dims[i]) ||
        __builtin_add_overflow(dims[i], pairs[2 * i + 1], &dims[i]))
      throw InvalidArgumentError("shape {} is too large with {} and {} elements around dimension {}", shape,
                                 pairs[2 * i], pairs[2 * i + 1], i);
  }
  return shape_of_ints(dims);
}

/// The product of the dimensions [from, to).
[[nodiscard]] inline std::int64_t product_of(const Shape& shape, std::size_t from, std::size_t to) noexcept {
  std::int64_t product = 1;
  for (std::size_t i = from; i < to; ++i) product *= shape[i];
  return product;
}

/// The product of all dimensions but the first.
[[nodiscard]] inline std::int64_t product_behind_first(const Ints& dims) noexcept {
  std::int64_t product = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) product *= dims[i];
  return product;
}

/// Row-major strides in elements; 0 for dimensions of extent 1, so that they repeat.
[[nodiscard]] inline Ints strides_of(const Shape& shape) {
  Ints strides(shape.dims());
  std::int64_t stride = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = shape[i] == 1 ? 0 : stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace trainhook::detail
