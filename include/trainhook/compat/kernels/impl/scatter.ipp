// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that add, subtract and assign rows of variables.
#pragma once

#include <trainhook/compat/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/strided_copy.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The rows of a variable at the indices in input 1, and the updates in input 2: a row for each, or one scalar for all.
template <class Index>
class ScatteredRows {
 public:
  /// @throws InvalidArgumentError for shapes that do not go together, and for an index that names no row.
  explicit ScatteredRows(const KernelContext& context) : indices_(context.data<Index>(1)) {
    const Shape& whole = context.variable(0).value.shape();
    const Shape& shape = context.shape(1);
    const Shape& updates = context.shape(2);
    bool fits = whole.rank() > 0 && updates.rank() == shape.rank() + whole.rank() - 1;
    for (std::size_t i = 0; fits && i < updates.rank(); ++i) {
      fits = updates[i] == (i < shape.rank() ? shape[i] : whole[i - shape.rank() + 1]);
    }
    if (whole.rank() == 0 || (!fits && updates.rank() > 0)) {
      throw InvalidArgumentError("updates of shape {} do not go with indices of shape {} into a variable of shape {}",
                                 updates, shape, whole);
    }
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      if (indices_[i] < 0 || indices_[i] >= whole[0]) {
        throw InvalidArgumentError("indices[{}] = {} is not in [0, {})", i, indices_[i], whole[0]);
      }
    }
    width_ = product_of(whole, 1, whole.rank());
    has_rows_ = fits;
  }

  /// Calls `change(place in the variable, place in the updates)` for each row, in the order of the indices.
  template <class Change>
  void for_each(const Change& change) const {
    std::int64_t from = 0;
    for (const Index index : indices_) {
      change(std::int64_t{index} * width_, from);
      if (has_rows_) from += width_;
    }
  }
  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  /// False for a scalar in place of rows.
  [[nodiscard]] bool has_rows() const noexcept { return has_rows_; }

 private:
  std::span<const Index> indices_;
  std::int64_t width_ = 0;
  bool has_rows_ = false;
};

template <bool Adds>
void add_to(auto&& row, const auto& update) {
  if constexpr (Adds) {
    row += update;
  } else {
    row -= update;
  }
}

template <class T, class Index, bool Adds>
void scatter_sum(KernelContext& context) {
  const ScatteredRows<Index> rows(context);
  const T* const updates = context.data<T>(2).data();
  T* const values = context.variable(0).value.template mutable_data<T>().data();
  rows.for_each([&](std::int64_t to, std::int64_t from) {
    ArrayMap<T> row(values + to, rows.width());
    if (rows.has_rows()) {
      add_to<Adds>(row, ConstArrayMap<T>(updates + from, rows.width()));
    } else {
      add_to<Adds>(row, *updates);
    }
  });
}

template <bool Adds>
Kernel make_scatter_sum(const Node& node) {
  return kernel_for(NumberTypes{}, node, "T", [&]<class T>() {
    return kernel_for(IndexTypes{}, node, "Tindices",
                      []<class Index>() { return Kernel(scatter_sum<T, Index, Adds>); });
  });
}

template <class Index>
void scatter_update(KernelContext& context) {
  const ScatteredRows<Index> rows(context);
  Tensor& variable = context.variable(0).value;
  visit_storage(variable.dtype(), [&]<class T>() {
    const T* const updates = stored<T>(context.input(2));
    T* const values = stored_for_writing<T>(variable);
    rows.for_each([&](std::int64_t to, std::int64_t from) {
      if (rows.has_rows()) {
        std::copy_n(updates + from, rows.width(), values + to);
      } else {
        std::fill_n(values + to, rows.width(), *updates);
      }
    });
  });
}

inline Kernel make_scatter_update(const Node& node) {
  return kernel_for(IndexTypes{}, node, "Tindices", []<class Index>() { return Kernel(scatter_update<Index>); });
}

inline constexpr std::array kScatter{
    KernelDef{.type = "ScatterAdd", .make = make_scatter_sum<true>, .variables = 1, .writes = true},
    KernelDef{.type = "ScatterSub", .make = make_scatter_sum<false>, .variables = 1, .writes = true},
    KernelDef{.type = "ScatterUpdate", .make = make_scatter_update, .variables = 1, .writes = true},
};

}  // namespace detail

KernelGroup scatter() noexcept { return detail::kScatter; }

}  // namespace trainhook::kernels
