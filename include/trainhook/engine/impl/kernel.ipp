// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/kernel.hpp>

#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

NodeState::~NodeState() = default;

std::optional<StateSpec> VariableState::spec() const {
  const std::scoped_lock lock(mutex);
  return StateSpec{node_->name(), StateKind::Variable, node_->outputs()[0].dtype, shape(), value.has_value()};
}

std::function<void()> VariableState::prepare_load(const Tensor& tensor) {
  const OutputSpec& wanted = node_->outputs()[0];
  if (tensor.dtype() != wanted.dtype || !wanted.shape.compatible_with(tensor.shape())) {
    throw InvalidArgumentError("variable '{}' is {}{} and cannot take {}", node_->name(), wanted.dtype, wanted.shape,
                               tensor);
  }
  return [this, &tensor] {
    const std::scoped_lock lock(mutex);
    value = tensor;
  };
}

Tensor VariableState::read() const {
  const std::scoped_lock lock(mutex);
  expect_value();
  return value;
}

void VariableState::read_into(Tensor& target) const {
  const std::scoped_lock lock(mutex);
  expect_value();
  target = value;
}

void VariableState::expect_value() const {
  if (!value.has_value()) {
    throw FailedPreconditionError(
        "Attempting to use uninitialized value {}; run its initializer or restore a checkpoint first", node_->name());
  }
}

void KernelContext::move_input(std::size_t i, Tensor& target) const {
  if (Tensor* source = input_at(i).movable) {
    if (!target.is_unique()) target = Tensor();
    std::swap(*source, target);
  } else {
    target = input(i);
  }
}

VariableState& KernelContext::variable(std::size_t i) const { return *static_cast<VariableState*>(input_at(i).state); }

void KernelContext::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                         FunctionRef<bool()> ready) const {
  if (deadline_ == nullptr) {
    changed.wait(lock, ready);
  } else if (!deadline_->clock->wait_until(lock, changed, deadline_->at, ready)) {
    deadline_->fail();
  }
}

void KernelContext::fail_missing(std::string_view what, std::size_t i, std::size_t count) {
  throw InvalidArgumentError("the kernel asks for {} {}, and the node has {} of them", what, i, count);
}

void KernelContext::fail_promise(std::size_t i) const {
  const std::string given =
      outputs_[i]->has_value() ? std::string(dtype_name(outputs_[i]->dtype())) : std::string("nothing");
  throw InternalError("the kernel gave {} as output {}, where the node says {}", given, i, node_->outputs()[i].dtype);
}

void expect_resource(const Node& node, std::string_view type) {
  if (!node.inputs().empty() && node.inputs()[0].node().type() == type) return;
  if (node.inputs().empty())
    throw InvalidArgumentError("input 0 of {} ({}) must be of op type {} and is missing", node.name(), node.type(),
                               type);
  throw InvalidArgumentError("input 0 of {} ({}) must be of op type {}, not '{}'", node.name(), node.type(), type,
                             node.inputs()[0].name());
}

}  // namespace trainhook

namespace trainhook::detail {

void RunDeadline::fail() const {
  throw DeadlineExceededError("the run took longer than its timeout of {:g} ms",
                              std::chrono::duration<double, std::milli>(timeout).count());
}

KernelTable::KernelTable(std::span<const KernelGroup> groups) {
  for (const KernelGroup& group : groups) {
    for (const KernelDef& def : group) defs_.emplace(def.type, &def);
  }
}

const KernelDef* KernelTable::find(std::string_view type) const noexcept {
  const auto found = defs_.find(type);
  return found == defs_.end() ? nullptr : found->second;
}

const KernelDef& KernelTable::at(const Node& node) const {
  if (node.has_attr(kCannotRun)) {
    throw UnimplementedError("node '{}' ({}) cannot run here: {}; feed what the node gives", node.name(), node.type(),
                             node.attr<std::string>(kCannotRun));
  }
  if (const KernelDef* def = find(node.type())) return *def;
  if (node.op_def() == nullptr) {
    throw UnimplementedError(
        "op type {} of node '{}' is not known here; "
        "feed what the node gives, or give a kernel for it in the session's options",
        node.type(), node.name());
  }
  throw UnimplementedError(
      "op type {} of node '{}' has no kernel in this session; give its kernel group in the session's options: for "
      "imported graphs, include <trainhook/compat_kernels.hpp> and give {{.kernels = compat::kernels()}}",
      node.type(), node.name());
}

}  // namespace trainhook::detail
