// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include <fmt/format.h>

#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

bool Plan::answers(const RunRequest& request) const noexcept {
  return std::ranges::equal(fetches, request.fetches) &&
         std::ranges::equal(feed_keys, request.feed_dict, {}, {}, &Feed::key);
}

std::unique_ptr<Frame> Plan::take_frame() {
  if (Frame* frame = spare_.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<Frame>(frame);
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Frame> frame = std::move(idle_.back());
      idle_.pop_back();
      return frame;
    }
  }
  return new_frame();
}

void Plan::give_frame(std::unique_ptr<Frame> frame) noexcept {
  if (first_run_.exchange(false, std::memory_order_relaxed)) return;
  Frame* none = nullptr;
  if (spare_.compare_exchange_strong(none, frame.get(), std::memory_order_release, std::memory_order_relaxed)) {
    static_cast<void>(frame.release());
    return;
  }
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < idle_.capacity()) idle_.push_back(std::move(frame));
}

std::unique_ptr<Frame> Plan::new_frame() const {
  auto frame = std::make_unique<Frame>();
  frame->slot_values.resize(num_slots);
  frame->inputs.reserve(inputs.size());
  for (const std::uint32_t index : inputs) {
    const PlanValue& value = values[index];
    KernelContext::Input& input = frame->inputs.emplace_back();
    if (value.slot != kNone) {
      input.value = &frame->slot_values[value.slot];
      if (value.is_movable()) input.movable = &frame->slot_values[value.slot];
    } else {
      input.value = value.constant;
      input.state = value.state;
    }
  }
  frame->outputs.reserve(outputs.size());
  for (const std::uint32_t index : outputs) frame->outputs.push_back(&frame->slot_values[values[index].slot]);
  return frame;
}

/// Throws the error again with `context` in front, as the same type. An error of a user's own type is unchanged.
[[noreturn]] inline void throw_in_context(const Error& error, const std::string& context) {
  const std::string message = fmt::format("{}: {}", context, error.what());
  try {
    throw_error(error.code(), message);
  } catch (const Error& explained) {
    if (typeid(explained) == typeid(error)) throw;
  }
  if (typeid(error) == typeid(Error)) throw Error(error.code(), message);
  throw;
}

PlanRun::PlanRun(Plan& plan, KernelThreads& threads, Clock& clock, const RunRequest& request)
    : plan_(plan), threads_(threads), clock_(clock), request_(request), frame_(plan.take_frame()) {}

PlanRun::~PlanRun() {
  for (std::uint32_t slot : plan_.borrowed) frame_->slot_values[slot] = Tensor();
  plan_.give_frame(std::move(frame_));
}

void PlanRun::run(std::span<Tensor> results) {
  for (std::size_t i = 0; i < request_.feed_dict.size(); ++i)
    frame_->slot_values[plan_.values[i].slot] = request_.feed_dict[i].value;
  const bool traced = request_.is_traced();
  const bool limited = request_.options != nullptr && request_.options->timeout.count() > 0;
  if (limited)
    deadline_ = RunDeadline{&clock_, clock_.monotonic_now() + request_.options->timeout, request_.options->timeout};
  traced || limited ? run_watched(traced) : run_steps();
  if (!plan_.conditions.empty()) expect_values();
  for (std::size_t i = 0; i < results.size(); ++i) give(plan_.results[i], results[i]);
}

void PlanRun::run_steps() {
  const PlanStep* current = nullptr;
  try {
    for (const PlanStep& step : plan_.steps) {
      current = &step;
      run_step(step);
    }
  } catch (const Error& error) { fail(*current, error); }
}

void PlanRun::run_watched(bool traced) {
  const auto micros = [this] { return static_cast<std::int64_t>(clock_.wall_seconds() * 1e6); };
  if (traced) request_.metadata->node_stats.clear();
  for (const PlanStep& step : plan_.steps) {
    const std::int64_t start = traced ? micros() : 0;
    try {
      if (deadline_ && clock_.monotonic_now() > deadline_->at) deadline_->fail();
      run_step(step);
    } catch (const Error& error) { fail(step, error); }
    if (traced) request_.metadata->node_stats.push_back({step.node->name(), step.node->type(), start, micros()});
  }
}

void PlanRun::run_step(const PlanStep& step) {
  if (!step.conditions.empty() && !hold(step.conditions)) {
    // in a branch that is not taken
  } else if (step.read_from != nullptr) {
    step.read_from->read_into(*frame_->outputs[step.outputs.begin]);
  } else if (step.locks.empty()) {
    call(step);
  } else {
    call_locked(step);
  }
  for (std::uint32_t i = step.releases.begin; i < step.releases.end; ++i)
    frame_->slot_values[plan_.releases[i]] = Tensor();
}

bool PlanRun::hold(PlanRange conditions) const {
  return std::ranges::all_of(conditions.of(plan_.conditions), [this](const PlanCondition& condition) {
    const PlanValue& from = plan_.values[condition.predicate];
    const Tensor& value = from.constant != nullptr ? *from.constant : frame_->slot_values[from.slot];
    return value.scalar<bool>() == condition.is_true;
  });
}

void PlanRun::expect_values() const {
  for (std::size_t i = 0; i < plan_.results.size(); ++i) {
    if (!hold(plan_.results[i].conditions)) {
      throw InvalidArgumentError(
          "'{}' has no value: the branch of cond that computes it was not taken",
          Output(&plan_.fetches[i].node(), static_cast<std::size_t>(plan_.fetches[i].index())).name());
    }
  }
}

void PlanRun::call(const PlanStep& step) {
  KernelContext context = context_of(step);
  step.kernel(context);
  context.check_outputs();
}

void PlanRun::call_locked(const PlanStep& step) {
  const Locks locks(step.locks.of(plan_.locks));
  if (!step.may_initialize) locks.expect_values();
  call(step);
  if (step.result_of_write != kNone) {
    const auto& written = *static_cast<VariableState*>(frame_->inputs[step.inputs.begin].state);
    frame_->slot_values[plan_.values[step.result_of_write].slot] = written.value;
  }
}

KernelContext PlanRun::context_of(const PlanStep& step) noexcept {
  return {*step.node, step.inputs.of(frame_->inputs),   step.outputs.of(frame_->outputs), step.state, frame_->scratch,
          threads_,   deadline_ ? &*deadline_ : nullptr};
}

PlanRun::Locks::Locks(std::span<VariableState* const> variables) : variables_(variables) {
  for (VariableState* variable : variables_) variable->mutex.lock();
}

PlanRun::Locks::~Locks() {
  for (VariableState* variable : variables_) variable->mutex.unlock();
}

void PlanRun::Locks::expect_values() const {
  for (const VariableState* variable : variables_) variable->expect_value();
}

void PlanRun::give(const PlanResult& result, Tensor& target) {
  if (result.value == kNone) {
    target = Tensor();
    return;
  }
  const PlanValue& value = plan_.values[result.value];
  if (value.kind == ValueKind::Variable) {
    value.variable()->read_into(target);
  } else if (value.slot == kNone) {
    target = value.constant != nullptr ? *value.constant : Tensor();
  } else if (const PlanValue& root = plan_.values[value.root]; root.fetches > 1) {
    target = frame_->slot_values[value.slot];
  } else {  // the caller's old tensor replaces the buffer
    if (!target.is_unique()) target = Tensor();
    std::swap(target, frame_->slot_values[value.slot]);
    if (root.kind == ValueKind::Owned && &root != &value)
      std::swap(frame_->slot_values[root.slot], frame_->slot_values[value.slot]);
  }
}

void PlanRun::fail(const PlanStep& step, const Error& error) const {
  if (step.read_from != nullptr || std::string_view(error.what()).starts_with("Attempting to use uninitialized")) throw;
  std::string context = fmt::format("{} ({})", step.node->name(), step.node->type());
  const char* separator = " of ";
  for (const KernelContext::Input& input : step.inputs.of(frame_->inputs)) {
    if (input.value == nullptr) continue;
    context += fmt::format("{}{}{}", separator, input.value->dtype(), input.value->shape());
    separator = ", ";
  }
  throw_in_context(error, context);
}

bool is_variable(const Node& node) noexcept { return node.type() == "VariableV2"; }

bool is_constant(const Node& node) noexcept { return node.type() == "Const"; }

bool is_placeholder(const Node& node) noexcept { return node.type() == "Placeholder"; }

bool forwards(const Node& node) noexcept {
  for (const std::string_view type :
       {"Identity", "StopGradient", "PlaceholderWithDefault", "RefIdentity", "PreventGradient"}) {
    if (node.type() == type) return true;
  }
  return false;
}

bool is_switch(const Node& node) noexcept { return node.type() == "Switch" || node.type() == "RefSwitch"; }

bool needs_no_kernel(const Node& node) noexcept {
  const bool is_simple = is_variable(node) || is_constant(node) || is_placeholder(node) || forwards(node) ||
                         is_switch(node) || node.type() == "NoOp";
  return is_simple && !node.has_attr(kCannotRun);
}

bool is_fed(std::span<const Output> fed, Output output) noexcept { return std::ranges::find(fed, output) != fed.end(); }

const Node* variable_named_by(const KernelTable& kernels, std::span<const Output> fed, Output output) {
  while (!is_fed(fed, output)) {
    const Node& node = output.node();
    if (is_variable(node)) return &node;
    if (node.type() == "RefSwitch" || node.type() == "RefIdentity") {
      output = node.inputs()[0];
      continue;
    }
    const KernelDef* def = needs_no_kernel(node) ? nullptr : kernels.find(node.type());
    if (def == nullptr || !def->writes || output.index() != 0) return nullptr;
    output = node.inputs()[0];
  }
  return nullptr;
}

}  // namespace trainhook::detail
