// SPDX-License-Identifier: Apache-2.0
/// @file
/// Durations as text for people.
#pragma once

#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// A duration for people: `0.4 s`, `12 s`, `3 min 05 s`, `1 h 04 min`.
[[nodiscard]] TRAINHOOK_DECL std::string duration_text(Duration duration);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/duration_text.ipp>
#endif
