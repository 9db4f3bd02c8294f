// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sums of products by an equation of labels, for imported graphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

/// An equation such as `bij,bjk->bik`: a label for each dimension.
struct EinsumEquation {
  /// @throws InvalidArgumentError if `text` is not an equation.
  TRAINHOOK_DECL explicit EinsumEquation(std::string_view text);

  std::vector<std::string> inputs{};
  std::string output{};
  bool has_ellipsis = false;  ///< true: the labels have not been parsed
};

/// Einsum.
[[nodiscard]] TRAINHOOK_DECL OpFamily einsum_ops() noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/ops/impl/einsum.ipp>
#endif
