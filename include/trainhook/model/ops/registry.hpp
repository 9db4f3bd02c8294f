// SPDX-License-Identifier: Apache-2.0
/// @file
/// The list of the op types that a model is built from, for the import of graphs.
#pragma once

#include <span>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::model {

/// The definitions of all op types, family by family. Nothing that builds, differentiates or runs a graph needs them:
/// each node knows its own.
[[nodiscard]] TRAINHOOK_DECL std::span<const detail::OpFamily> ops() noexcept;

}  // namespace trainhook::model

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/registry.ipp>
#endif
