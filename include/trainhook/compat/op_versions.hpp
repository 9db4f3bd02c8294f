// SPDX-License-Identifier: Apache-2.0
/// @file
/// Op types that TensorFlow has in several versions: nodes of the others become nodes of the version that runs here.
#pragma once

#include <span>
#include <string_view>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

// In these, `extra` defines op types that stay as they are.

/// Replaces nodes of other versions of an op type, mostly older ones, by nodes of the same names and results. An
/// attribute that became an input is a constant in an additional node; these are placed after all others.
[[nodiscard]] TRAINHOOK_DECL GraphDef with_served_versions(GraphDef def, std::span<const OpDef> extra);

/// Returns whether some node of `def` would be replaced.
[[nodiscard]] TRAINHOOK_DECL bool has_other_versions(const GraphDef& def, std::span<const OpDef> extra);

/// Returns the op type that runs here in place of `type`; `type` itself if it is not another version of one.
[[nodiscard]] TRAINHOOK_DECL std::string_view served_version(std::string_view type) noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/op_versions.ipp>
#endif
