// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that order others: no_op, group, tuple, identity, stop_gradient.
#pragma once

#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// Identity, NoOp, StopGradient.
[[nodiscard]] TRAINHOOK_DECL OpFamily control_flow_ops() noexcept;

}  // namespace detail

/// The value of `x`, as another node. Source: `tf.identity`.
TRAINHOOK_DECL Output identity(Output x, std::string_view name = {});

/// The value of `x`, through which no gradient flows. Source: `tf.stop_gradient`.
TRAINHOOK_DECL Output stop_gradient(Output x, std::string_view name = {});

/// The value of `output` once `dependencies` have run. Source: `tf.control_dependencies` around `tf.identity`.
TRAINHOOK_DECL Output with_dependencies(const std::vector<Operation>& dependencies, Output output,
                                        std::string_view name = "control_dependency");

/// An operation that does nothing but wait for its control inputs. Source: `tf.no_op`.
TRAINHOOK_DECL Operation no_op(Graph& graph, std::string_view name = "NoOp");

/// An operation that runs all of `operations`. Source: `tf.group`.
TRAINHOOK_DECL Operation group(Graph& graph, std::vector<Operation> operations, std::string_view name = "group_deps");

/// The same values, each available only after all of them and `control_inputs` have been computed. Source: `tf.tuple`.
TRAINHOOK_DECL std::vector<Output> tuple(const std::vector<Output>& tensors, std::vector<Operation> control_inputs = {},
                                         std::string_view name = "tuple");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/control_flow.ipp>
#endif
