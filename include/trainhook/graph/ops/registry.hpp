// SPDX-License-Identifier: Apache-2.0
/// @file
/// The registry of all op types of this library.
#pragma once

#include <span>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// All families. Add a new family to this list.
[[nodiscard]] TRAINHOOK_DECL std::span<const OpFamily> op_families() noexcept;

/// Returns the definition of an op type of this library, or null.
[[nodiscard]] TRAINHOOK_DECL const OpDef* find_own_op_def(std::string_view type);

}  // namespace detail

/// Returns the definition of an op type, or null. `extra` is searched before the definitions of this library.
[[nodiscard]] TRAINHOOK_DECL const OpDef* find_op_def(std::string_view type,
                                                      std::span<const OpDef> extra = {}) noexcept;

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/registry.ipp>
#endif
