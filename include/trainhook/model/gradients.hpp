// SPDX-License-Identifier: Apache-2.0
/// @file
/// Symbolic derivatives: `gradients(ys, xs)` adds the nodes that compute them.
#pragma once

#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/gradient_registry.hpp>

namespace trainhook {

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
