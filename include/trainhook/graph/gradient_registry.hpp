// SPDX-License-Identifier: Apache-2.0
/// @file
/// Gradient functions by op type: what `gradients()` asks, and where a user adds his own.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/op_builder.hpp>

namespace trainhook {

/// What a gradient function is given: the operation, and the gradient of the loss for each of its outputs.
class GradientContext {
 public:
  GradientContext(Operation op, std::vector<Output> grads, std::vector<bool> needed)
      : op_(op), grads_(std::move(grads)), needed_(std::move(needed)) {}

  [[nodiscard]] Graph& graph() const { return op_.graph(); }
  [[nodiscard]] const Node& node() const { return op_.node(); }
  [[nodiscard]] Output input(std::size_t index) const { return at(op_.node().inputs(), index, "inputs"); }
  [[nodiscard]] Output output(std::size_t index = 0) const { return op_.output(index); }
  [[nodiscard]] std::size_t input_count() const noexcept { return needed_.size(); }

  /// The gradient for output `index`; without value where none flows.
  [[nodiscard]] Output grad(std::size_t index = 0) const { return at(grads_, index, "outputs"); }

  /// Whether the gradient for input `index` is wanted. Adding nodes for others costs nothing at run time, but clutters the graph.
  [[nodiscard]] bool needs(std::size_t index) const { return at(needed_, index, "inputs"); }

 private:
  template <class List>
  [[nodiscard]] typename List::value_type at(const List& list, std::size_t index, std::string_view what) const {
    if (index < list.size()) return list[index];
    throw OutOfRangeError("the gradient of ", op_.name(), " (", op_.type(), ") asks for number ", index, " of its ", list.size(), " ",
                          what);
  }

  Operation op_;
  std::vector<Output> grads_;
  std::vector<bool> needed_;
};

/// Adds the gradients of an operation to its graph: one output for each input, in order; without value where none flows.
using GradientFunction = std::function<std::vector<Output>(const GradientContext&)>;

/// Gradient functions by op type. A value: take `default_gradients()`, add to it, and pass it in the options of `gradients()` or an
/// optimizer.
class GradientRegistry {
 public:
  /// @throws AlreadyExistsError where the op type has one.
  void add(std::string_view op_type, GradientFunction function) {
    if (!functions_.emplace(op_type, std::move(function)).second) {
      throw AlreadyExistsError("op type ", op_type, " has a gradient function already; replace() changes it");
    }
  }
  void replace(std::string_view op_type, GradientFunction function) {
    functions_.insert_or_assign(std::string(op_type), std::move(function));
  }

  /// Says that no gradient flows through an op type.
  void add_not_differentiable(std::string_view op_type) {
    add(op_type, [](const GradientContext& context) { return std::vector<Output>(context.input_count()); });
  }

  /// @throws NotFoundError where the op type has none.
  [[nodiscard]] const GradientFunction& find(const Node& node) const {
    const auto found = functions_.find(node.type());
    if (found == functions_.end()) {
      throw NotFoundError("no gradient is registered for op type ", node.type(), " of node ", node.name(),
                          "; add one to the GradientRegistry, or put stop_gradient() behind the node");
    }
    return found->second;
  }
  [[nodiscard]] bool contains(std::string_view op_type) const noexcept { return functions_.find(op_type) != functions_.end(); }
  [[nodiscard]] std::vector<std::string> op_types() const {
    std::vector<std::string> types;
    for (const auto& [type, function] : functions_) types.push_back(type);
    return types;
  }

 private:
  std::map<std::string, GradientFunction, std::less<>> functions_;
};

}  // namespace trainhook
