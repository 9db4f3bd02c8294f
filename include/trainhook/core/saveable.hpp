// SPDX-License-Identifier: Apache-2.0
/// @file
/// State that is kept over a restart: what a session has, and objects of one's own that go into the same checkpoint.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

/// What a piece of a session's state is, which decides who saves it and whether restoring can do without.
enum class StateKind {
  Variable,   ///< parameters, optimizer slots, the global step: a model without one of them is not restored
  Auxiliary,  ///< random generators and other small state: where a checkpoint has none, it keeps its value and a log
              ///< line says so
  Input,      ///< positions of input pipelines: saved where an input hook or a saveable asks for it
};

/// One named piece of a session's state.
struct StateSpec {
  std::string name{};
  StateKind kind = StateKind::Variable;
  DType dtype = DType::Invalid;
  PartialShape shape{};
  bool initialized = true;  ///< whether it has a value yet
};

/// Names and values that belong together: a hook's state, a saveable's share of a checkpoint.
class StateValues {
 public:
  StateValues() = default;
  explicit StateValues(std::vector<NamedTensor> entries) : entries_(std::move(entries)) {}

  TRAINHOOK_DECL void set(std::string name, Tensor value);
  [[nodiscard]] const std::vector<NamedTensor>& entries() const noexcept { return entries_; }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

  /// The value called `name`, or null.
  [[nodiscard]] TRAINHOOK_DECL const Tensor* find(std::string_view name) const noexcept;

  /// The value called `name`. @throws NotFoundError where there is none.
  [[nodiscard]] TRAINHOOK_DECL const Tensor& at(std::string_view name) const;

  /// How the layout was numbered by whoever wrote it.
  int version = 1;

 private:
  std::vector<NamedTensor> entries_;
};

/// An object whose state goes into the model's own checkpoint; put into the collection `saveable_objects`.
/// Called on the thread that saves or restores, never during a run.
class Saveable {
 public:
  TRAINHOOK_DECL virtual ~Saveable();

  /// What its entries in the checkpoint begin with; unique within a graph.
  [[nodiscard]] virtual std::string name() const = 0;

  /// The state as of now. Names are relative to `name()`; an empty name is the object's only value.
  [[nodiscard]] virtual StateValues save() = 0;

  /// Takes the state back, before any variable is touched. Empty where the checkpoint has none: starts fresh.
  /// A DataLossError makes a session try the next older checkpoint; any other exception ends its creation.
  virtual void load(const StateValues& values) = 0;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/saveable.ipp>
#endif
