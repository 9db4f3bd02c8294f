// SPDX-License-Identifier: Apache-2.0
/// @file
/// GradientRegistry: the gradient functions that `gradients()` uses, by op type. You can add your own.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

/// The argument of a gradient function: the operation, and the gradient of the loss for each of its outputs.
class GradientContext {
 public:
  /// `find` finds the definitions of op types.
  TRAINHOOK_DECL GradientContext(Operation op, std::vector<Output> grads, std::vector<bool> needed,
                                 const OpDef* (*find)(std::string_view type));

  [[nodiscard]] Graph& graph() const { return op_.graph(); }
  [[nodiscard]] const Node& node() const { return op_.node(); }
  [[nodiscard]] TRAINHOOK_DECL Output input(std::size_t index) const;
  [[nodiscard]] Output output(std::size_t index = 0) const { return op_.output(index); }
  [[nodiscard]] std::size_t input_count() const noexcept { return needed_.size(); }

  /// The gradient for output `index`; empty if the loss does not depend on it.
  [[nodiscard]] TRAINHOOK_DECL Output grad(std::size_t index = 0) const;

  /// Whether the gradient for input `index` is needed. Nodes of other gradients cost nothing at run time but clutter
  /// the graph.
  [[nodiscard]] TRAINHOOK_DECL bool needs(std::size_t index) const;

  /// Adds a node of one of the library's op types and returns its first output. For op types without a builder, and for
  /// builders in files that would create an include cycle.
  TRAINHOOK_DECL Output add(std::string_view type, std::vector<Output> inputs, Attrs attrs = {}) const;

 private:
  template <class List>
  [[nodiscard]] typename List::value_type at(const List& list, std::size_t index, std::string_view what) const {
    if (index < list.size()) return list[index];
    throw InvalidArgumentError("the gradient of {} ({}) asks for number {} of its {} {}", op_.name(), op_.type(), index,
                               list.size(), what);
  }

  Operation op_;
  std::vector<Output> grads_;
  std::vector<bool> needed_;
  const OpDef* (*find_)(std::string_view type);
};

namespace detail {

using Grads = std::vector<Output>;

/// The gradient rule of ops through which no gradient flows.
TRAINHOOK_DECL Grads no_gradient(const GradientContext& context);

}  // namespace detail

/// Adds the gradients of an operation to its graph and returns one output per input, in order; empty if no gradient
/// flows.
using GradientFunction = std::function<std::vector<Output>(const GradientContext&)>;

/// Gradient functions by op type. A value type: take `default_gradients()`, add to it, and pass it in the options of
/// `gradients()` or an optimizer.
class GradientRegistry {
 public:
  /// @throws AlreadyExistsError if the op type has one.
  TRAINHOOK_DECL void add(std::string_view op_type, GradientFunction function);
  TRAINHOOK_DECL void replace(std::string_view op_type, GradientFunction function);

  /// Declares that no gradient flows through an op type.
  TRAINHOOK_DECL void add_not_differentiable(std::string_view op_type);

  /// @throws NotFoundError if the op type has none.
  [[nodiscard]] TRAINHOOK_DECL const GradientFunction& find(const Node& node) const;
  [[nodiscard]] TRAINHOOK_DECL bool contains(std::string_view op_type) const noexcept;
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> op_types() const;

 private:
  std::map<std::string, GradientFunction, std::less<>> functions_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/gradient_registry.ipp>
#endif
