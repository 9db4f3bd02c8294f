// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/planner.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/initial_values.hpp>
#include <trainhook/engine/kernel_threads.hpp>
#include <trainhook/engine/plan.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook::detail {

inline constexpr std::size_t kLargestFolded = 64 * 1024;  // bytes

bool can_be_folded(const Node& node, const KernelDef& def) {
  if (def.stateful || def.make_state != nullptr || def.variables > 0 || !node.control_inputs().empty()) return false;
  const auto is_large = [](const OutputSpec& output) {
    return output.shape.is_fully_known() &&
           static_cast<std::size_t>(output.shape.known().num_elements()) * dtype_size(output.dtype) > kLargestFolded;
  };
  return !node.outputs().empty() && std::ranges::none_of(node.outputs(), is_large);
}

std::vector<std::unique_ptr<Tensor>> fold(Node& node, const Kernel& kernel,
                                          const std::vector<KernelContext::Input>& inputs) {
  std::vector<std::unique_ptr<Tensor>> results;
  std::vector<Tensor*> outputs;
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    outputs.push_back(results.emplace_back(std::make_unique<Tensor>()).get());
  Tensor scratch;
  try {
    KernelThreads alone(1);
    KernelContext context(node, inputs, outputs, nullptr, scratch, alone);
    kernel(context);
    context.check_outputs();
  } catch (const Error&) { return {}; }
  const auto is_large = [](const auto& result) { return result->byte_size() > kLargestFolded; };
  if (std::ranges::any_of(results, is_large)) results.clear();
  return results;
}

Planner::Planner(const KernelTable& kernels, const FindState& state_of, const RunRequest& request)
    : kernels_(kernels), state_of_(state_of), plan_(std::make_unique<Plan>()) {
  plan_->fetches.assign(request.fetches.begin(), request.fetches.end());
  for (const Feed& feed : request.feed_dict) plan_->feed_keys.push_back(feed.key);
}

std::unique_ptr<Plan> Planner::make() {
  add_feeds();
  Scheduler scheduler(kernels_, plan_->fetches, plan_->feed_keys);
  scheduler_ = &scheduler;
  plan_->values.reserve(scheduler.order().size());
  plan_->steps.reserve(scheduler.order().size());
  conditions_ = ConditionFinder(plan_->feed_keys);
  for (Node* node : scheduler.order()) {
    if (scheduler.has_branches()) conditions_.add(*node);
    current_conditions_ = add_conditions(conditions_.of(*node));
    add_node(*node);
  }
  add_results();
  assign_slots(*plan_);
  return std::move(plan_);
}

std::uint32_t& Planner::value_of(Output output) {
  const Node& node = output.node();
  if (node.id() >= first_output_.size()) first_output_.resize(node.graph().size(), kNone);
  std::uint32_t& first = first_output_[node.id()];
  if (first == kNone) {
    first = static_cast<std::uint32_t>(value_of_output_.size());
    value_of_output_.resize(value_of_output_.size() + (std::max)(node.outputs().size(), output.index() + 1), kNone);
  }
  return value_of_output_[first + output.index()];
}

std::uint32_t Planner::add_value(PlanValue value) {
  const auto number = static_cast<std::uint32_t>(plan_->values.size());
  const bool has_slot = value.kind == ValueKind::Owned || value.kind == ValueKind::Borrowed;
  if (has_slot && value.root == kNone) value.root = number;
  plan_->values.push_back(value);
  return number;
}

std::uint32_t Planner::define(Output output, PlanValue value) {
  value.spec = &output.node().outputs()[output.index()];
  const std::uint32_t number = add_value(value);
  if (!is_fed(output)) value_of(output) = number;
  return number;
}

void Planner::add_feeds() {
  for (const Output key : plan_->feed_keys) {
    if (key.dtype() == DType::Invalid)
      throw InvalidArgumentError("'{}' names a resource, which cannot be fed", key.name());
    if (value_of(key) != kNone) throw InvalidArgumentError("'{}' is fed twice in one run", key.name());
    value_of(key) = add_value({.kind = ValueKind::Borrowed, .spec = &key.node().outputs()[key.index()]});
  }
}

void Planner::add_node(Node& node) {
  if (const KernelDef* def = scheduler_->kernel_of(node)) {
    node.type() == "Merge" ? add_merge(node, *def) : add_kernel(node, *def);
  } else if (is_placeholder(node)) {
    if (!is_fed(Output(&node, 0)))
      throw InvalidArgumentError("You must feed a value for placeholder '{}' of dtype {}", node.name(),
                                 node.outputs()[0].dtype);
  } else if (is_constant(node)) {
    define(Output(&node, 0), {.kind = ValueKind::Constant, .constant = &node.attr<Tensor>("value")});
  } else if (is_variable(node)) {
    define(Output(&node, 0), {.kind = ValueKind::Variable, .state = &state_of_(node, nullptr)});
  } else if (is_switch(node)) {
    add_switch(node);
  } else if (forwards(node)) {
    const Output input = node.inputs()[0];
    if (!is_fed(Output(&node, 0)))
      value_of(Output(&node, 0)) = node.type() == "RefIdentity" ? value_of(input) : take_value(input, node);
  }
}

void Planner::add_kernel(Node& node, const KernelDef& def) {
  NodeState* state = def.make_state == nullptr ? nullptr : &state_of_(node, &def);
  if (def.make == nullptr) {
    define(Output(&node, 0), {.kind = ValueKind::Resource, .state = state});
    return;
  }
  const bool is_initializer = scheduler_->is_initializer(node);
  Values inputs;
  inputs.reserve(node.inputs().size());
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (is_initializer && i == 1) {
      inputs.push_back(initial_value(node));
    } else {
      inputs.push_back(i < def.variables ? variable_input(node, i) : take_value(node.inputs()[i], node));
    }
  }
  PlanStep step{.node = &node, .kernel = def.make(node), .state = state, .may_initialize = def.initializes};
  if (try_fold(node, def, step.kernel, inputs)) return;
  Values outputs;
  if (def.writes) {
    if (!node.outputs().empty()) step.result_of_write = define(Output(&node, 0), {.kind = ValueKind::Borrowed});
  } else if (state != nullptr && !node.outputs().empty() && node.outputs()[0].dtype == DType::Invalid) {
    define(Output(&node, 0), {.kind = ValueKind::Resource, .state = state});
  } else {
    outputs = define_outputs(node, def, inputs);
  }
  add_step(std::move(step), inputs, outputs);
}

std::uint32_t Planner::take_value(Output input, Node& reader) {
  const Node* const late = scheduler_->variable_read_late(input, reader);
  const std::uint32_t value = value_of(late != nullptr ? Output(const_cast<Node*>(late), 0) : input);
  if (at(value).kind != ValueKind::Variable) return value;
  const std::uint32_t handle =
      add_value({.kind = ValueKind::Borrowed, .state = at(value).state, .spec = at(value).spec});
  add_step({.node = &reader, .read_from = at(value).variable()}, {}, {&handle, 1});
  return handle;
}

std::uint32_t Planner::variable_input(const Node& node, std::size_t i) {
  const Node* variable = variable_named_by(kernels_, plan_->feed_keys, node.inputs()[i]);
  if (variable == nullptr)
    throw InvalidArgumentError("input {} of {} ({}) must be a variable that is not fed, not '{}'", i, node.name(),
                               node.type(), node.inputs()[i].name());
  return value_of(Output(const_cast<Node*>(variable), 0));
}

PlanValue Planner::new_output(const Node& node, const KernelDef& def, std::size_t i, const Values& inputs) const {
  PlanValue value{.kind = ValueKind::Owned, .spec = &node.outputs()[i]};
  if (def.alias && i == 0) {
    value.kind = ValueKind::Borrowed;
    value.root = at(inputs.at(0)).root;
  }
  return value;
}

Planner::Values Planner::define_outputs(Node& node, const KernelDef& def, const Values& inputs) {
  Values outputs;
  outputs.reserve(node.outputs().size());
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    outputs.push_back(define(Output(&node, i), new_output(node, def, i, inputs)));
  return outputs;
}

bool Planner::try_fold(Node& node, const KernelDef& def, const Kernel& kernel, const Values& inputs) {
  if (!can_be_folded(node, def)) return false;
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (is_fed(Output(&node, i))) return false;
  }
  std::vector<KernelContext::Input> constants;
  for (const std::uint32_t value : inputs) {
    if (at(value).kind != ValueKind::Constant) return false;
    constants.push_back({.value = at(value).constant});
  }
  std::vector<std::unique_ptr<Tensor>> results = fold(node, kernel, constants);
  for (std::size_t i = 0; i < results.size(); ++i) {
    define(Output(&node, i), {.kind = ValueKind::Constant, .constant = results[i].get()});
    plan_->folded.push_back(std::move(results[i]));
  }
  return !results.empty();
}

void Planner::add_step(PlanStep step, std::span<const std::uint32_t> inputs, std::span<const std::uint32_t> outputs) {
  const auto append = [](auto& list, auto items) {
    const auto begin = static_cast<std::uint32_t>(list.size());
    list.insert(list.end(), items.begin(), items.end());
    return PlanRange{begin, static_cast<std::uint32_t>(list.size())};
  };
  std::vector<VariableState*> locks;
  for (const std::uint32_t value : inputs) {
    if (at(value).kind == ValueKind::Variable) locks.push_back(at(value).variable());
  }
  std::ranges::sort(locks);
  locks.erase(std::unique(locks.begin(), locks.end()), locks.end());
  step.inputs = append(plan_->inputs, inputs);
  step.outputs = append(plan_->outputs, outputs);
  step.locks = append(plan_->locks, std::span(locks));
  step.conditions = current_conditions_;
  plan_->steps.push_back(std::move(step));
}

std::uint32_t Planner::initial_value(Node& initializer) {
  for (Node* node : scheduler_->initial_values().expression(initializer).copied) copy_node(*node);
  return value_of_copy(initializer.inputs()[1], initializer);
}

std::uint32_t Planner::value_of_copy(Output output, Node& reader) {
  const bool is_copied = scheduler_->initial_values().depends(output);
  return is_copied ? copies_.at(&output.node()).at(output.index()) : take_value(output, reader);
}

void Planner::copy_node(Node& node) {
  Values copies;
  if (is_variable(node)) {
    copies.push_back(value_or_initial(node));
  } else if (forwards(node)) {
    copies.push_back(value_of_copy(node.inputs()[0], node));
  } else {
    const KernelDef& def = kernels_.at(node);
    Values inputs;
    for (const Output& input : node.inputs()) inputs.push_back(value_of_copy(input, node));
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      copies.push_back(add_value(new_output(node, def, i, inputs)));
    NodeState* state = def.make_state == nullptr ? nullptr : &state_of_(node, &def);
    add_step({.node = &node, .kernel = def.make(node), .state = state}, inputs, copies);
  }
  copies_.emplace(&node, std::move(copies));
}

std::uint32_t Planner::value_or_initial(Node& variable) {
  const InitialValues::Initialized& initialized = scheduler_->initial_values().initialized(variable);
  const std::uint32_t initial = value_of_copy(initialized.initial_value, variable);
  if (scheduler_->has(initialized.initializer.node())) return initial;  // this run assigns the initial value
  const std::array inputs{value_of(Output(&variable, 0)), initial};
  const std::uint32_t chosen = add_value({.kind = ValueKind::Borrowed, .spec = &variable.outputs()[0]});
  const auto choose = [](KernelContext& context) {
    const Tensor& present = context.variable(0).value;
    context.set_output(0, present.has_value() ? present : context.input(1));
  };
  add_step({.node = &variable, .kernel = choose, .may_initialize = true}, inputs, {&chosen, 1});
  return chosen;
}

void Planner::add_switch(Node& node) {
  const Output predicate = conditions_.source(node.inputs()[1]);
  if (predicate_value(predicate) == kNone) {
    const PlanRange around = std::exchange(current_conditions_, {});
    predicates_.emplace_back(predicate, take_value(predicate, node));
    current_conditions_ = around;
  }
  const Output data = node.inputs()[0];
  const std::uint32_t value = node.type() == "RefSwitch" ? value_of(data) : take_value(data, node);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_fed(Output(&node, i))) value_of(Output(&node, i)) = value;
  }
}

void Planner::add_merge(Node& node, const KernelDef& def) {
  Values inputs;
  for (const Output& input : node.inputs()) inputs.push_back(take_value(input, node));
  std::vector<std::vector<BranchInput>> branches;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    std::vector<BranchInput>& branch = branches.emplace_back();
    for (const Condition& condition : conditions_.of_branch(node, i)) {
      branch.push_back({inputs.size(), condition.is_true});
      inputs.push_back(predicate_value(condition.predicate));
    }
  }
  const Values outputs = define_outputs(node, def, inputs);
  add_step({.node = &node, .kernel = merge_kernel(std::move(branches))}, inputs, outputs);
}

PlanRange Planner::add_conditions(const Conditions& conditions) {
  const auto begin = static_cast<std::uint32_t>(plan_->conditions.size());
  for (const Condition& condition : conditions)
    plan_->conditions.push_back({predicate_value(condition.predicate), condition.is_true});
  return {begin, static_cast<std::uint32_t>(plan_->conditions.size())};
}

std::uint32_t Planner::predicate_value(Output predicate) const {
  const auto found = std::ranges::find(predicates_, predicate, &std::pair<Output, std::uint32_t>::first);
  return found == predicates_.end() ? kNone : found->second;
}

void Planner::add_results() {
  for (const Fetch& fetch : plan_->fetches) {
    PlanResult& result = plan_->results.emplace_back();
    if (fetch.is_operation()) continue;
    const Output output(&fetch.node(), static_cast<std::size_t>(fetch.index()));
    result = {value_of(output), add_conditions(conditions_.of(output))};
  }
  // A request that fetches only variables needs no steps at all.
  const auto is_read = [](const PlanStep& step) { return step.read_from != nullptr; };
  const auto gives_variable = [this](const PlanResult& result) {
    return result.value != kNone && at(result.value).variable() != nullptr;
  };
  plan_->only_reads = plan_->feed_keys.empty() && plan_->conditions.empty() && !plan_->results.empty() &&
                      std::ranges::all_of(plan_->steps, is_read) && std::ranges::all_of(plan_->results, gives_variable);
}

}  // namespace trainhook::detail
