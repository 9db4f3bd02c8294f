// SPDX-License-Identifier: Apache-2.0
/// @file
/// Prints tensors as Python prints NumPy arrays, so that log lines equal TensorFlow's.
#pragma once

#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// The result of Python's `str` for the value as a NumPy array or scalar, after
/// `numpy.set_printoptions(suppress=True)`: `42.0`, `[1. 2.5]`, one line per row, lines of at most 75 columns, and for
/// more than 1,000 elements only the first and last three along each dimension. An empty Tensor is `none`.
[[nodiscard]] TRAINHOOK_DECL std::string numpy_text(const Tensor& tensor);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/text/impl/numpy_text.ipp>
#endif
