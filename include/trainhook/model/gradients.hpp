// SPDX-License-Identifier: Apache-2.0
/// @file
/// Symbolic derivatives: gradients(ys, xs) adds the nodes that compute them. GradientRegistry: gradient functions of
/// your own, by op type.
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

struct GradientOptions {
  std::vector<Output> grad_ys{};         ///< the gradient of each y; empty: ones
  std::vector<Output> stop_gradients{};  ///< treated as constants
  GradientRegistry registry{};           ///< functions for op types without a gradient, or in place of theirs
  std::string name = "gradients";        ///< the name scope of the added nodes
};

/// Adds the derivatives of the sum of `ys` with respect to each of `xs`, in order; an output is empty if no y depends
/// on its x.
/// @throws NotFoundError if an op between them has no gradient function. Source: `tf.gradients`.
TRAINHOOK_DECL std::vector<Output> gradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                             const GradientOptions& options = {});
TRAINHOOK_DECL std::vector<Output> gradients(Output y, const std::vector<Output>& xs,
                                             const GradientOptions& options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/impl/gradients.ipp>
#endif
