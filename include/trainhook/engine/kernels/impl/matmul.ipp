// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of matmul.hpp.
#pragma once

#include <trainhook/engine/kernels/matmul.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <Eigen/Core>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/gathered_product.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The extents of `rows x inner` times `inner x columns`, both row-major; a transposed factor is stored the other way
/// round.
struct ProductShape {
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t columns;
  bool transpose_a;
  bool transpose_b;
};

template <class T>
void multiply_matrices(KernelContext& context, const T* a, const T* b, T* product, const ProductShape& shape) {
  const auto [rows, inner, columns, transpose_a, transpose_b] = shape;
  if (transpose_b &&
      rows * (inner + columns) < inner * columns) {  // then it is less to copy to turn the other factor and the product
    T* const turned = context.scratch<T>(kPackingSize<T> + static_cast<std::size_t>(rows * columns));
    multiply_gathered<T>({.a = b,
                          .rows = {1, columns, 0, inner},
                          .inner = {1, inner, 0, 1},
                          .b = a,
                          .b_stride = transpose_a ? rows : 1,
                          .b_column_stride = transpose_a ? 1 : inner,
                          .columns = rows,
                          .result = turned,
                          .result_rows = {1, columns, 0, rows},
                          .packing = turned + rows * columns});
    transpose(turned, columns, rows, rows, product);
    return;
  }
  multiply_gathered<T>({.a = a,
                        .rows = {1, rows, 0, transpose_a ? 1 : inner},
                        .inner = {1, inner, 0, transpose_a ? rows : 1},
                        .b = b,
                        .b_stride = transpose_b ? 1 : columns,
                        .b_column_stride = transpose_b ? inner : 1,
                        .columns = columns,
                        .result = product,
                        .result_rows = {1, rows, 0, columns},
                        .packing = context.scratch<T>(kPackingSize<T>)});
}

/// One row times a matrix: several rows of the matrix are read at a time, for fewer passes over the result.
template <class T>
void multiply_row(const T* row, const T* matrix, T* const __restrict result, std::int64_t inner, std::int64_t columns) {
  std::fill_n(result, columns, T{0});
  std::int64_t k = 0;
  for (; k + 8 <= inner; k += 8, matrix += 8 * columns) {
    const T* const m = matrix;
    const T* const x = row + k;
    for (std::int64_t i = 0; i < columns; ++i) {
      result[i] += ((x[0] * m[i] + x[1] * m[columns + i]) + (x[2] * m[2 * columns + i] + x[3] * m[3 * columns + i])) +
                   ((x[4] * m[4 * columns + i] + x[5] * m[5 * columns + i]) +
                    (x[6] * m[6 * columns + i] + x[7] * m[7 * columns + i]));
    }
  }
  for (; k < inner; ++k, matrix += columns) {
    for (std::int64_t i = 0; i < columns; ++i) result[i] += row[k] * matrix[i];
  }
}

template <class T>
void multiply_row_transposed(const T* row, const T* matrix, T* result, std::int64_t inner, std::int64_t columns) {
  using Vector = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>;
  const Vector x(row, inner);
  for (std::int64_t i = 0; i < columns; ++i) result[i] = Vector(matrix + i * inner, inner).dot(x);
}

/// A column times a row.
template <class T>
void multiply_outer(const T* column, const T* row, T* __restrict result, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i, result += columns) {
    const T factor = column[i];
    for (std::int64_t j = 0; j < columns; ++j) result[j] = factor * row[j];
  }
}

/// For integers: nobody trains with them, so this is short and not fast.
template <class T>
void multiply_plainly(const T* a, const T* b, T* product, const ProductShape& shape) {
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < shape.inner; ++k) {
        sum += a[shape.transpose_a ? k * shape.rows + i : i * shape.inner + k] *
               b[shape.transpose_b ? j * shape.inner + k : k * shape.columns + j];
      }
      *product++ = sum;
    }
  }
}

template <class T>
void multiply(KernelContext& context, const T* a, const T* b, std::span<T> product, const ProductShape& shape) {
  if (product.empty()) return;
  if constexpr (!std::is_floating_point_v<T>) {
    multiply_plainly(a, b, product.data(), shape);
  } else if (shape.inner == 1) {
    multiply_outer(a, b, product.data(), shape.rows, shape.columns);
  } else if (shape.rows == 1 && shape.transpose_b) {
    multiply_row_transposed(a, b, product.data(), shape.inner, shape.columns);
  } else if (shape.rows == 1) {
    multiply_row(a, b, product.data(), shape.inner, shape.columns);
  } else if (shape.columns == 1 && shape.transpose_a) {  // the same, turned
    multiply_row(b, a, product.data(), shape.inner, shape.rows);
  } else {
    multiply_matrices(context, a, b, product.data(), shape);
  }
}

TRAINHOOK_DECL ProductShape product_shape(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b) {
  if (a.rank() != 2 || b.rank() != 2) throw InvalidArgumentError("both factors must be matrices");
  const ProductShape shape{a[transpose_a ? 1 : 0], a[transpose_a ? 0 : 1], b[transpose_b ? 0 : 1], transpose_a,
                           transpose_b};
  const std::int64_t inner_of_b = b[transpose_b ? 1 : 0];
  if (inner_of_b != shape.inner)
    throw InvalidArgumentError("Matrix size-incompatible: the inner dimensions, {} and {}, differ", shape.inner,
                               inner_of_b);
  return shape;
}

TRAINHOOK_DECL Kernel make_matmul(const Node& node) {
  const bool transpose_a = node.attr<bool>("transpose_a");
  const bool transpose_b = node.attr<bool>("transpose_b");
  return kernel_for(NumberTypes{}, node, "T", [=]<class T>() {
    return Kernel([=](KernelContext& context) {
      const ProductShape shape = product_shape(context.shape(0), context.shape(1), transpose_a, transpose_b);
      const std::span<T> product = context.output<T>(0, Shape{shape.rows, shape.columns});
      multiply<T>(context, context.data<T>(0).data(), context.data<T>(1).data(), product, shape);
    });
  });
}

inline constexpr std::array kMatmul{KernelDef{.type = "MatMul", .make = make_matmul}};

}  // namespace detail

TRAINHOOK_DECL KernelGroup matmul() noexcept { return detail::kMatmul; }

}  // namespace trainhook::kernels
