// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of the largest elements of rows: top_k, in_top_k.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include <trainhook/engine/kernels/dispatch.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// Whether row[i] comes before row[j]: it is larger, or equal and comes first. NaN comes last.
template <class T, class Index>
struct ComesBefore {
  const T* row;

  bool operator()(Index i, Index j) const {
    const T x = row[i];
    const T y = row[j];
    // NOLINTBEGIN(misc-redundant-expression): true for NaN
    if (x > y || (x == x && y != y)) return true;
    return !(y > x || (y == y && x != x)) && i < j;
    // NOLINTEND(misc-redundant-expression)
  }
};

template <class T, class Index>
void top_k(KernelContext& context) {
  const Shape& shape = context.shape(0);
  if (shape.rank() == 0) throw InvalidArgumentError("input must be of rank 1 or more");
  const std::int64_t k = int_of(context.input(1));
  const std::int64_t columns = shape[shape.rank() - 1];
  if (k < 0 || k > columns) throw InvalidArgumentError("k is {}, but rows have {} elements", k, columns);
  Ints dims(shape.dims());
  dims[dims.size() - 1] = k;
  const Shape result = shape_of_ints(dims);
  T* values = context.output<T>(0, result).data();
  Index* indices = context.output<Index>(1, result).data();
  const std::span<Index> order(context.scratch<Index>(static_cast<std::size_t>(columns)),
                               static_cast<std::size_t>(columns));
  const T* row = context.data<T>(0).data();
  for (std::int64_t i = product_of(shape, 0, shape.rank() - 1); i > 0; --i, row += columns) {
    std::iota(order.begin(), order.end(), Index{0});
    std::partial_sort(order.begin(), order.begin() + k, order.end(), ComesBefore<T, Index>{row});
    for (std::int64_t j = 0; j < k; ++j) {
      *indices++ = order[static_cast<std::size_t>(j)];
      *values++ = row[order[static_cast<std::size_t>(j)]];
    }
  }
}

inline Kernel make_top_k(const Node& node) {
  return kernel_for(DTypes<float, double, std::int32_t, std::int64_t, std::uint8_t>{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "index_type", [&]<class Index>() {
      return kernel_for(IndexTypes{}, node, "Tk", []<class>() { return Kernel(top_k<T, Index>); });
    });
  });
}

/// As in TensorFlow, a target is in no top k if it is out of range, or if a number in its row is not finite.
template <class Index>
void in_top_k(KernelContext& context) {
  const Shape& shape = context.shape(0);
  if (shape.rank() != 2 || context.shape(1) != Shape{shape[0]})
    throw InvalidArgumentError("targets of shape {} do not go with predictions of shape {}", context.shape(1), shape);
  const std::int64_t k = int_of(context.input(2));
  const float* row = context.data<float>(0).data();
  bool* to = context.output<bool>(0, context.shape(1)).data();
  for (const Index target : context.data<Index>(1)) {
    std::int64_t left = target >= 0 && target < shape[1] ? k : 0;  // places for the target
    for (std::int64_t i = 0; i < shape[1] && left > 0; ++i) {
      if (!std::isfinite(row[i])) left = 0;
      if (row[i] > row[target]) --left;
    }
    *to++ = left > 0;
    row += shape[1];
  }
}

inline Kernel make_in_top_k(const Node& node) {
  return kernel_for(IndexTypes{}, node, "T", []<class Index>() { return Kernel(in_top_k<Index>); });
}

inline constexpr std::array kRanking{
    KernelDef{.type = "InTopKV2", .make = make_in_top_k},
    KernelDef{.type = "TopKV2", .make = make_top_k},
};

}  // namespace detail

KernelGroup ranking() noexcept { return detail::kRanking; }

}  // namespace trainhook::kernels
