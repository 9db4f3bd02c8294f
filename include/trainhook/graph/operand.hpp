// SPDX-License-Identifier: Apache-2.0
/// @file
/// Operand: an output or a number.
#pragma once

#include <concepts>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// An output, or a number, which becomes a constant with the other operand's dtype: `maximum(x, 0)`, `2 * x`,
/// `assign(w, 0.5)`.
class Operand {
 public:
  template <std::convertible_to<Output> T>
  Operand(const T& output) noexcept : output_(output) {}
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
  Operand(T number) noexcept : is_number_(true), number_(number) {}

  [[nodiscard]] bool is_number() const noexcept { return is_number_; }
  [[nodiscard]] double number() const noexcept { return static_cast<double>(number_); }
  [[nodiscard]] const Output& output() const noexcept { return output_; }  ///< empty if it is a number

  /// The operand as an output with the dtype of `other`. @throws InvalidArgumentError for a number that this dtype
  /// cannot represent.
  [[nodiscard]] TRAINHOOK_DECL Output beside(const Output& other, std::string_view name = "Const") const;

 private:
  Output output_{};
  bool is_number_ = false;
  long double number_ = 0;
  static_assert(std::numeric_limits<long double>::digits >= 64,
                "it has to hold every double and every integer of 64 bits as it is");
};

namespace detail {

/// Both operands of a binary op, as outputs. @throws InvalidArgumentError if both are numbers, which have no graph.
TRAINHOOK_DECL std::pair<Output, Output> both(std::string_view type, const Operand& x, const Operand& y);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/operand.ipp>
#endif
