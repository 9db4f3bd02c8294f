// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors as text in log lines, with digits that read back the same or as NumPy prints them, and text as JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// A number, and the shortest digits that read back the same in its type.
struct NumpyNumber {
  TRAINHOOK_DECL explicit NumpyNumber(float number);
  TRAINHOOK_DECL explicit NumpyNumber(double number);
  TRAINHOOK_DECL explicit NumpyNumber(Half number);
  explicit NumpyNumber(BFloat16 number) : NumpyNumber(to_float(number)) {}

  double value;
  std::string shortest{};  ///< `1.25e+08`; empty unless it is finite
};

/// A scalar: `0.1`, `1e-07`, `nan`; an integer value ends with `whole_ends_with`.
[[nodiscard]] TRAINHOOK_DECL std::string numpy_scalar(const NumpyNumber& number,
                                                      std::string_view whole_ends_with = ".0");

/// All numbers of an array in one format: aligned points, at most 8 digits after them. With exponents if a number is
/// 1e8 or more, but not if all are small (`suppress=True`).
/// @param with_plus also shows the sign of numbers that are not negative
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> numpy_column(std::span<const NumpyNumber> numbers,
                                                                   bool with_plus = false);

/// The result of Python's `str` for the value as a NumPy array or scalar, after
/// `numpy.set_printoptions(suppress=True)`: `42.0`, `[1. 2.5]`, one line per row, lines of at most 75 columns, and for
/// more than 1,000 elements only the first and last three along each dimension. An empty Tensor is `none`.
[[nodiscard]] TRAINHOOK_DECL std::string numpy_text(const Tensor& tensor);

/// The elements in brackets, `[1.0 2.5]`, at most the first 32. A scalar is a plain number, an empty Tensor `none`.
[[nodiscard]] TRAINHOOK_DECL std::string tensor_text(const Tensor& tensor);

/// Text as a JSON string, with quotes; see `utf8_text`.
[[nodiscard]] TRAINHOOK_DECL std::string json_string(std::string_view text);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/text/impl/tensor_text.ipp>
#endif
