// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of gradient_registry.hpp.
#pragma once

#include <trainhook/graph/gradient_registry.hpp>

#include <utility>

#include <trainhook/graph/op_builder.hpp>

namespace trainhook::detail {

Grads no_gradient(const GradientContext& context) { return Grads(context.input_count()); }

}  // namespace trainhook::detail

namespace trainhook {

GradientContext::GradientContext(Operation op, std::vector<Output> grads, std::vector<bool> needed,
                                 const OpDef* (*find)(std::string_view type))
    : op_(op), grads_(std::move(grads)), needed_(std::move(needed)), find_(find) {}

Output GradientContext::input(std::size_t index) const { return at(op_.node().inputs(), index, "inputs"); }

Output GradientContext::grad(std::size_t index) const { return at(grads_, index, "outputs"); }

bool GradientContext::needs(std::size_t index) const { return at(needed_, index, "inputs"); }

Output GradientContext::add(std::string_view type, std::vector<Output> inputs, Attrs attrs) const {
  const OpDef* def = find_(type);
  if (def == nullptr)
    throw NotFoundError("the gradient of {} ({}) adds a {}, which is not defined", op_.name(), op_.type(), type);
  return detail::add_op(*def, {}, std::move(inputs), std::move(attrs));
}

void GradientRegistry::add(std::string_view op_type, GradientFunction function) {
  if (!functions_.emplace(op_type, std::move(function)).second) {
    throw AlreadyExistsError("op type {} has a gradient function already; replace() changes it", op_type);
  }
}

void GradientRegistry::replace(std::string_view op_type, GradientFunction function) {
  functions_.insert_or_assign(std::string(op_type), std::move(function));
}

void GradientRegistry::add_not_differentiable(std::string_view op_type) { add(op_type, detail::no_gradient); }

const GradientFunction& GradientRegistry::find(const Node& node) const {
  const auto found = functions_.find(node.type());
  if (found == functions_.end()) {
    throw NotFoundError(
        "no gradient is registered for op type {} of node {}; "
        "add one to the GradientRegistry, or put stop_gradient() behind the node",
        node.type(), node.name());
  }
  return found->second;
}

bool GradientRegistry::contains(std::string_view op_type) const noexcept {
  return functions_.find(op_type) != functions_.end();
}

std::vector<std::string> GradientRegistry::op_types() const {
  std::vector<std::string> types;
  for (const auto& [type, function] : functions_) types.push_back(type);
  return types;
}

}  // namespace trainhook
