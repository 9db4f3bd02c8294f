// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors as Python prints what a session of TensorFlow returns, for log lines that are the same in both.
#pragma once

#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// What `str` of Python says of the tensor's value, a NumPy array or scalar, after `numpy.set_printoptions(suppress=
/// True)`: `42.0`, `[1.  2.5]`, one line for each row, lines of at most 75 columns, and of more than 1,000 elements the
/// first and last three along each dimension. A Tensor without value is `none`.
[[nodiscard]] TRAINHOOK_DECL std::string numpy_text(const Tensor& tensor);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/numpy_text.ipp>
#endif
