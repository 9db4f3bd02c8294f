// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a saver looks for that refuses to write NaN and infinity.
#pragma once

#include <cstddef>
#include <optional>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// The first element that is NaN or infinite; nothing if all are finite, as those of other dtypes than floating and
/// complex ones are.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::size_t> first_non_finite(const Tensor& tensor);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/non_finite.ipp>
#endif
