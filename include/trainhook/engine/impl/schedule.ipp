// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of schedule.hpp.
#pragma once

#include <trainhook/engine/schedule.hpp>

#include <algorithm>
#include <queue>
#include <set>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL bool is_variable(const Node& node) noexcept { return node.type() == "VariableV2"; }

TRAINHOOK_DECL bool is_constant(const Node& node) noexcept { return node.type() == "Const"; }

TRAINHOOK_DECL bool is_placeholder(const Node& node) noexcept { return node.type() == "Placeholder"; }

TRAINHOOK_DECL bool forwards(const Node& node) noexcept {
  return node.type() == "Identity" || node.type() == "StopGradient" || node.type() == "PlaceholderWithDefault";
}

TRAINHOOK_DECL bool needs_no_kernel(const Node& node) noexcept {
  return is_variable(node) || is_constant(node) || is_placeholder(node) || forwards(node) || node.type() == "NoOp";
}

/// A node may have been made by hand. @throws InvalidArgumentError where it lacks an input or output without which it
/// cannot be planned; a kernel finds out about the others. `def` is null for what needs no kernel.
TRAINHOOK_DECL void expect_ports(const Node& node, const KernelDef* def) {
  const auto expect = [&](std::string_view what, std::size_t count, bool enough) {
    if (!enough) throw InvalidArgumentError("node '{}' ({}) cannot have {} {}", node.name(), node.type(), count, what);
  };
  const std::size_t inputs = node.inputs().size();
  const std::size_t outputs = node.outputs().size();
  if (def == nullptr) {
    expect("inputs", inputs, !forwards(node) || inputs > 0);
    expect("outputs", outputs, node.type() == "NoOp" || outputs > 0);
  } else {
    expect("inputs", inputs, inputs >= def->variables && (!def->alias || inputs > 0));
    expect("outputs", outputs, def->make != nullptr || outputs > 0);
  }
}

TRAINHOOK_DECL bool is_fed(std::span<const Output> fed, Output output) noexcept {
  return std::ranges::find(fed, output) != fed.end();
}

TRAINHOOK_DECL const Node* variable_named_by(const KernelTable& kernels, std::span<const Output> fed, Output output) {
  while (!is_fed(fed, output)) {
    const Node& node = output.node();
    if (is_variable(node)) return &node;
    const KernelDef* def = needs_no_kernel(node) ? nullptr : kernels.find(node.type());
    if (def == nullptr || !def->writes || output.index() != 0) return nullptr;
    output = node.inputs()[0];
  }
  return nullptr;
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Scheduler::Scheduler(const KernelTable& kernels, std::span<const Fetch> fetches,
                                    std::span<const Output> fed)
    : kernels_(kernels), fed_(fed) {
  if (!fetches.empty()) places_.assign(fetches[0].node().graph().size(), kAbsent);
  collect(fetches);
  connect();
  protect_reads();
  sort();
}

TRAINHOOK_DECL void Scheduler::collect(std::span<const Fetch> fetches) {
  std::vector<Node*> found;
  std::vector<Node*> open;
  const auto want = [&](Node& node) {
    if (place_of(node) != kAbsent) return;
    places_[node.id()] = 0;
    found.push_back(&node);
    open.push_back(&node);
  };
  for (const Fetch& fetch : fetches) {
    const bool fed = std::ranges::any_of(fed_, [&](Output key) { return &key.node() == &fetch.node(); });
    const bool given = fetch.is_operation()
                           ? fed && detail::is_placeholder(fetch.node())
                           : detail::is_fed(fed_, Output(&fetch.node(), static_cast<std::size_t>(fetch.index())));
    if (!given) want(fetch.node());
  }
  while (!open.empty()) {
    Node& node = *open.back();
    open.pop_back();
    for (const Output& input : node.inputs()) {
      if (!detail::is_fed(fed_, input)) want(input.node());
    }
    for (const Operation& input : node.control_inputs()) want(input.node());
  }
  std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  nodes_.resize(found.size());
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    nodes_[i].node = found[i];
    places_[found[i]->id()] = i;
    const KernelDef* def = detail::needs_no_kernel(*found[i]) ? nullptr : &kernels_.at(*found[i]);
    detail::expect_ports(*found[i], def);
    if (def != nullptr) nodes_[i].writes = def->writes;
  }
}

TRAINHOOK_DECL void Scheduler::connect() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i].node;
    for (const Output& input : node.inputs()) {
      if (!detail::is_fed(fed_, input)) link(place_of(input.node()), i);
    }
    for (const Operation& input : node.control_inputs()) link(place_of(input.node()), i);
  }
}

TRAINHOOK_DECL void Scheduler::link(std::uint32_t from, std::uint32_t to) {
  nodes_[from].next.push_back(to);
  ++nodes_[to].waits;
}

TRAINHOOK_DECL void Scheduler::protect_reads() {
  std::vector<bool> depends;
  for (std::uint32_t writer = 0; writer < nodes_.size(); ++writer) {
    if (!nodes_[writer].writes) continue;
    const Node& node = *nodes_[writer].node;
    depends.assign(nodes_.size(), false);
    mark_dependents(writer, depends);
    for (std::size_t i = 0; i < kernels_.at(node).variables; ++i) {
      const Node* variable = detail::variable_named_by(kernels_, fed_, node.inputs()[i]);
      if (variable == nullptr) continue;
      for (std::uint32_t reader : readers_of(place_of(*variable))) {
        if (reader == writer || depends[reader]) continue;
        nodes_[reader].next_soft.push_back(writer);
        ++nodes_[writer].waits_soft;
      }
    }
  }
}

TRAINHOOK_DECL void Scheduler::mark_dependents(std::uint32_t start, std::vector<bool>& marked) const {
  std::vector<std::uint32_t> open{start};
  while (!open.empty()) {
    const std::uint32_t place = open.back();
    open.pop_back();
    for (std::uint32_t next : nodes_[place].next) {
      if (!marked[next]) {
        marked[next] = true;
        open.push_back(next);
      }
    }
  }
}

TRAINHOOK_DECL std::vector<std::uint32_t> Scheduler::readers_of(std::uint32_t variable) const {
  std::set<std::uint32_t> readers;
  std::vector<std::uint32_t> open{variable};
  while (!open.empty()) {
    const std::uint32_t place = open.back();
    open.pop_back();
    for (std::uint32_t next : nodes_[place].next) {
      if (!takes_value(*nodes_[next].node, *nodes_[place].node) || !readers.insert(next).second) continue;
      if (shares_buffer(*nodes_[next].node)) open.push_back(next);
    }
  }
  return {readers.begin(), readers.end()};
}

TRAINHOOK_DECL bool Scheduler::takes_value(const Node& node, const Node& from) const {
  const std::size_t first = detail::needs_no_kernel(node) ? 0 : kernels_.at(node).variables;
  return std::ranges::any_of(node.inputs().subspan((std::min)(first, node.inputs().size())), [&](const Output& input) {
    return &input.node() == &from && !detail::is_fed(fed_, input);
  });
}

TRAINHOOK_DECL bool Scheduler::shares_buffer(const Node& node) const {
  return detail::forwards(node) || (!detail::needs_no_kernel(node) && kernels_.at(node).alias);
}

TRAINHOOK_DECL void Scheduler::sort() {
  using Ready = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;
  Ready writers;
  Ready others;
  std::set<std::uint32_t> held;  // would have to run before somebody who still reads
  const auto offer = [&](std::uint32_t place) {
    if (nodes_[place].waits > 0) return;
    if (nodes_[place].waits_soft > 0) {
      held.insert(place);
      return;
    }
    held.erase(place);
    (nodes_[place].writes ? writers : others).push(place);
  };
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) offer(i);
  std::vector<bool> done(nodes_.size(), false);
  while (order_.size() < nodes_.size()) {
    std::uint32_t place = 0;
    if (!writers.empty()) {
      place = writers.top();
      writers.pop();
    } else if (!others.empty()) {
      place = others.top();
      others.pop();
    } else {  // readers and writers wait for each other: then a write makes a copy
      place = *held.begin();
      held.erase(held.begin());
    }
    done[place] = true;
    order_.push_back(nodes_[place].node);
    for (std::uint32_t next : nodes_[place].next) {
      --nodes_[next].waits;
      offer(next);
    }
    for (std::uint32_t next : nodes_[place].next_soft) {
      --nodes_[next].waits_soft;
      if (!done[next]) offer(next);
    }
  }
}

}  // namespace trainhook
