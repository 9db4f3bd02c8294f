// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors as text for log lines: short, and in digits that read back the same.
#pragma once

#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// The elements in brackets, `[1.0 2.5]`; of a long tensor the first 32. A scalar is its number alone, a Tensor without
/// value `none`.
[[nodiscard]] TRAINHOOK_DECL std::string tensor_text(const Tensor& tensor);

/// The value of a float, double, int32 or int64 tensor with one element; nothing for any other.
[[nodiscard]] TRAINHOOK_DECL std::optional<double> tensor_number(const Tensor& tensor);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/tensor_text.ipp>
#endif
