// SPDX-License-Identifier: Apache-2.0
/// @file
/// The list of the op types that a model is built from, for the import of graphs.
#pragma once

#include <span>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace model {

/// The definitions of all op types, family by family. Nothing that builds, differentiates or runs a graph needs them:
/// each node knows its own.
[[nodiscard]] TRAINHOOK_DECL std::span<const detail::OpFamily> ops() noexcept;

}  // namespace model

/// Returns the definition of an op type, or null. `extra` is searched before `model::ops()`.
[[nodiscard]] TRAINHOOK_DECL const OpDef* find_op_def(std::string_view type,
                                                      std::span<const OpDef> extra = {}) noexcept;

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/registry.ipp>
#endif
