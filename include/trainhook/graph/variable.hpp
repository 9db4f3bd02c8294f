// SPDX-License-Identifier: Apache-2.0
/// @file
/// Variable: a handle of state that a session holds and checkpoints save. ops/state.hpp creates and changes variables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

class Graph;

/// The region of a partitioned variable, maybe all of it: `var_shape` elements from `var_offset` on. Checkpoints store
/// the whole variable as `full_name`. Source: `tf.Variable.SaveSliceInfo`.
struct SaveSliceInfo {
  std::string full_name{};
  std::vector<std::int64_t> full_shape{};
  std::vector<std::int64_t> var_offset{};
  std::vector<std::int64_t> var_shape{};
  bool is_own = false;  ///< other processes of a job have the other regions; false: each has all of them

  /// The text for SaveV2 and RestoreV2: `4 2 0,2:0,2` is the upper half of a matrix of 4 rows.
  [[nodiscard]] TRAINHOOK_DECL std::string spec() const;

  /// @throws InvalidArgumentError, naming `variable`, if it is not a region of `full_shape`, or not of shape `shape`.
  TRAINHOOK_DECL void validate(std::string_view variable, const PartialShape& shape) const;
};

/// TensorFlow 1's reference variable: the `VariableV2` node called `name`, its `name/Assign` and its `name/read`. It
/// converts to its value as an `Output`. Copies refer to the same variable.
struct Variable {
  Operation handle{};       ///< the VariableV2 node; its name is the variable's name, in checkpoints too
  Operation initializer{};  ///< assigns the initial value; empty for variables of a LoopSession
  Output initial_value{};   ///< empty in the same case
  Output read{};            ///< the value as an Identity
  bool trainable = false;
  std::shared_ptr<const SaveSliceInfo> save_slice_info{};  ///< null: not a part of a partitioned variable

  operator Output() const noexcept { return read; }
  [[nodiscard]] const std::string& name() const { return handle.name(); }
  [[nodiscard]] TRAINHOOK_DECL Output ref() const;
  [[nodiscard]] DType dtype() const { return ref().dtype(); }
  [[nodiscard]] const PartialShape& shape() const { return ref().shape(); }
  friend bool operator==(const Variable& a, const Variable& b) noexcept { return a.handle == b.handle; }
};

namespace detail {

/// An attribute of an Identity that copies its variable's value when it runs, as TensorFlow reads resource variables.
/// Without it, consumers see the variable's memory, as with TensorFlow's reference variables.
inline constexpr std::string_view kReadsOnce = "_reads_once";

}  // namespace detail

/// Whose value counts when a program resumes from a checkpoint.
enum class OnResume {
  Restore,      ///< the checkpoint's
  KeepInitial,  ///< the program's, so that a restart may change it: see `keep_initial`
};

/// Has a variable, or other state of that name in checkpoints, keep the program's value when the program resumes: the
/// one that it has when its session is created, or the initial value of a graph's variable. A log line and `run.pbtxt`
/// say which value it replaces. From then on what the session saves has the last word: if it is lost, it gets back the
/// value of its checkpoint, or the program's if it has none of its own yet. An evaluation gets the checkpoint's, too.
TRAINHOOK_DECL void keep_initial(Graph& graph, std::string_view name);

namespace detail {

inline constexpr std::string_view kKeptInitial = "kept_initial";  // the collection of such names

}  // namespace detail

/// The variables that checkpoints save. Source: `tf.compat.v1.global_variables`.
[[nodiscard]] TRAINHOOK_DECL std::vector<Variable> global_variables(const Graph& graph);
/// The variables that belong to one session and are not saved. Source: `tf.compat.v1.local_variables`.
[[nodiscard]] TRAINHOOK_DECL std::vector<Variable> local_variables(const Graph& graph);
/// The variables that optimizers change. Source: `tf.compat.v1.trainable_variables`.
[[nodiscard]] TRAINHOOK_DECL std::vector<Variable> trainable_variables(const Graph& graph);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/variable.ipp>
#endif
