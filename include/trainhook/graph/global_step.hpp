// SPDX-License-Identifier: Apache-2.0
/// @file
/// The global step: the number of training steps that a model has made.
#pragma once

#include <optional>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

/// The graph's global step: the variable in its collection, or else the one called `global_step`; nothing if there is
/// none. Source: `tf.compat.v1.train.get_global_step`.
/// @throws InvalidArgumentError if it is not an integer scalar.
[[nodiscard]] TRAINHOOK_DECL std::optional<Variable> get_global_step(const Graph& graph);

/// Adds the int64 scalar variable `global_step`, initially 0. @throws InvalidArgumentError if there is one already.
TRAINHOOK_DECL Variable create_global_step(Graph& graph);

/// The graph's global step, which is created if it does not exist.
TRAINHOOK_DECL Variable get_or_create_global_step(Graph& graph);

/// The global step's value for hooks to fetch, created once per graph. It is a copy, which does not change during a
/// run: if `increment` advances the step, it is the value before. Nothing if the graph has no global step.
/// @throws FailedPreconditionError if the collection has more than one.
TRAINHOOK_DECL std::optional<Output> get_or_create_global_step_read(Graph& graph);

/// Adds `amount` to the step, after the value that hooks fetch has been read. Returns the new step.
TRAINHOOK_DECL Output increment(const Variable& step, const Operand& amount = 1, std::string_view name = {});

namespace detail {

/// The global step. @throws FailedPreconditionError, naming `hook`, if the graph has none.
TRAINHOOK_DECL Variable require_global_step(const Graph& graph, std::string_view hook);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/global_step.ipp>
#endif
