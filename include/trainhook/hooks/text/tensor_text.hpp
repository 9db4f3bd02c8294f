// SPDX-License-Identifier: Apache-2.0
/// @file
/// Short text of tensors for log lines, with digits that read back the same, and text as JSON.
#pragma once

#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// The elements in brackets, `[1.0 2.5]`, at most the first 32. A scalar is a plain number, an empty Tensor `none`.
[[nodiscard]] TRAINHOOK_DECL std::string tensor_text(const Tensor& tensor);

/// Text as a JSON string, with quotes; see `utf8_text`.
[[nodiscard]] TRAINHOOK_DECL std::string json_string(std::string_view text);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/text/impl/tensor_text.ipp>
#endif
