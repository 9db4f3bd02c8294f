// SPDX-License-Identifier: Apache-2.0
/// @file
/// Layouts of memory, and how they become row-major.
#include <trainhook/loop/variable_memory.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <array>
#include <functional>
#include <memory_resource>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

// The matrix with element (row, column) = row * columns + column, in both orders.
template <class T>
struct Matrix {
  Matrix(std::size_t rows, std::size_t columns)
      : shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
        by_row(rows * columns),
        by_column(rows * columns) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        by_row[row * columns + column] = by_column[column * rows + row] =
            static_cast<T>(static_cast<float>(row * columns + column));
      }
    }
  }
  Shape shape;
  std::vector<T> by_row;
  std::vector<T> by_column;
};

template <class T>
void expect_both_ways(std::size_t rows, std::size_t columns) {
  const Matrix<T> matrix(rows, columns);
  std::vector<T> copy(rows * columns);
  detail::to_row_major(std::as_bytes(std::span(matrix.by_column)), Layout::ColumnMajor, matrix.shape,
                       std::as_writable_bytes(std::span(copy)));
  EXPECT_EQ(copy, matrix.by_row) << rows << " x " << columns;
  detail::from_row_major(std::as_bytes(std::span(matrix.by_row)), Layout::ColumnMajor, matrix.shape,
                         std::as_writable_bytes(std::span(copy)));
  EXPECT_EQ(copy, matrix.by_column) << rows << " x " << columns;
}

TEST(MemoryLayout, TransposesColumnMajorMemoryBothWays) {
  expect_both_ways<float>(2, 3);
  expect_both_ways<float>(1, 5);
  expect_both_ways<float>(5, 1);
  expect_both_ways<float>(32, 33);
  expect_both_ways<float>(100, 70);
}

TEST(MemoryLayout, TransposesElementsOfEverySize) {
  expect_both_ways<std::uint8_t>(3, 40);
  expect_both_ways<std::int16_t>(3, 40);
  expect_both_ways<double>(3, 40);
  expect_both_ways<std::complex<double>>(3, 40);
}

TEST(MemoryLayout, CopiesRowMajorMemoryAsItIs) {
  const Matrix<float> matrix(2, 3);
  std::vector<float> copy(6);
  detail::to_row_major(std::as_bytes(std::span(matrix.by_row)), Layout::RowMajor, matrix.shape,
                       std::as_writable_bytes(std::span(copy)));
  EXPECT_EQ(copy, matrix.by_row);
}

TEST(MemoryLayout, TakesEmptyMatrices) {
  detail::to_row_major({}, Layout::ColumnMajor, Shape{0, 3}, {});
  detail::from_row_major({}, Layout::RowMajor, Shape{0}, {});
}

static_assert(detail::ResizableMemory<std::vector<float>> && !detail::ResizableMemory<std::array<float, 3>> &&
              !detail::ResizableMemory<float> && !detail::ResizableMemory<float[3]>);

TEST(MemoryResizer, ExchangesTheMemoryAndTakesThatBackWithItsAllocator) {
  std::pmr::monotonic_buffer_resource resource;
  std::pmr::vector<float> memory({1, 2, 3}, &resource);
  const std::function<void()> exchange = detail::memory_resizer(memory)(5);
  EXPECT_EQ(memory.size(), 3U);
  exchange();
  EXPECT_EQ(memory.size(), 5U);
  EXPECT_EQ(memory.get_allocator().resource(), &resource);
  exchange();
  EXPECT_EQ(memory, (std::pmr::vector<float>{1, 2, 3}));
}

TEST(MemoryResizer, IsEmptyForMemoryOfFixedSize) {
  std::array<float, 3> memory{};
  EXPECT_EQ(detail::memory_resizer(memory), nullptr);
}

}  // namespace
}  // namespace trainhook
