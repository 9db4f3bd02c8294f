// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/schedule.hpp>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <string_view>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/plan.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

/// Checks a node, which may have been made by hand. @throws InvalidArgumentError if it lacks an input or output that
/// planning needs; kernels check the others. `def` is null for a node that needs no kernel.
inline void expect_ports(const Node& node, const KernelDef* def) {
  const auto demand = [&](std::string_view what, std::size_t count, bool enough) {
    if (!enough) throw InvalidArgumentError("node '{}' ({}) cannot have {} {}", node.name(), node.type(), count, what);
  };
  const std::size_t inputs = node.inputs().size();
  const std::size_t outputs = node.outputs().size();
  if (def == nullptr) {
    demand("inputs", inputs, inputs >= (is_switch(node) ? 2U : forwards(node) ? 1U : 0U));
    demand("outputs", outputs, node.type() == "NoOp" || outputs >= (is_switch(node) ? 2U : 1U));
  } else {
    demand("inputs", inputs, inputs >= def->variables && (!def->alias || inputs > 0));
    demand("outputs", outputs, def->make != nullptr || outputs > 0);
  }
}

Scheduler::Scheduler(const KernelTable& kernels, std::span<const Fetch> fetches, std::span<const Output> fed)
    : kernels_(kernels), fed_(fed), initial_values_(kernels, fed) {
  if (!fetches.empty()) places_.assign(fetches[0].node().graph().size(), kAbsent);
  collect(fetches);
  connect();
  protect_reads();
  sort();
}

void Scheduler::collect(std::span<const Fetch> fetches) {
  std::vector<Node*> found;
  std::vector<Node*> open;
  const auto want = [&](Node& node) {
    if (place_of(node) != kAbsent) return;
    places_[node.id()] = static_cast<std::uint32_t>(found.size());
    found.push_back(&node);
    open.push_back(&node);
  };
  for (const Fetch& fetch : fetches) {
    const bool fed = std::ranges::any_of(fed_, [&](Output key) { return &key.node() == &fetch.node(); });
    const bool given = fetch.is_operation()
                           ? fed && is_placeholder(fetch.node())
                           : is_fed(fed_, Output(&fetch.node(), static_cast<std::size_t>(fetch.index())));
    if (!given) want(fetch.node());
  }
  while (!open.empty()) {
    Node& node = *open.back();
    open.pop_back();
    if (initial_values_.concerns(node)) {
      for (Node* needed : initial_values_.needs(node)) want(*needed);
      want(node.inputs()[0].node());
    } else {
      for (const Output& input : node.inputs()) {
        if (!is_fed(fed_, input)) want(input.node());
      }
    }
    for (const Operation& input : node.control_inputs()) want(input.node());
  }
  nodes_.reserve(found.size());
  for (std::uint32_t& place : places_) {  // by id, so in order of creation
    if (place == kAbsent) continue;
    Node* const node = found[std::exchange(place, static_cast<std::uint32_t>(nodes_.size()))];
    const KernelDef* const def = needs_no_kernel(*node) ? nullptr : &kernels_.at(*node);
    expect_ports(*node, def);
    has_branches_ = has_branches_ || (def == nullptr && is_switch(*node));
    nodes_.push_back({.node = node, .def = def, .initializes = initial_values_.concerns(*node)});
  }
}

void Scheduler::connect() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    Node& node = *nodes_[i].node;
    const bool is_initializer = nodes_[i].initializes;
    const std::size_t variables = nodes_[i].def == nullptr ? 0 : nodes_[i].def->variables;
    for (std::size_t k = 0; k < node.inputs().size(); ++k) {
      const Output& input = node.inputs()[k];
      if (!is_fed(fed_, input) && (!is_initializer || k == 0)) link(input.node(), {i, k >= variables});
    }
    if (is_initializer) {
      for (const Node* needed : initial_values_.expression(node).needed) link(*needed, {i, true});
    }
    for (const Operation& input : node.control_inputs()) link(input.node(), {i, false});
  }
}

void Scheduler::link(const Node& from, Edge edge) {
  nodes_[place_of(from)].next.push_back(edge);
  ++nodes_[edge.to].waits;
}

void Scheduler::protect_reads() {
  Marks depends(nodes_.size());
  Marks read(nodes_.size());
  std::vector<std::uint32_t> readers;
  for (std::uint32_t writer = 0; writer < nodes_.size(); ++writer) {
    if (!nodes_[writer].writes()) continue;
    const Node& node = *nodes_[writer].node;
    for (std::size_t i = 0; i < nodes_[writer].def->variables; ++i) {
      const Node* variable = variable_named_by(kernels_, fed_, node.inputs()[i]);
      if (variable == nullptr) continue;
      readers.clear();
      read.clear();
      add_readers(place_of(*variable), read, readers);
      if (readers.empty()) continue;
      depends.clear();
      mark_dependents(writer, (std::ranges::max)(readers), depends);
      for (const std::uint32_t reader : readers) {
        if (depends.has(reader)) {
          late_reads_.emplace(variable, nodes_[reader].node);
        } else if (reader != writer) {
          nodes_[reader].next_soft.push_back(writer);
          ++nodes_[writer].waits_soft;
        }
      }
    }
  }
}

const Node* Scheduler::variable_read_late(Output input, const Node& reader) const {
  if (late_reads_.empty()) return nullptr;
  while (!is_fed(fed_, input) && forwards(input.node())) {
    if (input.node().has_attr(kReadsOnce)) return nullptr;
    input = input.node().inputs()[0];
  }
  const Node& variable = input.node();
  const bool is_late = is_variable(variable) && !is_fed(fed_, input) && late_reads_.contains({&variable, &reader});
  return is_late ? &variable : nullptr;
}

void Scheduler::mark_dependents(std::uint32_t start, std::uint32_t last, Marks& marks) const {
  std::vector<std::uint32_t> open{start};
  while (!open.empty()) {
    const std::uint32_t place = open.back();
    open.pop_back();
    for (const Edge& edge : nodes_[place].next) {
      if (edge.to <= last && marks.mark(edge.to)) open.push_back(edge.to);
    }
  }
}

void Scheduler::add_readers(std::uint32_t variable, Marks& marks, std::vector<std::uint32_t>& readers) const {
  std::vector<std::uint32_t> open{variable};
  while (!open.empty()) {
    const std::uint32_t place = open.back();
    open.pop_back();
    for (const Edge& edge : nodes_[place].next) {
      if (!edge.takes_value || !marks.mark(edge.to)) continue;
      readers.push_back(edge.to);
      if (shares_buffer(nodes_[edge.to])) open.push_back(edge.to);
    }
  }
}

bool Scheduler::shares_buffer(const Place& place) {
  return place.def == nullptr ? forwards(*place.node) || is_switch(*place.node) : place.def->alias;
}

void Scheduler::sort() {
  using Ready = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;
  Ready urgent;
  Ready others;
  std::set<std::uint32_t> held;  // nodes that only wait for readers
  const auto offer = [&](std::uint32_t place) {
    if (nodes_[place].waits > 0) return;
    if (nodes_[place].waits_soft > 0) {
      held.insert(place);
      return;
    }
    held.erase(place);
    (nodes_[place].is_urgent() ? urgent : others).push(place);
  };
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) offer(i);
  std::vector<bool> done(nodes_.size(), false);
  while (order_.size() < nodes_.size()) {
    std::uint32_t place = 0;
    if (!urgent.empty()) {
      place = urgent.top();
      urgent.pop();
    } else if (!others.empty()) {
      place = others.top();
      others.pop();
    } else {  // readers and writers wait for each other: then a write makes a copy
      place = *held.begin();
      held.erase(held.begin());
    }
    done[place] = true;
    order_.push_back(nodes_[place].node);
    for (const Edge& edge : nodes_[place].next) {
      --nodes_[edge.to].waits;
      offer(edge.to);
    }
    for (std::uint32_t next : nodes_[place].next_soft) {
      --nodes_[next].waits_soft;
      if (!done[next]) offer(next);
    }
  }
}

}  // namespace trainhook::detail
