// SPDX-License-Identifier: Apache-2.0
/// @file
/// The special values of `Dataset::cardinality`.
#pragma once

#include <cstdint>

namespace trainhook {

/// `Dataset::cardinality` returns these, as in TensorFlow, if the elements never end or their number is unknown.
inline constexpr std::int64_t kInfiniteCardinality = -1;
inline constexpr std::int64_t kUnknownCardinality = -2;

}  // namespace trainhook
