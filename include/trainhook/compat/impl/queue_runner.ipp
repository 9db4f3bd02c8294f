// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/queue_runner.hpp>

#include <algorithm>
#include <exception>
#include <stop_token>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/model/graph_def/graph_def_messages.hpp>
#include <trainhook/session/run_forms.hpp>
#include <trainhook/session/session_threads.hpp>

namespace trainhook::detail {

inline QueueRunner runner_of(const QueueRunnerDef& def) {
  return QueueRunner({.enqueue_ops = def.enqueue_ops, .close_op = def.close_op, .cancel_op = def.cancel_op},
                     def.fillers);
}

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

namespace trainhook {

QueueRunner::QueueRunner(QueueRunnerOptions options, std::shared_ptr<detail::QueueFillers> fillers)
    : options_(std::move(options)), fillers_(std::move(fillers)) {
  if (options_.enqueue_ops.empty())
    throw InvalidArgumentError("QueueRunner: enqueue_ops is empty; give at least one operation");
  for (const Operation& op : options_.enqueue_ops) {
    if (!op.has_value())
      throw InvalidArgumentError("QueueRunner: an element of enqueue_ops is empty: it names no operation");
  }
}

void QueueRunner::create_threads(SessionRef session, Coordinator& coordinator,
                                 const std::shared_ptr<void>& keep_alive) const {
  for (const detail::QueueRunnerDef& def :
       session.graph().collection<detail::QueueRunnerDef>(graph_keys::kQueueRunners)) {
    const auto fills = [&](const Operation& op) {
      const auto inputs = op.node().inputs();
      return std::ranges::find(def.enqueue_ops, op) != def.enqueue_ops.end() ||
             (!inputs.empty() && inputs[0].node().name() == def.queue_name);
    };
    if (std::ranges::any_of(options_.enqueue_ops, fills)) *def.started = true;
  }
  const auto threads = detail::make_shared_object<detail::QueueThreads>(session.id(), options_.enqueue_ops.size());
  if (!fillers_->add(threads)) return;
  if (options_.cancel_op.has_value()) {  // first: if a later thread cannot be started, it frees those before it
    coordinator.start_thread([cancel = options_.cancel_op, session, keep_alive](const std::stop_token& stop) mutable {
      detail::wait_for_stop(stop, system_clock(), (Duration::max)());
      session.run(cancel);
    });
  }
  for (const Operation& op : options_.enqueue_ops) {
    coordinator.start_thread(
        [options = options_, op, session, keep_alive, threads](const std::stop_token& stop) mutable {
          const std::stop_callback told(stop, [&threads] { threads->told_to_stop = true; });
          std::exception_ptr failure;
          try {
            while (!stop.stop_requested()) session.run(op);
          } catch (...) { failure = std::current_exception(); }
          const bool is_last = --threads->running == 0;
          const bool has_ended = failure == nullptr || options.queue_closed_exception_types(failure);
          if (is_last && has_ended && !stop.stop_requested() && options.close_op.has_value())
            session.run(options.close_op);
          const bool is_cancelled = stop.stop_requested() && is_any_of<CancelledError>(failure);  // by the stop itself
          if (!has_ended && !is_cancelled) std::rethrow_exception(failure);
        });
  }
}

void start_queue_runners(SessionRef session, Coordinator& coordinator, const std::shared_ptr<void>& keep_alive) {
  for (const auto& runner : session.graph().collection<std::shared_ptr<QueueRunner>>(graph_keys::kQueueRunners))
    runner->create_threads(session, coordinator, keep_alive);
  for (const detail::QueueRunnerDef& def :
       session.graph().collection<detail::QueueRunnerDef>(graph_keys::kQueueRunners)) {
    if (!def.enqueue_ops.empty()) detail::runner_of(def).create_threads(session, coordinator, keep_alive);
  }
}

// A monitored session starts the threads of all runners.
inline void add_runner(Graph& graph, auto runner) {
  constexpr SessionThreads kThreads{
      start_queue_runners, [](const Graph& others) {
        for (const detail::QueueRunnerDef& def : others.collection<detail::QueueRunnerDef>(graph_keys::kQueueRunners)) {
          if (!def.enqueue_ops.empty()) *def.started = true;
        }
      }};
  graph.add_to_collection(graph_keys::kQueueRunners, std::move(runner));
  const auto threads = graph.collection<SessionThreads>(graph_keys::kSessionThreads);
  if (std::ranges::find(threads, kThreads) == threads.end())
    graph.add_to_collection(graph_keys::kSessionThreads, kThreads);
}

void add_queue_runner(Graph& graph, QueueRunnerOptions options) {
  add_runner(graph, std::make_shared<QueueRunner>(std::move(options)));
}

void detail::add_queue_runner_def(Graph& graph, QueueRunnerDef runner) {
  static_cast<void>(runner_of(runner));
  add_runner(graph, std::move(runner));
}

}  // namespace trainhook
