// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/conditions.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/plan.hpp>

namespace trainhook::detail {

void ConditionFinder::add(const Node& node) {
  Conditions conditions;
  bool is_first = true;
  for (const Output& input : node.inputs()) {
    const Conditions of_input = of(input);
    if (node.type() != "Merge" || is_first) {
      unite(conditions, of_input);
    } else {
      std::erase_if(conditions, [&](const Condition& c) { return std::ranges::find(of_input, c) == of_input.end(); });
    }
    is_first = false;
  }
  for (const Operation& input : node.control_inputs()) unite(conditions, of(input.node()));
  if (!conditions.empty()) conditions_.emplace(&node, std::move(conditions));
}

const Conditions& ConditionFinder::of(const Node& node) const {
  static const Conditions* const none = new Conditions;  // never destroyed, like system_clock()
  const auto found = conditions_.find(&node);
  return found == conditions_.end() ? *none : found->second;
}

Conditions ConditionFinder::of(Output output) const {
  if (is_fed(fed_, output)) return {};
  Conditions result = of(output.node());
  if (is_switch(output.node())) unite(result, {{source(output.node().inputs()[1]), output.index() == 1}});
  return result;
}

Conditions ConditionFinder::of_branch(const Node& merge, std::size_t i) const {
  Conditions result = of(merge.inputs()[i]);
  const Conditions& common = of(merge);
  std::erase_if(result, [&](const Condition& c) { return std::ranges::find(common, c) != common.end(); });
  return result;
}

Output ConditionFinder::source(Output predicate) const {
  while (!is_fed(fed_, predicate) && forwards(predicate.node())) predicate = predicate.node().inputs()[0];
  return predicate;
}

/// Sorts by node id, because a predicate inside a branch is younger than the predicate of that branch.
void ConditionFinder::unite(Conditions& conditions, const Conditions& more) {
  for (const Condition& condition : more) {
    if (std::ranges::find(conditions, condition) == conditions.end()) conditions.push_back(condition);
  }
  std::ranges::stable_sort(conditions, {}, [](const Condition& c) { return c.predicate.node().id(); });
}

Kernel merge_kernel(std::vector<std::vector<BranchInput>> branches) {
  return [branches = std::move(branches)](KernelContext& context) {
    const auto is_taken = [&](const std::vector<BranchInput>& branch) {
      return std::ranges::all_of(
          branch, [&](const BranchInput& p) { return context.input(p.input).scalar<bool>() == p.is_true; });
    };
    const auto taken = std::ranges::find_if(branches, is_taken);
    if (taken == branches.end())
      throw InvalidArgumentError("there is no value: the branch that computes it was not taken");
    const auto index = static_cast<std::size_t>(taken - branches.begin());
    const Tensor& value = context.input(index);
    Tensor& out = context.output(0, value.dtype(), value.shape());
    if (value.dtype() == DType::String) {
      std::ranges::copy(value.data<std::string>(), out.overwrite_data<std::string>().begin());
    } else {
      std::ranges::copy(value.bytes(), out.overwrite_bytes().begin());
    }
    if (context.num_outputs() > 1) context.output<std::int32_t>(1, Shape{})[0] = static_cast<std::int32_t>(index);
  };
}

}  // namespace trainhook::detail
