// SPDX-License-Identifier: Apache-2.0
/// @file
/// Variable: a handle of state that a session holds and a checkpoint keeps. ops/state.hpp makes and changes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/graph_keys.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// TensorFlow 1's reference variable: the `VariableV2` node called `name`, its `name/Assign` and its `name/read`.
/// It converts to its value if an `Output` is wanted. A small value type: copies name the same variable.
struct Variable {
  Operation handle{};       ///< the VariableV2 node; its name is the variable's name, in checkpoints too
  Operation initializer{};  ///< assigns the initial value; without value if the engine's user owns the memory
  Output initial_value{};   ///< without value in the same case
  Output read{};            ///< the value as an Identity
  bool trainable = false;

  operator Output() const noexcept { return read; }
  [[nodiscard]] const std::string& name() const { return handle.name(); }
  [[nodiscard]] TRAINHOOK_DECL Output ref() const;
  [[nodiscard]] DType dtype() const { return ref().dtype(); }
  [[nodiscard]] const PartialShape& shape() const { return ref().shape(); }
  friend bool operator==(const Variable& a, const Variable& b) noexcept { return a.handle == b.handle; }
};

/// The variables that a checkpoint holds. Source: `tf.compat.v1.global_variables`.
[[nodiscard]] TRAINHOOK_DECL std::vector<Variable> global_variables(const Graph& graph);
/// The variables that belong to one session. Source: `tf.compat.v1.local_variables`.
[[nodiscard]] TRAINHOOK_DECL std::vector<Variable> local_variables(const Graph& graph);
/// The variables that optimizers change. Source: `tf.compat.v1.trainable_variables`.
[[nodiscard]] TRAINHOOK_DECL std::vector<Variable> trainable_variables(const Graph& graph);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/variable.ipp>
#endif
