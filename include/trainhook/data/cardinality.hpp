// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cardinalities of datasets that are not a number of elements.
#pragma once

#include <cstdint>

namespace trainhook {

/// TensorFlow's values for what `Dataset::cardinality` returns if it is not the number of elements.
inline constexpr std::int64_t kInfiniteCardinality = -1;
inline constexpr std::int64_t kUnknownCardinality = -2;

}  // namespace trainhook
