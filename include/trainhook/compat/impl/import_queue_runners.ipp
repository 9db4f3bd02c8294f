// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/queue_runner.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/model/graph_def/graph_def_messages.hpp>

namespace trainhook::detail {

/// Of the nodes that `root` needs, one that cannot run; an empty handle if all can.
inline Operation find_unknown(const Operation& root) {
  std::vector<Operation> open{root};
  std::unordered_set<const Node*> seen{&root.node()};
  while (!open.empty()) {
    const Operation operation = open.back();
    open.pop_back();
    if (operation.node().op_def() == nullptr) return operation;
    const auto reach = [&](Operation input) {
      if (seen.insert(&input.node()).second) open.push_back(input);
    };
    for (const Output& input : operation.node().inputs()) reach(input.operation());
    for (const Operation& input : operation.node().control_inputs()) reach(input);
  }
  return {};
}

void import_queue_runners(Graph& graph, const std::vector<std::string>& messages, const std::string& prefix,
                          std::string_view source) {
  for (const std::string& message : messages) {
    const auto names = parse_message<QueueRunnerMessage>(message, source);
    const auto find = [&](const std::string& name) {
      return name.empty() ? Operation() : graph.find_operation(prefix + name);
    };
    QueueRunnerDef runner{.queue_name = prefix + names.queue_name};
    runner.close_op = find(names.close_op_name);
    runner.cancel_op = find(names.cancel_op_name);
    std::string problem = names.enqueue_op_name.empty() ? "it has no enqueue operation" : "";
    for (const std::string& name : names.enqueue_op_name) {
      const Operation operation = find(name);
      const Operation unknown = operation.has_value() ? find_unknown(operation) : Operation();
      if (!operation.has_value()) problem = fmt::format("'{}' is not in the graph", name);
      if (unknown.has_value()) problem = fmt::format("'{}' ({}) cannot run here", unknown.name(), unknown.type());
      runner.enqueue_ops.push_back(operation);
    }
    if (problem.empty()) {
      add_queue_runner_def(graph, std::move(runner));
    } else {
      log_warning("{}: the queue runner of '{}' is left out: {}", source, runner.queue_name, problem);
    }
  }
}

void note_unfilled_queues(Graph& graph, std::span<const Operation> imported, std::string_view source) {
  const auto runners = graph.collection<QueueRunnerDef>(graph_keys::kQueueRunners);
  std::string names;
  for (const Operation& operation : imported) {
    if (!operation.has_value() || operation.type() != "FIFOQueueV2") continue;
    if (std::ranges::find(runners, operation.name(), &QueueRunnerDef::queue_name) != runners.end()) continue;
    graph.add_to_collection(graph_keys::kQueueRunners, QueueRunnerDef{.queue_name = operation.name()});
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", operation.name());
  }
  if (names.empty()) return;
  log_warning(
      "{}: no queue runner fills the queues {}: run their enqueue operations in a QueueRunner of your own, or feed "
      "what is dequeued; until something is enqueued, a dequeue is an error",
      source, names);
}

}  // namespace trainhook::detail
