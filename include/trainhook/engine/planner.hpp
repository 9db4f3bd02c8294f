// SPDX-License-Identifier: Apache-2.0
/// @file
/// Planner: turns a request into a plan: constants computed ahead, values given slots, slots used again when their
/// value is dead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/conditions.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/node_kinds.hpp>
#include <trainhook/engine/plan.hpp>
#include <trainhook/engine/plan_draft.hpp>
#include <trainhook/engine/schedule.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook::detail {

/// What a session keeps for a node; made at the first call for it.
using FindState = std::function<NodeState&(const Node& node, const KernelDef* def)>;

class Planner {
 public:
  TRAINHOOK_DECL Planner(const KernelTable& kernels, const FindState& state_of, const RunRequest& request);

  /// @throws InvalidArgumentError for a placeholder without a feed; UnimplementedError for an op without a kernel.
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<Plan> make();

 private:
  using Kind = DraftKind;
  using Value = DraftValue;

  std::uint32_t add_value(Value value) {
    values_.push_back(std::move(value));
    return static_cast<std::uint32_t>(values_.size() - 1);
  }
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t& value_of(Output output);
  TRAINHOOK_DECL void add_feeds();

  [[nodiscard]] bool is_fed(Output output) const { return detail::is_fed(plan_->feed_keys, output); }

  /// A writer passes its variable's new value on only if somebody takes it as a value.
  TRAINHOOK_DECL void mark_values_of_writes(const std::vector<Node*>& order);

  TRAINHOOK_DECL void add_node(Node& node);
  TRAINHOOK_DECL void define(Output output, Value value);
  [[nodiscard]] std::uint32_t position() const noexcept { return static_cast<std::uint32_t>(plan_->steps.size()); }

  /// The value behind `input`; a variable is read here and now, in a step of its own.
  TRAINHOOK_DECL std::uint32_t take_value(Output input, Node& reader);

  TRAINHOOK_DECL void add_kernel(Node& node, const KernelDef& def);

  /// The value that an initializer assigns if it depends on other variables; its nodes are planned here.
  TRAINHOOK_DECL std::uint32_t initial_value(Node& initializer);
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t value_of_copy(Output output, Node& reader);
  TRAINHOOK_DECL void copy_node(Node& node);
  TRAINHOOK_DECL std::uint32_t value_or_initial(Node& variable);
  TRAINHOOK_DECL std::uint32_t variable_input(const Node& node, std::size_t i, DraftStep& draft);
  TRAINHOOK_DECL std::uint32_t output_value(Node& node, const KernelDef& def, std::size_t i, const DraftStep& draft);
  [[nodiscard]] TRAINHOOK_DECL std::uint32_t root_of(std::uint32_t value) const noexcept;

  /// Makes constants of the outputs of a node whose inputs are constants.
  TRAINHOOK_DECL bool try_fold(Node& node, const KernelDef& def, const PlanStep& step, const DraftStep& draft);

  TRAINHOOK_DECL void add_step(PlanStep step, DraftStep draft);

  /// A Switch gives its value on under two conditions; steps under conditions are left out if they do not hold.
  TRAINHOOK_DECL void add_switch(Node& node);
  TRAINHOOK_DECL void add_merge(Node& node, const KernelDef& def);
  [[nodiscard]] TRAINHOOK_DECL DraftConditions values_of(const Conditions& conditions) const;
  TRAINHOOK_DECL void add_results();

  const KernelTable& kernels_;
  const FindState& state_of_;
  std::unique_ptr<Plan> plan_;
  PlanDraft draft_;
  std::vector<Value>& values_ = draft_.values;
  std::vector<std::uint32_t> first_output_;     // by node id: where the values of its outputs begin
  std::vector<std::uint32_t> value_of_output_;  // those of all nodes
  std::unordered_map<const Node*, std::vector<std::uint32_t>> copies_;  // for initial values
  Scheduler* scheduler_ = nullptr;
  ConditionFinder conditions_;
  std::vector<std::pair<Output, std::uint32_t>> predicates_;  // with their values
  DraftConditions current_conditions_;                        // of the steps that are added
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/planner.ipp>
#endif
