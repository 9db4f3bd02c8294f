// SPDX-License-Identifier: Apache-2.0
/// @file
/// Layout: row-major and column-major memory, and copies between them.
#pragma once

#include <cstddef>
#include <span>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook {

/// The order of a matrix in memory: by rows, or by columns as in Fortran and, by default, in Eigen.
enum class Layout { RowMajor, ColumnMajor };

namespace detail {

TRAINHOOK_DECL void transpose(std::span<const std::byte> from, std::span<std::byte> to, std::size_t rows,
                              std::size_t columns);

/// Copies memory of `layout` to row-major `to`. Both hold a tensor of `shape`.
TRAINHOOK_DECL void to_row_major(std::span<const std::byte> memory, Layout layout, const Shape& shape,
                                 std::span<std::byte> to);

/// Copies row-major `from` to memory of `layout`.
TRAINHOOK_DECL void from_row_major(std::span<const std::byte> from, Layout layout, const Shape& shape,
                                   std::span<std::byte> memory);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/memory_layout.ipp>
#endif
