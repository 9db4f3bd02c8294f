// SPDX-License-Identifier: Apache-2.0
/// @file
/// GradientRegistry: gradient functions of your own, by op type.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// Adds the gradients of an operation to its graph and returns one output per input, in order; empty if no gradient
/// flows.
using GradientFunction = std::function<std::vector<Output>(const GradientContext&)>;

/// Gradient functions for op types whose definition has none, or in place of the definition's. A value type: pass it in
/// the options of `gradients()` or an optimizer.
class GradientRegistry {
 public:
  /// @throws AlreadyExistsError if the op type has one; if its definition has one, `find` throws it.
  TRAINHOOK_DECL void add(std::string_view op_type, GradientFunction function);
  TRAINHOOK_DECL void replace(std::string_view op_type, GradientFunction function);

  /// Declares that no gradient flows through an op type.
  TRAINHOOK_DECL void add_not_differentiable(std::string_view op_type);

  /// The function of the node's op type, or else the rule of its definition.
  /// @throws NotFoundError if it has neither, AlreadyExistsError if a function was added although it has a rule.
  [[nodiscard]] TRAINHOOK_DECL GradientFunction find(const Node& node) const;

 private:
  struct Entry {
    GradientFunction function;
    bool replaces = false;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/impl/gradient_registry.ipp>
#endif
