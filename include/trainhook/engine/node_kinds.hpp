// SPDX-License-Identifier: Apache-2.0
/// @file
/// What kinds of nodes the planner knows by itself.
#pragma once

#include <span>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

[[nodiscard]] TRAINHOOK_DECL bool is_variable(const Node& node) noexcept;
[[nodiscard]] TRAINHOOK_DECL bool is_constant(const Node& node) noexcept;
[[nodiscard]] TRAINHOOK_DECL bool is_placeholder(const Node& node) noexcept;

/// Gives its input's value on under another name.
[[nodiscard]] TRAINHOOK_DECL bool forwards(const Node& node) noexcept;

/// Gives its input's value on as the first or the second output, as its second input says.
[[nodiscard]] TRAINHOOK_DECL bool is_switch(const Node& node) noexcept;

/// Op types that the planner itself knows; they need no kernel.
[[nodiscard]] TRAINHOOK_DECL bool needs_no_kernel(const Node& node) noexcept;

[[nodiscard]] TRAINHOOK_DECL bool is_fed(std::span<const Output> fed, Output output) noexcept;

/// The variable that `output` names: a VariableV2's own output, or what an op that writes it gives on; null for a
/// value.
[[nodiscard]] TRAINHOOK_DECL const Node* variable_named_by(const KernelTable& kernels, std::span<const Output> fed,
                                                           Output output);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/node_kinds.ipp>
#endif
