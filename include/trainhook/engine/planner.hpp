// SPDX-License-Identifier: Apache-2.0
/// @file
/// Planner: turns a request into a plan, and computes values that depend only on constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/conditions.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/plan.hpp>
#include <trainhook/engine/schedule.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook::detail {

/// False for a node whose results differ from run to run, or are too large to be worth keeping, such as an initial
/// value.
[[nodiscard]] TRAINHOOK_DECL bool can_be_folded(const Node& node, const KernelDef& def);

/// Computes the outputs of a node that can be folded. Empty if they turn out to be large or if the kernel throws; the
/// run itself will then report the error.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::unique_ptr<Tensor>> fold(Node& node, const Kernel& kernel,
                                                                       const std::vector<KernelContext::Input>& inputs);

/// Finds the state that a session keeps for a node; makes it at the first call.
using FindState = std::function<NodeState&(const Node& node, const KernelDef* def)>;

class Planner {
 public:
  TRAINHOOK_DECL Planner(const KernelTable& kernels, const FindState& state_of, const RunRequest& request);

  /// @throws InvalidArgumentError for a placeholder without a feed; UnimplementedError for an op without a kernel.
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<Plan> make();

 private:
  /// Numbers of values.
  using Values = std::vector<std::uint32_t>;

  [[nodiscard]] bool is_fed(Output output) const { return detail::is_fed(plan_->feed_keys, output); }
  [[nodiscard]] const PlanValue& at(std::uint32_t value) const noexcept { return plan_->values[value]; }

  /// The number of the value that `output` has so far, to be read or set.
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t& value_of(Output output);

  TRAINHOOK_DECL std::uint32_t add_value(PlanValue value);

  /// Adds the value of a node's `output`. An output that is fed keeps the fed value.
  TRAINHOOK_DECL std::uint32_t define(Output output, PlanValue value);

  TRAINHOOK_DECL void add_feeds();
  TRAINHOOK_DECL void add_node(Node& node);
  TRAINHOOK_DECL void add_kernel(Node& node, const KernelDef& def);

  /// Returns the value of `input`. If it is a variable, adds a step that reads it.
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t take_value(Output input, Node& reader);

  [[nodiscard]] TRAINHOOK_DECL std::uint32_t variable_input(const Node& node, std::size_t i);

  /// Describes the value that a node's kernel gives as output `i`.
  [[nodiscard]] TRAINHOOK_DECL PlanValue new_output(const Node& node, const KernelDef& def, std::size_t i,
                                                    const Values& inputs) const;
  [[nodiscard]] TRAINHOOK_DECL Values define_outputs(Node& node, const KernelDef& def, const Values& inputs);

  /// Makes constants of the outputs of a node whose inputs are constants.
  [[nodiscard]] TRAINHOOK_DECL bool try_fold(Node& node, const KernelDef& def, const Kernel& kernel,
                                             const Values& inputs);

  /// Adds a step with the conditions of the node that is being added.
  TRAINHOOK_DECL void add_step(PlanStep step, std::span<const std::uint32_t> inputs,
                               std::span<const std::uint32_t> outputs);

  /// The value that an initializer assigns if it depends on other variables; its nodes are planned here.
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t initial_value(Node& initializer);
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t value_of_copy(Output output, Node& reader);
  TRAINHOOK_DECL void copy_node(Node& node);
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t value_or_initial(Node& variable);

  /// Passes the value of a Switch on under two conditions. A step is skipped if its conditions do not hold.
  TRAINHOOK_DECL void add_switch(Node& node);
  TRAINHOOK_DECL void add_merge(Node& node, const KernelDef& def);
  [[nodiscard]] TRAINHOOK_DECL PlanRange add_conditions(const Conditions& conditions);

  /// The value of the predicate of a Switch that was added; kNone for any other output.
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t predicate_value(Output predicate) const;

  TRAINHOOK_DECL void add_results();

  const KernelTable& kernels_;
  const FindState& state_of_;
  std::unique_ptr<Plan> plan_;
  Values first_output_;                             // by node id: where the values of its outputs begin
  Values value_of_output_;                          // those of all nodes
  std::unordered_map<const Node*, Values> copies_;  // for initial values
  Scheduler* scheduler_ = nullptr;
  ConditionFinder conditions_;
  std::vector<std::pair<Output, std::uint32_t>> predicates_;  // with their values
  PlanRange current_conditions_;                              // of the node that is being added
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/planner.ipp>
#endif
