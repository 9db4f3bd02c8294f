// SPDX-License-Identifier: Apache-2.0
/// @file
/// Eigen maps of tensors: one-dimensional arrays of all elements, and row-major tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

#include <Eigen/Core>

namespace trainhook::detail {

/// All elements, in storage order.
template <class T>
using ArrayMap = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstArrayMap = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

/// A table of elements; `.row(i)` is contiguous.
template <class T>
using TableMap = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
template <class T>
using ConstTableMap = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// The same as matrices, for products.
template <class T>
using MatrixMap = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
template <class T>
using ConstMatrixMap = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// The same element `size` times.
template <class T>
[[nodiscard]] auto repeated(T value, std::int64_t size) {
  return Eigen::Array<T, Eigen::Dynamic, 1>::Constant(size, value);
}

template <class T>
[[nodiscard]] ConstArrayMap<T> as_array(std::span<const T> elements) {
  return {elements.data(), static_cast<Eigen::Index>(elements.size())};
}
template <class T>
[[nodiscard]] ArrayMap<T> as_array(std::span<T> elements) {
  return {elements.data(), static_cast<Eigen::Index>(elements.size())};
}

/// Maps input or output `i` of a kernel.
template <class T>
[[nodiscard]] ConstArrayMap<T> input_array(const KernelContext& context, std::size_t i) {
  return as_array(context.data<T>(i));
}
template <class T>
[[nodiscard]] ArrayMap<T> output_array(const KernelContext& context, std::size_t i, const Shape& shape) {
  return as_array(context.output<T>(i, shape));
}

}  // namespace trainhook::detail
