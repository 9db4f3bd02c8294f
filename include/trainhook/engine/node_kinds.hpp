// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kinds of nodes that the planner itself handles.
#pragma once

#include <span>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

[[nodiscard]] TRAINHOOK_DECL bool is_variable(const Node& node) noexcept;
[[nodiscard]] TRAINHOOK_DECL bool is_constant(const Node& node) noexcept;
[[nodiscard]] TRAINHOOK_DECL bool is_placeholder(const Node& node) noexcept;

/// True if the node passes its input on under another name.
[[nodiscard]] TRAINHOOK_DECL bool forwards(const Node& node) noexcept;

/// True if the node passes its first input on as one of two outputs, chosen by its second input.
[[nodiscard]] TRAINHOOK_DECL bool is_switch(const Node& node) noexcept;

/// True if the planner itself handles the node's op type, so that it needs no kernel.
[[nodiscard]] TRAINHOOK_DECL bool needs_no_kernel(const Node& node) noexcept;

[[nodiscard]] TRAINHOOK_DECL bool is_fed(std::span<const Output> fed, Output output) noexcept;

/// Returns the variable that `output` names: an output of a VariableV2, or of an op that writes and passes it on. Null
/// for a value.
[[nodiscard]] TRAINHOOK_DECL const Node* variable_named_by(const KernelTable& kernels, std::span<const Output> fed,
                                                           Output output);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/node_kinds.ipp>
#endif
