// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/gradient_registry.hpp>

#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

[[noreturn]] inline void refuse_second_gradient(std::string_view op_type) {
  throw AlreadyExistsError("op type {} has a gradient function already; replace() changes it", op_type);
}

}  // namespace trainhook::detail

namespace trainhook {

void GradientRegistry::add(std::string_view op_type, GradientFunction function) {
  if (!entries_.emplace(op_type, Entry{std::move(function)}).second) detail::refuse_second_gradient(op_type);
}

void GradientRegistry::replace(std::string_view op_type, GradientFunction function) {
  entries_.insert_or_assign(std::string(op_type), Entry{std::move(function), true});
}

void GradientRegistry::add_not_differentiable(std::string_view op_type) { add(op_type, detail::no_gradient); }

GradientFunction GradientRegistry::find(const Node& node) const {
  const GradientRule rule = node.op_def() != nullptr ? node.op_def()->gradient : nullptr;
  if (const auto found = entries_.find(node.type()); found != entries_.end()) {
    if (rule != nullptr && !found->second.replaces) detail::refuse_second_gradient(node.type());
    return found->second.function;
  }
  if (rule != nullptr) return rule;
  throw NotFoundError(
      "no gradient is registered for op type {} of node {}; "
      "add one to the GradientRegistry, or put stop_gradient() behind the node",
      node.type(), node.name());
}

}  // namespace trainhook
