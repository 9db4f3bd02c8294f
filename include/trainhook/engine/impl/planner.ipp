// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of planner.hpp.
#pragma once

#include <trainhook/engine/planner.hpp>

#include <algorithm>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/constant_folding.hpp>
#include <trainhook/engine/initial_values.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL Planner::Planner(const KernelTable& kernels, const FindState& state_of, const RunRequest& request)
    : kernels_(kernels), state_of_(state_of), plan_(std::make_unique<Plan>()) {
  plan_->fetches.assign(request.fetches.begin(), request.fetches.end());
  for (const Feed& feed : request.feed_dict) plan_->feed_keys.push_back(feed.key);
}

TRAINHOOK_DECL std::unique_ptr<Plan> Planner::make() {
  add_feeds();
  Scheduler scheduler(kernels_, plan_->fetches, plan_->feed_keys);
  scheduler_ = &scheduler;
  draft_.values.reserve(scheduler.order().size());
  draft_.steps.reserve(scheduler.order().size());
  mark_values_of_writes(scheduler.order());
  conditions_ = ConditionFinder(plan_->feed_keys);
  for (Node* node : scheduler.order()) {
    if (scheduler.has_branches()) conditions_.add(*node);
    current_conditions_ = values_of(conditions_.of(*node));
    add_node(*node);
  }
  current_conditions_.clear();
  add_results();
  DraftWriter(draft_, *plan_).write();
  return std::move(plan_);
}

TRAINHOOK_DECL std::uint32_t& Planner::value_of(Output output) {
  const Node& node = output.node();
  if (node.id() >= first_output_.size()) first_output_.resize(node.graph().size(), kNoValue);
  std::uint32_t& first = first_output_[node.id()];
  if (first == kNoValue) {
    first = static_cast<std::uint32_t>(value_of_output_.size());
    value_of_output_.resize(value_of_output_.size() + (std::max)(node.outputs().size(), output.index() + 1), kNoValue);
  }
  return value_of_output_[first + output.index()];
}

TRAINHOOK_DECL void Planner::add_feeds() {
  for (std::size_t i = 0; i < plan_->feed_keys.size(); ++i) {
    const Output key = plan_->feed_keys[i];
    if (key.dtype() == DType::Invalid)
      throw InvalidArgumentError("'{}' names a resource, which cannot be fed", key.name());
    if (value_of(key) != kNoValue) throw InvalidArgumentError("'{}' is fed twice in one run", key.name());
    value_of(key) = add_value({.kind = Kind::Borrowed, .spec = {key.dtype(), key.shape()}, .defined = 0});
    draft_.feeds.push_back(value_of(key));
  }
}

TRAINHOOK_DECL void Planner::mark_values_of_writes(const std::vector<Node*>& order) {
  const auto mark = [&](Output output) {
    const KernelDef* def = is_fed(output) ? nullptr : scheduler_->kernel_of(output.node());
    if (def == nullptr || !def->writes) return;
    value_of(output) = add_value({.kind = Kind::Borrowed, .spec = {output.dtype(), output.shape()}});
  };
  const auto mark_inputs = [&](const Node& node, std::size_t from) {
    for (std::size_t i = from; i < node.inputs().size(); ++i) {
      if (value_of(node.inputs()[i]) == kNoValue) mark(node.inputs()[i]);
    }
  };
  for (Node* node : order) {
    if (scheduler_->is_initializer(*node)) {
      for (const Node* copied : scheduler_->initial_values().expression(*node).copied) mark_inputs(*copied, 0);
    } else {
      const KernelDef* def = scheduler_->kernel_of(*node);
      mark_inputs(*node, def == nullptr ? 0 : def->variables);
    }
  }
  for (const Fetch& fetch : plan_->fetches) {
    if (fetch.is_operation()) continue;
    const Output output(&fetch.node(), static_cast<std::size_t>(fetch.index()));
    if (value_of(output) == kNoValue) mark(output);
  }
}

TRAINHOOK_DECL void Planner::add_node(Node& node) {
  if (node.type() == "NoOp") return;
  if (is_placeholder(node)) {
    if (!is_fed(Output(&node, 0)))
      throw InvalidArgumentError("You must feed a value for placeholder '{}' of dtype {}", node.name(),
                                 node.outputs()[0].dtype);
  } else if (is_constant(node)) {
    define(Output(&node, 0), {.kind = Kind::Constant, .constant = &node.attr<Tensor>("value")});
  } else if (is_variable(node)) {
    define(Output(&node, 0), {.kind = Kind::Named, .state = &state_of_(node, nullptr), .is_variable = true});
  } else if (is_switch(node)) {
    add_switch(node);
  } else if (node.type() == "Merge") {
    add_merge(node, kernels_.at(node));
  } else if (forwards(node)) {
    if (!is_fed(Output(&node, 0))) value_of(Output(&node, 0)) = take_value(node.inputs()[0], node);
  } else {
    add_kernel(node, kernels_.at(node));
  }
}

TRAINHOOK_DECL void Planner::define(Output output, Value value) {
  if (is_fed(output)) return;
  value.spec = {output.dtype(), output.shape()};
  value.defined = position();
  std::uint32_t& place = value_of(output);
  if (place == kNoValue) {
    place = add_value(std::move(value));
  } else {
    values_[place] = std::move(value);
  }
}

TRAINHOOK_DECL std::uint32_t Planner::take_value(Output input, Node& reader) {
  const Node* const late = scheduler_->variable_read_late(input, reader);
  const std::uint32_t value = value_of(late != nullptr ? Output(const_cast<Node*>(late), 0) : input);
  if (values_[value].kind != Kind::Named || !values_[value].is_variable) return value;
  const std::uint32_t handle = add_value({.kind = Kind::Borrowed, .spec = values_[value].spec, .defined = position()});
  PlanStep step;
  step.node = &reader;
  step.read_from = static_cast<VariableState*>(values_[value].state);
  add_step(std::move(step), {.inputs = {}, .outputs = {handle}});
  return handle;
}

TRAINHOOK_DECL void Planner::add_kernel(Node& node, const KernelDef& def) {
  NodeState* state = def.make_state == nullptr ? nullptr : &state_of_(node, &def);
  if (def.make == nullptr) {
    define(Output(&node, 0), {.kind = Kind::Named, .state = state});
    return;
  }
  DraftStep draft;
  const bool is_initializer = scheduler_->is_initializer(node);
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (is_initializer && i == 1) {
      draft.inputs.push_back(initial_value(node));
    } else {
      draft.inputs.push_back(i < def.variables ? variable_input(node, i, draft) : take_value(node.inputs()[i], node));
    }
  }
  PlanStep step;
  step.node = &node;
  step.kernel = def.make(node);
  step.state = state;
  step.may_initialize = def.initializes;
  if (try_fold(node, def, step, draft)) return;
  if (def.writes) {
    const std::uint32_t result = value_of(Output(&node, 0));
    if (result != kNoValue && !is_fed(Output(&node, 0))) {
      values_[result].defined = position();
      draft.result_of_write = result;
    }
  } else if (state != nullptr && !node.outputs().empty() && node.outputs()[0].dtype == DType::Invalid) {
    define(Output(&node, 0), {.kind = Kind::Named, .state = state});
  } else {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) draft.outputs.push_back(output_value(node, def, i, draft));
  }
  add_step(std::move(step), std::move(draft));
}

TRAINHOOK_DECL std::uint32_t Planner::initial_value(Node& initializer) {
  for (Node* node : scheduler_->initial_values().expression(initializer).copied) copy_node(*node);
  return value_of_copy(initializer.inputs()[1], initializer);
}

TRAINHOOK_DECL std::uint32_t Planner::value_of_copy(Output output, Node& reader) {
  const bool is_copied = scheduler_->initial_values().depends(output);
  return is_copied ? copies_.at(&output.node()).at(output.index()) : take_value(output, reader);
}

TRAINHOOK_DECL void Planner::copy_node(Node& node) {
  std::vector<std::uint32_t> copies;
  if (is_variable(node)) {
    copies.push_back(value_or_initial(node));
  } else if (forwards(node)) {
    copies.push_back(value_of_copy(node.inputs()[0], node));
  } else {
    const KernelDef& def = kernels_.at(node);
    DraftStep draft;
    for (const Output& input : node.inputs()) draft.inputs.push_back(value_of_copy(input, node));
    PlanStep step;
    step.node = &node;
    step.kernel = def.make(node);
    step.state = def.make_state == nullptr ? nullptr : &state_of_(node, &def);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      Value value{.kind = Kind::Owned, .spec = node.outputs()[i], .defined = position()};
      if (def.alias && i == 0) {
        value.kind = Kind::Borrowed;
        value.root = root_of(draft.inputs.at(0));
      }
      copies.push_back(add_value(std::move(value)));
    }
    draft.outputs = copies;
    add_step(std::move(step), std::move(draft));
  }
  copies_.emplace(&node, std::move(copies));
}

TRAINHOOK_DECL std::uint32_t Planner::value_or_initial(Node& variable) {
  const InitialValues::Initialized& initialized = scheduler_->initial_values().initialized(variable);
  const std::uint32_t initial = value_of_copy(initialized.initial_value, variable);
  if (scheduler_->has(initialized.initializer.node())) return initial;  // this run gives it that value
  const std::uint32_t handle = value_of(Output(&variable, 0));
  const std::uint32_t chosen =
      add_value({.kind = Kind::Borrowed, .spec = variable.outputs()[0], .defined = position()});
  PlanStep step;
  step.node = &variable;
  step.may_initialize = true;
  step.kernel = [](KernelContext& context) {
    const Tensor& present = context.variable(0).value;
    context.set_output(0, present.has_value() ? present : context.input(1));
  };
  add_step(std::move(step), {.inputs = {handle, initial},
                             .outputs = {chosen},
                             .locks = {static_cast<VariableState*>(values_[handle].state)}});
  return chosen;
}

TRAINHOOK_DECL std::uint32_t Planner::variable_input(const Node& node, std::size_t i, DraftStep& draft) {
  const Node* variable = variable_named_by(kernels_, plan_->feed_keys, node.inputs()[i]);
  if (variable == nullptr)
    throw InvalidArgumentError("input {} of {} ({}) must be a variable that is not fed, not '{}'", i, node.name(),
                               node.type(), node.inputs()[i].name());
  const std::uint32_t value = value_of(Output(const_cast<Node*>(variable), 0));
  draft.locks.push_back(static_cast<VariableState*>(values_[value].state));
  return value;
}

TRAINHOOK_DECL std::uint32_t Planner::output_value(Node& node, const KernelDef& def, std::size_t i,
                                                   const DraftStep& draft) {
  Value value{.kind = Kind::Owned};
  if (def.alias && i == 0) value = {.kind = Kind::Borrowed, .root = root_of(draft.inputs.at(0))};
  if (is_fed(Output(&node, i))) {  // computed for another output: this one goes nowhere
    value.spec = node.outputs()[i];
    value.defined = position();
    return add_value(std::move(value));
  }
  define(Output(&node, i), std::move(value));
  return value_of(Output(&node, i));
}

TRAINHOOK_DECL std::uint32_t Planner::root_of(std::uint32_t value) const noexcept {
  if (values_[value].kind == Kind::Owned) return value;
  return values_[value].kind == Kind::Borrowed ? (values_[value].root == kNoValue ? value : values_[value].root)
                                               : kNoValue;
}

TRAINHOOK_DECL bool Planner::try_fold(Node& node, const KernelDef& def, const PlanStep& step, const DraftStep& draft) {
  if (!can_be_folded(node, def)) return false;
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (is_fed(Output(&node, i))) return false;
  }
  std::vector<KernelContext::Input> inputs;
  for (std::uint32_t value : draft.inputs) {
    if (values_[value].kind != Kind::Constant) return false;
    inputs.push_back({.value = values_[value].constant});
  }
  std::vector<std::unique_ptr<Tensor>> results = fold(node, step.kernel, inputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    define(Output(&node, i), {.kind = Kind::Constant, .constant = results[i].get()});
    plan_->folded.push_back(std::move(results[i]));
  }
  return !results.empty();
}

TRAINHOOK_DECL void Planner::add_step(PlanStep step, DraftStep draft) {
  draft.conditions = current_conditions_;
  plan_->steps.push_back(std::move(step));
  draft_.steps.push_back(std::move(draft));
}

TRAINHOOK_DECL void Planner::add_switch(Node& node) {
  const Output predicate = conditions_.source(node.inputs()[1]);
  if (std::ranges::find(predicates_, predicate, &std::pair<Output, std::uint32_t>::first) == predicates_.end()) {
    const DraftConditions around = std::exchange(current_conditions_, {});
    predicates_.emplace_back(predicate, take_value(predicate, node));
    current_conditions_ = around;
  }
  const Output data = node.inputs()[0];
  const std::uint32_t value = node.type() == "RefSwitch" ? value_of(data) : take_value(data, node);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_fed(Output(&node, i))) value_of(Output(&node, i)) = value;
  }
}

TRAINHOOK_DECL void Planner::add_merge(Node& node, const KernelDef& def) {
  DraftStep draft;
  for (const Output& input : node.inputs()) draft.inputs.push_back(take_value(input, node));
  std::vector<std::vector<BranchInput>> branches;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    std::vector<BranchInput>& branch = branches.emplace_back();
    for (const auto& [predicate, is_true] : values_of(conditions_.of_branch(node, i))) {
      branch.push_back({draft.inputs.size(), is_true});
      draft.inputs.push_back(predicate);
    }
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) draft.outputs.push_back(output_value(node, def, i, draft));
  PlanStep step;
  step.node = &node;
  step.kernel = merge_kernel(std::move(branches));
  add_step(std::move(step), std::move(draft));
}

TRAINHOOK_DECL DraftConditions Planner::values_of(const Conditions& conditions) const {
  DraftConditions result;
  for (const Condition& condition : conditions) {
    const auto found = std::ranges::find(predicates_, condition.predicate, &std::pair<Output, std::uint32_t>::first);
    result.emplace_back(found->second, condition.is_true);
  }
  return result;
}

TRAINHOOK_DECL void Planner::add_results() {
  for (const Fetch& fetch : plan_->fetches) {
    const bool is_value = !fetch.is_operation();
    const Output output(&fetch.node(), is_value ? static_cast<std::size_t>(fetch.index()) : 0);
    draft_.results.push_back(is_value ? value_of(output) : kNoValue);
    draft_.result_conditions.push_back(is_value ? values_of(conditions_.of(output)) : DraftConditions());
  }
}

}  // namespace trainhook::detail
