// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/plan.hpp>

#include <algorithm>
#include <string_view>

#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

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
