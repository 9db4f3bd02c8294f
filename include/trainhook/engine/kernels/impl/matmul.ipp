// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of matrix products.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/broadcast.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/gathered_product.hpp>

#include <Eigen/Core>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// A part of a row-major matrix, whose rows may be farther apart than they are long.
template <class T>
using MatrixPart =
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0, Eigen::OuterStride<>>;
template <class T>
using ConstMatrixPart =
    Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0, Eigen::OuterStride<>>;

/// `rows x inner` times `inner x columns`, all row-major. A transposed factor is stored the other way round.
template <class T>
struct Product {
  ConstMatrixPart<T> a;
  ConstMatrixPart<T> b;
  bool transpose_a;
  bool transpose_b;

  [[nodiscard]] std::int64_t rows() const { return transpose_a ? a.cols() : a.rows(); }
  [[nodiscard]] std::int64_t inner() const { return transpose_a ? a.rows() : a.cols(); }
  [[nodiscard]] std::int64_t columns() const { return transpose_b ? b.rows() : b.cols(); }

  /// How many elements lie between one row of the product's first factor and the next, and one column and the next.
  [[nodiscard]] std::int64_t row_stride_of_a() const { return transpose_a ? 1 : a.outerStride(); }
  [[nodiscard]] std::int64_t column_stride_of_a() const { return transpose_a ? a.outerStride() : 1; }

  /// The product that gives these rows and columns of the result.
  [[nodiscard]] Product part(const Block& of_rows, const Block& of_columns) const {
    const auto cut = [](const ConstMatrixPart<T>& matrix, bool cuts_columns, const Block& range) {
      return cuts_columns ? ConstMatrixPart<T>(matrix.data() + range.begin, matrix.rows(), range.size(),
                                               Eigen::OuterStride<>(matrix.outerStride()))
                          : ConstMatrixPart<T>(matrix.data() + range.begin * matrix.outerStride(), range.size(),
                                               matrix.cols(), Eigen::OuterStride<>(matrix.outerStride()));
    };
    return {cut(a, transpose_a, of_rows), cut(b, !transpose_b, of_columns), transpose_a, transpose_b};
  }
};

template <class T>
ConstMatrixPart<T> whole_matrix(const T* elements, std::int64_t rows, std::int64_t columns) {
  return {elements, rows, columns, Eigen::OuterStride<>(columns)};
}

/// @throws InvalidArgumentError unless the inputs are matrices that can be multiplied.
template <class T>
Product<T> product_of_inputs(const KernelContext& context, bool transpose_a, bool transpose_b) {
  const auto matrix = [&](std::size_t i) {
    const Shape& shape = context.shape(i);
    if (shape.rank() != 2) throw InvalidArgumentError("both factors must be matrices");
    return whole_matrix(context.data<T>(i).data(), shape[0], shape[1]);
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
void multiply_by_eigen(const Product<T>& product, MatrixPart<T> result) {
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
void multiply_integers(const Product<T>& product, MatrixPart<T> result) {
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  using Strided = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0, Strides>;
  const auto strides = [](bool is_transposed, std::int64_t stride) {
    return is_transposed ? Strides(1, stride) : Strides(stride, 1);
  };
  const auto& [a, b, transpose_a, transpose_b] = product;
  result =
      Strided(a.data(), product.rows(), product.inner(), strides(transpose_a, a.outerStride()))
          .lazyProduct(Strided(b.data(), product.inner(), product.columns(), strides(transpose_b, b.outerStride())));
}

/// A column times a row.
template <class T>
void multiply_outer(const Product<T>& product, MatrixPart<T> result) {
  const std::int64_t stride_of_b = product.transpose_b ? product.b.outerStride() : 1;
  const Eigen::Map<const Eigen::Array<T, 1, Eigen::Dynamic>, 0, Eigen::InnerStride<>> row(
      product.b.data(), result.cols(), Eigen::InnerStride<>(stride_of_b));
  for (std::int64_t i = 0; i < result.rows(); ++i)
    result.row(i) = product.a.data()[i * product.row_stride_of_a()] * row.matrix();
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
void multiply_skinny(const Product<T>& product, MatrixPart<T> result, T* packing) {
  multiply_gathered<T>({.a = product.a.data(),
                        .rows = {1, product.rows(), 0, product.row_stride_of_a()},
                        .inner = {1, product.inner(), 0, product.column_stride_of_a()},
                        .b = product.b.data(),
                        .b_stride = product.b.outerStride(),
                        .columns = product.columns(),
                        .result = result.data(),
                        .result_rows = {1, product.rows(), 0, result.outerStride()},
                        .packing = packing});
}

/// What a product is computed with, which is chosen for the whole of it, so that it does not depend on the cut.
enum class Multiplier { Integers, Outer, Skinny, Eigen };

template <class T>
Multiplier multiplier_of(const Product<T>& product) {
  if constexpr (!std::is_floating_point_v<T>) return Multiplier::Integers;
  if (product.inner() == 1) return Multiplier::Outer;
  return is_skinny(product) ? Multiplier::Skinny : Multiplier::Eigen;
}

template <class T>
void multiply_by(Multiplier multiplier, const Product<T>& product, MatrixPart<T> result, T* packing) {
  if constexpr (!std::is_floating_point_v<T>) {
    multiply_integers(product, result);
  } else if (multiplier == Multiplier::Outer) {
    multiply_outer(product, result);
  } else if (multiplier == Multiplier::Skinny) {
    multiply_skinny(product, result, packing);
  } else {
    multiply_by_eigen(product, result);
  }
}

/// How a product is cut into blocks of rows and columns.
struct ProductCut {
  Blocks rows;
  Blocks columns;

  /// Eigen copies the rows and columns of each block, which does not count if it has enough of both.
  ProductCut(Multiplier multiplier, std::int64_t num_rows, std::int64_t inner, std::int64_t num_columns)
      : rows(num_rows, cost_of_products(inner, (std::min)(num_columns, kColumns)),
             multiplier == Multiplier::Eigen ? 256 : 24),
        columns(num_columns, cost_of_products(inner, rows.size()), kColumns) {}

  [[nodiscard]] Blocks blocks() const noexcept { return Blocks(rows.count() * columns.count(), kBlockCost); }

 private:
  static constexpr std::int64_t kColumns = 256;
};

template <class T>
void multiply(KernelContext& context, bool transpose_a, bool transpose_b) {
  const Product<T> product = product_of_inputs<T>(context, transpose_a, transpose_b);
  const Shape shape{product.rows(), product.columns()};
  T* const result = context.output<T>(0, shape).data();
  if (shape.num_elements() == 0) return;
  const Multiplier multiplier = multiplier_of(product);
  const ProductCut cut(multiplier, product.rows(), product.inner(), product.columns());
  const Blocks blocks = cut.blocks();
  const WorkerMemory<T> packing(context, blocks, multiplier == Multiplier::Skinny ? kPackingSize<T> : 0);
  for_each_block(context, blocks, [&](const Block& block) {
    const Block rows = cut.rows.at(block.index / cut.columns.count(), block.worker);
    const Block columns = cut.columns.at(block.index % cut.columns.count(), block.worker);
    const MatrixPart<T> part(result + rows.begin * shape[1] + columns.begin, rows.size(), columns.size(),
                             Eigen::OuterStride<>(shape[1]));
    multiply_by(multiplier, product.part(rows, columns), part, packing.of(block));
  });
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
  if (rows * columns == 0) return;
  const auto product_at = [&](std::int64_t a_at, std::int64_t b_at, std::int64_t at, T* packing) {
    const Product<T> product{whole_matrix(context.data<T>(0).data() + a_at * a.num_elements(), a[0], a[1]),
                             whole_matrix(context.data<T>(1).data() + b_at * b.num_elements(), b[0], b[1]), transpose_a,
                             transpose_b};
    const MatrixPart<T> to(result + at * rows * columns, rows, columns, Eigen::OuterStride<>(columns));
    multiply_by(multiplier_of(product), product, to, packing);
  };
  const Blocks blocks(batch.num_elements(), cost_of_products(rows * columns, a[transpose_a ? 0 : 1]));
  const WorkerMemory<T> packing(context, blocks, std::is_floating_point_v<T> ? kPackingSize<T> : 0);
  const Ints a_strides = broadcast_strides(batch_a, batch);
  const Ints b_strides = broadcast_strides(batch_b, batch);
  for_each_block(context, blocks, [&](const Block& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i)
      product_at(offset_of(i, batch, a_strides), offset_of(i, batch, b_strides), i, packing.of(block));
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
