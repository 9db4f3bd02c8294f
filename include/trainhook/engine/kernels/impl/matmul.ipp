// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of matrix products.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <Eigen/Core>

#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/gathered_product.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// `rows x inner` times `inner x columns`, all row-major. A transposed factor is stored the other way round.
template <class T>
struct Product {
  ConstMatrixMap<T> a;
  ConstMatrixMap<T> b;
  bool transpose_a;
  bool transpose_b;

  [[nodiscard]] std::int64_t rows() const { return transpose_a ? a.cols() : a.rows(); }
  [[nodiscard]] std::int64_t inner() const { return transpose_a ? a.rows() : a.cols(); }
  [[nodiscard]] std::int64_t columns() const { return transpose_b ? b.rows() : b.cols(); }
};

/// @throws InvalidArgumentError unless the inputs are matrices that can be multiplied.
template <class T>
Product<T> product_of_inputs(const KernelContext& context, bool transpose_a, bool transpose_b) {
  const auto matrix = [&](std::size_t i) {
    const Shape& shape = context.shape(i);
    if (shape.rank() != 2) throw InvalidArgumentError("both factors must be matrices");
    return ConstMatrixMap<T>(context.data<T>(i).data(), shape[0], shape[1]);
  };
  const Product<T> product{matrix(0), matrix(1), transpose_a, transpose_b};
  const std::int64_t inner_of_b = transpose_b ? product.b.cols() : product.b.rows();
  if (inner_of_b != product.inner()) {
    throw InvalidArgumentError("Matrix size-incompatible: the inner dimensions, {} and {}, differ", product.inner(),
                               inner_of_b);
  }
  return product;
}

template <class T>
void multiply_by_eigen(const Product<T>& product, MatrixMap<T> result) {
  const auto& [a, b, transpose_a, transpose_b] = product;
  if (transpose_a && transpose_b) {
    result.noalias() = a.transpose() * b.transpose();
  } else if (transpose_a) {
    result.noalias() = a.transpose() * b;
  } else if (transpose_b) {
    result.noalias() = a * b.transpose();
  } else {
    result.noalias() = a * b;
  }
}

/// Multiplies integers, which are not worth the code of a fast product. Strides serve all transpositions.
template <class T>
void multiply_integers(const Product<T>& product, MatrixMap<T> result) {
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  using Strided = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0, Strides>;
  const auto strides = [](bool is_transposed, std::int64_t width) {
    return is_transposed ? Strides(1, width) : Strides(width, 1);
  };
  const auto& [a, b, transpose_a, transpose_b] = product;
  result = Strided(a.data(), product.rows(), product.inner(), strides(transpose_a, a.cols()))
               .lazyProduct(Strided(b.data(), product.inner(), product.columns(), strides(transpose_b, b.cols())));
}

/// A column times a row.
template <class T>
void multiply_outer(const Product<T>& product, MatrixMap<T> result) {
  const ConstArrayMap<T> row(product.b.data(), result.cols());
  for (std::int64_t i = 0; i < result.rows(); ++i) result.row(i) = product.a.data()[i] * row.matrix().transpose();
}

/// Whether our own product is faster. Eigen copies both factors before it multiplies; ours reads them as they are. The
/// copies do not pay if there are few rows or few inner elements, and the wider the vectors, the more they count. If a
/// copy is too large for the stack, Eigen allocates memory for it, whose pages the system may map again in each step.
/// Ours takes less than 1 / 1.15 of Eigen's time then (tests/bench/product_bench.cpp). Wide matrices are better copied,
/// since their rows share few sets of the cache.
template <class T>
bool is_skinny(const Product<T>& product) {
  constexpr bool kIsWide = kVectorBytes == 64;
  constexpr std::int64_t kFewRows = kIsWide ? 32 : 8;
  constexpr std::int64_t kMostRows = 128;
  constexpr std::int64_t kMostColumns = 256;
  constexpr std::int64_t kOnStack = EIGEN_STACK_ALLOCATION_LIMIT / sizeof(T);
  const std::int64_t rows = product.rows();
  const std::int64_t columns = product.columns();
  if (product.transpose_b || rows == 1 || columns == 1 || columns > kMostColumns) return false;
  if (product.transpose_a) return kIsWide && product.inner() <= 32 && rows <= 1024;
  return rows <= kFewRows || (rows <= kMostRows && product.inner() * columns > kOnStack);
}

template <class T>
void multiply_skinny(KernelContext& context, const Product<T>& product, MatrixMap<T> result) {
  const std::int64_t rows = product.rows();
  const std::int64_t inner = product.inner();
  const std::int64_t columns = product.columns();
  multiply_gathered<T>({.a = product.a.data(),
                        .rows = {1, rows, 0, product.transpose_a ? 1 : inner},
                        .inner = {1, inner, 0, product.transpose_a ? rows : 1},
                        .b = product.b.data(),
                        .b_stride = columns,
                        .columns = columns,
                        .result = result.data(),
                        .result_rows = {1, rows, 0, columns},
                        .packing = context.scratch<T>(kPackingSize<T>)});
}

template <class T>
void multiply_into(KernelContext& context, const Product<T>& product, MatrixMap<T> result) {
  if (result.size() == 0) return;
  if constexpr (!std::is_floating_point_v<T>) {
    multiply_integers(product, result);
  } else if (product.inner() == 1) {
    multiply_outer(product, result);
  } else if (is_skinny(product)) {
    multiply_skinny(context, product, result);
  } else {
    multiply_by_eigen(product, result);
  }
}

template <class T>
void multiply(KernelContext& context, bool transpose_a, bool transpose_b) {
  const Product<T> product = product_of_inputs<T>(context, transpose_a, transpose_b);
  const Shape shape{product.rows(), product.columns()};
  multiply_into(context, product, MatrixMap<T>(context.output<T>(0, shape).data(), shape[0], shape[1]));
}

/// Matrices in the last two dimensions; those before them are broadcast.
template <class T>
void multiply_batches(KernelContext& context, bool transpose_a, bool transpose_b) {
  const auto part = [&](std::size_t i, std::size_t from, std::size_t to) {
    return Shape(context.shape(i).dims().subspan(from, to - from));
  };
  const std::size_t rank_a = context.shape(0).rank();
  const std::size_t rank_b = context.shape(1).rank();
  if (rank_a < 2 || rank_b < 2) throw InvalidArgumentError("both factors must be of rank 2 or more");
  const Shape batch_a = part(0, 0, rank_a - 2);
  const Shape batch_b = part(1, 0, rank_b - 2);
  const Shape batch = broadcast_shapes(batch_a, batch_b);
  const Shape a = part(0, rank_a - 2, rank_a);
  const Shape b = part(1, rank_b - 2, rank_b);
  if (a[transpose_a ? 0 : 1] != b[transpose_b ? 1 : 0])
    throw InvalidArgumentError("Matrix size-incompatible: the matrices are {} and {}", a, b);
  Ints dims(batch.dims());
  dims.push_back(a[transpose_a ? 1 : 0]);
  dims.push_back(b[transpose_b ? 0 : 1]);
  const std::int64_t rows = dims[dims.size() - 2];
  const std::int64_t columns = dims[dims.size() - 1];
  T* const result = context.output<T>(0, shape_of_ints(dims)).data();
  const auto product_at = [&](std::int64_t a_at, std::int64_t b_at, std::int64_t at) {
    const Product<T> product{{context.data<T>(0).data() + a_at * a.num_elements(), a[0], a[1]},
                             {context.data<T>(1).data() + b_at * b.num_elements(), b[0], b[1]},
                             transpose_a,
                             transpose_b};
    multiply_into(context, product, MatrixMap<T>(result + at * rows * columns, rows, columns));
  };
  for_each_run(batch, broadcast_strides(batch_a, batch), broadcast_strides(batch_b, batch),
               [&](std::int64_t a_at, std::int64_t b_at, std::int64_t at, std::int64_t count, std::int64_t a_stride,
                   std::int64_t b_stride) {
                 for (std::int64_t i = 0; i < count; ++i) product_at(a_at + i * a_stride, b_at + i * b_stride, at + i);
               });
}

/// The kernel that calls `code.operator()<T>(context, transpose_a, transpose_b)`, as the attributes say.
template <class Code>
Kernel make_product(const Node& node, std::string_view a, std::string_view b, Code code) {
  const bool transpose_a = node.attr<bool>(a);
  const bool transpose_b = node.attr<bool>(b);
  return kernel_for(NumberTypes{}, node, "T", [=]<class T>() {
    return Kernel([=](KernelContext& context) { code.template operator()<T>(context, transpose_a, transpose_b); });
  });
}
inline Kernel make_matmul(const Node& node) {
  return make_product(node, "transpose_a", "transpose_b",
                      []<class T>(KernelContext& context, bool a, bool b) { multiply<T>(context, a, b); });
}
inline Kernel make_batch_matmul(const Node& node) {
  return make_product(node, "adj_x", "adj_y",
                      []<class T>(KernelContext& context, bool a, bool b) { multiply_batches<T>(context, a, b); });
}

inline constexpr std::array kMatmul{
    KernelDef{.type = "MatMul", .make = make_matmul},
    KernelDef{.type = "BatchMatMulV2", .make = make_batch_matmul},
};

}  // namespace detail

KernelGroup matmul() noexcept { return detail::kMatmul; }

}  // namespace trainhook::kernels
