// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether a line may be written over.
#pragma once

#include <cstdio>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Whether `file` is a terminal that takes escape sequences: not one without them (`TERM=dumb`), nor one of a user who
/// wants none (`NO_COLOR`).
[[nodiscard]] TRAINHOOK_DECL bool takes_escapes(std::FILE* file) noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/terminal.ipp>
#endif
