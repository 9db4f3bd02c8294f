// SPDX-License-Identifier: Apache-2.0
/// @file
/// The list of the op types that functions of this library build, for the import of graphs.
#pragma once

#include <span>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::model {

/// Their definitions, family by family; `compat::ops()` has those that only imported graphs have, too. Nothing that
/// builds, differentiates or runs a graph needs the list: each node knows its own.
[[nodiscard]] TRAINHOOK_DECL std::span<const detail::OpFamily> ops() noexcept;

}  // namespace trainhook::model

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/registry.ipp>
#endif
