// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a saver looks for that refuses to write NaN and infinity.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// The first element that is NaN or infinite; nothing if all are finite, as those of other dtypes than floating and
/// complex ones are.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::size_t> first_non_finite(const Tensor& tensor);

/// @throws FailedPreconditionError for such an element: the checkpoint `prefix` is not to have one.
TRAINHOOK_DECL void expect_finite(const std::string& name, const Tensor& tensor, const std::string& prefix);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/non_finite.ipp>
#endif
