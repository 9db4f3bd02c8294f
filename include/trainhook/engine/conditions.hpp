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

/// Conditions that must all hold, in the order in which their predicates are computed.
using Conditions = std::vector<Condition>;

/// Follows branches from Switch to Merge. A node runs if every Switch before it has chosen its branch; a Merge ends the
/// branches that meet there. TensorFlow finds this out during a run, by dead tensors.
class ConditionFinder {
 public:
  explicit ConditionFinder(std::span<const Output> fed = {}) : fed_(fed) {}

  /// Works out the conditions of a node. Nodes are added after those that they depend on.
  TRAINHOOK_DECL void add(const Node& node);

  /// Returns the conditions of a node that was added, or of one of its outputs.
  [[nodiscard]] TRAINHOOK_DECL const Conditions& of(const Node& node) const;
  [[nodiscard]] TRAINHOOK_DECL Conditions of(Output output) const;

  /// Returns the conditions of input `i` of a Merge without those of the Merge itself.
  [[nodiscard]] TRAINHOOK_DECL Conditions of_branch(const Node& merge, std::size_t i) const;

  /// The output that a predicate gets its value from.
  [[nodiscard]] TRAINHOOK_DECL Output source(Output predicate) const;

 private:
  TRAINHOOK_DECL static void unite(Conditions& conditions, const Conditions& more);

  std::span<const Output> fed_;
  std::unordered_map<const Node*, Conditions> conditions_;
};

/// A predicate of a branch: its place among a kernel's inputs, and the value that it must have.
struct BranchInput {
  std::size_t input = 0;
  bool is_true = false;
};

/// Makes a kernel with a leading input for each of `branches`; it copies the first whose branch was taken. Output 1, if
/// it exists, is the number of that input. @throws InvalidArgumentError, when it runs, if no branch was taken.
[[nodiscard]] TRAINHOOK_DECL Kernel merge_kernel(std::vector<std::vector<BranchInput>> branches);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/conditions.ipp>
#endif
