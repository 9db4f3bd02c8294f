// SPDX-License-Identifier: Apache-2.0
/// @file
/// The global step: how many training steps a model has behind it.
#pragma once

#include <optional>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

/// The graph's global step: the one in its collection, or else the variable of that name; nothing if it has none.
/// Source: `tf.compat.v1.train.get_global_step`.
/// @throws InvalidArgumentError if it is not an integer scalar.
[[nodiscard]] TRAINHOOK_DECL std::optional<Variable> get_global_step(const Graph& graph);

/// Adds the int64 scalar variable `global_step`, initially 0. @throws InvalidArgumentError if there is one already.
TRAINHOOK_DECL Variable create_global_step(Graph& graph);

/// The graph's global step, made if need be.
TRAINHOOK_DECL Variable get_or_create_global_step(Graph& graph);

/// The value of the global step that hooks fetch, made once for each graph: a copy, so that it does not change while a
/// run goes on. If the step is advanced by `increment`, it is the value before. Nothing if the graph has no
/// global step.
/// @throws FailedPreconditionError if the collection has more than one.
TRAINHOOK_DECL std::optional<Output> get_or_create_global_step_read(Graph& graph);

/// Adds `amount` to the step, after the value that hooks fetch has been read; the result is the new step.
TRAINHOOK_DECL Output increment(const Variable& step, const Operand& amount = 1, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/global_step.ipp>
#endif
