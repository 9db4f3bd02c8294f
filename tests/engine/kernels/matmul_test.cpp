// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, matrix products.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include <Eigen/Core>
#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false) {
  return test::run_op(kernels::matmul(), "MatMul", {a, b},
                      {{"T", a.dtype()}, {"transpose_a", transpose_a}, {"transpose_b", transpose_b}}, a.dtype());
}

template <class T>
Tensor random_matrix(std::int64_t rows, std::int64_t columns, std::mt19937& random) {
  Tensor matrix(dtype_of<T>, Shape{rows, columns});
  for (T& value : matrix.overwrite_data<T>())
    value = static_cast<T>(static_cast<std::int64_t>(random() % 17) - 8);  // sums of products are exact
  return matrix;
}

template <class T>
Tensor product_by_definition(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  const std::int64_t rows = a.shape()[transpose_a ? 1 : 0];
  const std::int64_t inner = a.shape()[transpose_a ? 0 : 1];
  const std::int64_t columns = b.shape()[transpose_b ? 0 : 1];
  Tensor product(dtype_of<T>, Shape{rows, columns});
  T* const out = product.overwrite_data<T>().data();  // pointers: tests are not optimised
  const T* const left = a.data<T>().data();
  const T* const right = b.data<T>().data();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t k = 0; k < inner; ++k) {
        out[i * columns + j] +=
            left[transpose_a ? k * rows + i : i * inner + k] * right[transpose_b ? j * inner + k : k * columns + j];
      }
    }
  }
  return product;
}

template <class T>
void expect_products_as_defined() {
  std::mt19937 random(3);
  for (const auto& [rows, inner, columns] : {std::array<std::int64_t, 3>{1, 1, 1},
                                             {1, 37, 20},
                                             {5, 1, 7},
                                             {3, 4, 5},
                                             {33, 65, 17},
                                             {4, 9, 1},
                                             {64, 64, 64},
                                             {12, 100, 3},
                                             {300, 20, 1},
                                             {2, 70, 40},
                                             {49, 530, 275}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const Tensor a = transpose_a ? random_matrix<T>(inner, rows, random) : random_matrix<T>(rows, inner, random);
        const Tensor b =
            transpose_b ? random_matrix<T>(columns, inner, random) : random_matrix<T>(inner, columns, random);
        const Tensor actual = matmul(a, b, transpose_a, transpose_b);
        const Tensor expected = product_by_definition<T>(a, b, transpose_a, transpose_b);
        EXPECT_EQ(actual.shape(), expected.shape());
        EXPECT_TRUE(std::ranges::equal(actual.data<T>(), expected.data<T>()))  // 0 and -0 are one value
            << rows << ' ' << inner << ' ' << columns << ' ' << transpose_a << transpose_b;
      }
    }
  }
}

TEST(MatmulKernel, MultipliesFloats) { expect_products_as_defined<float>(); }
TEST(MatmulKernel, MultipliesDoubles) { expect_products_as_defined<double>(); }
TEST(MatmulKernel, MultipliesIntegers) { expect_products_as_defined<std::int32_t>(); }

/// Products with few rows or few inner elements are computed by code of our own.
TEST(MatmulKernel, MultipliesSkinnyMatricesAsEigenDoes) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Map = Eigen::Map<const Matrix>;
  std::mt19937 random(5);
  for (const std::int64_t rows : {2, 7, 8, 9, 32, 33, 129}) {
    for (const std::int64_t inner : {2, 17, 33, 300}) {
      for (const std::int64_t columns : {1, 3, 10, 37, 128, 257}) {
        const Tensor a = random_matrix<float>(rows, inner, random);
        const Tensor turned = random_matrix<float>(inner, rows, random);
        const Tensor b = random_matrix<float>(inner, columns, random);
        const Map matrix(b.data<float>().data(), inner, columns);
        const Matrix product = Map(a.data<float>().data(), rows, inner) * matrix;
        const Matrix product_of_turned = Map(turned.data<float>().data(), inner, rows).transpose() * matrix;
        const Tensor ours = matmul(a, b);
        const Tensor ours_of_turned = matmul(turned, b, true);
        ASSERT_EQ(ours.shape(), (Shape{rows, columns}));
        ASSERT_EQ(ours_of_turned.shape(), (Shape{rows, columns}));
        SCOPED_TRACE(fmt::format("{} x {} x {}", rows, inner, columns));
        EXPECT_EQ(Map(ours.data<float>().data(), rows, columns), product);
        EXPECT_EQ(Map(ours_of_turned.data<float>().data(), rows, columns), product_of_turned);
      }
    }
  }
}

TEST(MatmulKernel, GivesZerosForNoInnerDimension) {
  EXPECT_EQ(matmul(Tensor(DType::Float, Shape{2, 0}), Tensor(DType::Float, Shape{0, 3})),
            Tensor(DType::Float, Shape{2, 3}));
  EXPECT_EQ(matmul(Tensor(DType::Float, Shape{0, 2}), Tensor(DType::Float, Shape{2, 3})).shape(), (Shape{0, 3}));
}

TEST(MatmulKernel, RefusesInnerDimensionsThatDiffer) {
  EXPECT_THROW(matmul(Tensor(DType::Float, Shape{2, 3}), Tensor(DType::Float, Shape{2, 3})), InvalidArgumentError);
  EXPECT_THROW(matmul(Tensor(DType::Float, Shape{2}), Tensor(DType::Float, Shape{2, 3})), InvalidArgumentError);
}

TEST(MatMulKernels, MultiplyBatchesThatBroadcast) {
  std::mt19937 random(3);
  const auto batch = [&](const Shape& shape) {
    Tensor tensor(DType::Double, shape);
    for (double& value : tensor.overwrite_data<double>()) value = static_cast<double>(random() % 17) - 8;
    return tensor;
  };
  const auto matrix = [](const Tensor& of, std::int64_t i) {
    const std::int64_t size = of.shape()[of.shape().rank() - 2] * of.shape()[of.shape().rank() - 1];
    return Tensor::copy_of(
        of.data<double>().subspan(static_cast<std::size_t>(i * size), static_cast<std::size_t>(size)),
        Shape(of.shape().dims().last(2)));
  };
  const Tensor a = batch({2, 1, 4, 3});
  const Tensor b = batch({5, 2, 3});
  const Tensor c = test::run_op(kernels::matmul(), "BatchMatMulV2", {a, b},
                                {{"T", DType::Double}, {"adj_x", false}, {"adj_y", true}}, DType::Double);
  ASSERT_EQ(c.shape(), (Shape{2, 5, 4, 2}));
  for (std::int64_t i = 0; i < 10; ++i)
    EXPECT_EQ(matrix(c, i), product_by_definition<double>(matrix(a, i / 5), matrix(b, i % 5), false, true)) << i;
  EXPECT_THROW(test::run_op(kernels::matmul(), "BatchMatMulV2", {a, b},
                            {{"T", DType::Double}, {"adj_x", false}, {"adj_y", false}}, DType::Double),
               InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
