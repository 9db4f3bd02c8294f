// SPDX-License-Identifier: Apache-2.0
/// @file
/// GradientContext: what the gradient function of an op is called with.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// The argument of a gradient function: the operation, and the gradient of the loss for each of its outputs.
class GradientContext {
 public:
  GradientContext(Operation op, std::vector<Output> grads, std::vector<bool> needed)
      : op_(op), grads_(std::move(grads)), needed_(std::move(needed)) {}

  [[nodiscard]] Graph& graph() const { return op_.graph(); }
  [[nodiscard]] const Node& node() const { return op_.node(); }
  [[nodiscard]] Output input(std::size_t index) const { return at(op_.node().inputs(), index, "inputs"); }
  [[nodiscard]] Output output(std::size_t index = 0) const { return op_.output(index); }
  [[nodiscard]] std::size_t input_count() const noexcept { return needed_.size(); }

  /// The gradient for output `index`; empty if the loss does not depend on it.
  [[nodiscard]] Output grad(std::size_t index = 0) const { return at(grads_, index, "outputs"); }

  /// Whether the gradient for input `index` is needed. Nodes of other gradients cost nothing at run time but clutter
  /// the graph.
  [[nodiscard]] bool needs(std::size_t index) const { return at(needed_, index, "inputs"); }

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
};

namespace detail {

using Grads = std::vector<Output>;

/// The gradient rule of ops through which no gradient flows.
inline Grads no_gradient(const GradientContext& context) { return Grads(context.input_count()); }

}  // namespace detail

}  // namespace trainhook
