// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saveable: state that survives a restart in the model's checkpoint.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

/// The kind of a piece of a session's state: it decides who saves it, and whether a checkpoint may lack it.
enum class StateKind {
  Variable,   ///< parameters, optimizer slots, the global step: a checkpoint that lacks one of them is not restored
  Auxiliary,  ///< random generators and other small state: as a variable, but a checkpoint of another program may lack
              ///< the generators of random ops
  Input,      ///< positions of input pipelines: saved if an input hook or the graph asks for it
};

/// One named piece of a session's state.
struct StateSpec {
  std::string name{};
  StateKind kind = StateKind::Variable;
  DType dtype = DType::Invalid;
  PartialShape shape{};
  bool initialized = true;    ///< whether it has a value yet
  bool is_generator = false;  ///< of random numbers
};

/// The elements of a variable where its owner has them, row-major.
struct StateMemory {
  DType dtype = DType::Invalid;
  Shape shape{};
  std::span<const std::byte> bytes{};
};

/// Those of a tensor; without bytes if they are strings.
[[nodiscard]] inline StateMemory elements_of(const Tensor& tensor) {
  return {.dtype = tensor.dtype(),
          .shape = tensor.shape(),
          .bytes = tensor.dtype() == DType::String ? std::span<const std::byte>() : tensor.bytes()};
}

/// Writes the elements of the variable `name` where they are.
using FillMemory = FunctionRef<void(const std::string& name, std::span<std::byte> memory)>;

/// Named values that belong together: a hook's state, or a Saveable's part of a checkpoint.
class StateValues {
 public:
  StateValues() = default;
  explicit StateValues(std::vector<NamedTensor> entries) : entries_(std::move(entries)) {}

  TRAINHOOK_DECL void set(std::string name, Tensor value);
  [[nodiscard]] const std::vector<NamedTensor>& entries() const noexcept { return entries_; }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

  /// The value called `name`, or null.
  [[nodiscard]] TRAINHOOK_DECL const Tensor* find(std::string_view name) const noexcept;

  /// The value called `name`. @throws NotFoundError if there is none.
  [[nodiscard]] TRAINHOOK_DECL const Tensor& at(std::string_view name) const;

  /// The version of the layout. Only the object that writes and loads the values interprets it.
  int version = 1;

 private:
  std::vector<NamedTensor> entries_;
};

/// An object whose state goes into the model's own checkpoint; put into the collection `saveable_objects`.
/// Called on the thread that saves or restores, never during a run.
class Saveable {
 public:
  TRAINHOOK_DECL virtual ~Saveable();

  /// The prefix of its entries in the checkpoint; unique within a graph.
  [[nodiscard]] virtual std::string name() const = 0;

  /// Returns the current state. Names are relative to `name()`; an object with a single value may use an empty name.
  [[nodiscard]] virtual StateValues save() = 0;

  /// Restores the state, before any variable is changed. If the checkpoint has none, `values` is empty: start fresh. A
  /// DataLossError makes a session try the next older checkpoint; any other exception ends its creation.
  virtual void load(const StateValues& values) = 0;
};

namespace detail {

/// Begins the name of a value that is a part of a tensor, `_part/<tensor>/<shape and region, as in SaveV2>`, in the
/// state of a hook. A restore gives a hook those of all processes, because the tensor may be cut in another way.
inline constexpr std::string_view kPartOfTensor = "_part/";

/// The current state of `saveable`, by the names in the checkpoint.
[[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> entries_of(Saveable& saveable);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/saveable.ipp>
#endif
