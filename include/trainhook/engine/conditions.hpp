// SPDX-License-Identifier: Apache-2.0
/// @file
/// The branches of `cond`: which predicates a node needs to be true or false so that it runs.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

/// A predicate and the value that it must have.
struct Condition {
  Output predicate{};
  bool is_true = false;
  friend bool operator==(const Condition&, const Condition&) noexcept = default;
};

/// All of them must hold, in the order in which their predicates are computed.
using Conditions = std::vector<Condition>;

/// Follows branches from Switch to Merge. A node runs if every Switch before it has chosen its branch; a Merge ends the
/// branches that meet there. TensorFlow finds this out during a run, by dead tensors.
class ConditionFinder {
 public:
  explicit ConditionFinder(std::span<const Output> fed = {}) : fed_(fed) {}

  /// Works out the conditions of a node. Nodes are added after those that they depend on.
  TRAINHOOK_DECL void add(const Node& node);

  /// Returns those of a node that was added, and of one of its outputs.
  [[nodiscard]] TRAINHOOK_DECL const Conditions& of(const Node& node) const;
  [[nodiscard]] TRAINHOOK_DECL Conditions of(Output output) const;

  /// Returns those of input `i` of a Merge that the Merge itself does not have.
  [[nodiscard]] TRAINHOOK_DECL Conditions of_branch(const Node& merge, std::size_t i) const;

  /// The output that a predicate gets its value from.
  [[nodiscard]] TRAINHOOK_DECL Output source(Output predicate) const;

 private:
  TRAINHOOK_DECL static void unite(Conditions& conditions, const Conditions& more);

  std::span<const Output> fed_;
  std::unordered_map<const Node*, Conditions> conditions_;
};

/// Where the inputs of a kernel have the predicates of a branch, and what they must be.
struct BranchInput {
  std::size_t input = 0;
  bool is_true = false;
};

/// The kernel that copies the first of its leading inputs whose branch was taken, one for each of `branches`. Output 1,
/// if there is one, is its number. @throws InvalidArgumentError, when it runs, if none was taken.
[[nodiscard]] TRAINHOOK_DECL Kernel merge_kernel(std::vector<std::vector<BranchInput>> branches);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/conditions.ipp>
#endif
