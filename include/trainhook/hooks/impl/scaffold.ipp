// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/scaffold.hpp>

#include <utility>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/summary.hpp>

namespace trainhook {

template <class T>
std::optional<T> Scaffold::only(const Graph& graph, std::string_view key) {
  const std::vector<T> items = graph.collection<T>(key);
  if (items.size() > 1)
    throw FailedPreconditionError("More than one item in the collection '{}'; give the scaffold the one to use", key);
  return items.empty() ? std::nullopt : std::optional<T>(items.front());
}

Scaffold::Scaffold(ScaffoldOptions options) : pieces_(std::move(options)) {
  if (pieces_.copy_from_scaffold == nullptr) return;
  const ScaffoldOptions& other = pieces_.copy_from_scaffold->pieces_;
  const auto take = [](auto& mine, const auto& theirs) {
    if (!mine.has_value()) mine = theirs;
  };
  take(pieces_.init_op, other.init_op);
  take(pieces_.local_init_op, other.local_init_op);
  take(pieces_.ready_op, other.ready_op);
  take(pieces_.ready_for_local_init_op, other.ready_for_local_init_op);
  take(pieces_.summary_op, other.summary_op);
  if (pieces_.init_feed_dict.empty()) pieces_.init_feed_dict = other.init_feed_dict;
  if (pieces_.local_init_feed_dict.empty()) pieces_.local_init_feed_dict = other.local_init_feed_dict;
  if (!pieces_.init_fn) pieces_.init_fn = other.init_fn;
  if (pieces_.saver == nullptr) pieces_.saver = other.saver;
}

void Scaffold::init_fn(SessionRef session) const {
  if (pieces_.init_fn) detail::call_of_user("init_fn of the scaffold", {}, [&] { pieces_.init_fn(*this, session); });
}

void Scaffold::finalize(Graph& graph) {
  check_belongs(graph);
  if (!pieces_.ready_op.has_value()) pieces_.ready_op = only<Output>(graph, graph_keys::kReadyOp).value_or(Output());
  if (!pieces_.ready_for_local_init_op.has_value())
    pieces_.ready_for_local_init_op = only<Output>(graph, graph_keys::kReadyForLocalInitOp).value_or(Output());
  if (!pieces_.init_op.has_value()) pieces_.init_op = initializers(graph, graph_keys::kInitOp, global_variables(graph));
  if (!pieces_.local_init_op.has_value())
    pieces_.local_init_op = initializers(graph, graph_keys::kLocalInitOp, local_variables(graph));
  if (!pieces_.summary_op.has_value()) pieces_.summary_op = merged_summaries(graph);
  if (pieces_.saver == nullptr) {
    pieces_.saver = only<std::shared_ptr<Saver>>(graph, graph_keys::kSavers).value_or(nullptr);
    if (pieces_.saver == nullptr) {
      pieces_.saver = detail::make_shared_object<Saver>(SaverOptions{.allow_empty = true});
      graph.add_to_collection(graph_keys::kSavers, pieces_.saver);
    }
  }
  graph.finalize();
}

void Scaffold::check_belongs(const Graph& graph) const {
  const auto validate = [&](const char* option, const Node* node) {
    if (node != nullptr && &node->graph() != &graph) {
      throw InvalidArgumentError("Scaffold: {} is '{}', which belongs to another graph; make it in the session's own",
                                 option, node->name());
    }
  };
  const auto node_of = [](const auto& piece) { return piece.has_value() ? &piece.node() : nullptr; };
  validate("init_op", node_of(pieces_.init_op));
  validate("local_init_op", node_of(pieces_.local_init_op));
  validate("ready_op", node_of(pieces_.ready_op));
  validate("ready_for_local_init_op", node_of(pieces_.ready_for_local_init_op));
  validate("summary_op", node_of(pieces_.summary_op));
}

Operation Scaffold::initializers(Graph& graph, std::string_view key, const std::vector<Variable>& variables) {
  if (const std::optional<Operation> shared = only<Operation>(graph, key)) return *shared;
  std::vector<Operation> assigns;
  for (const Variable& variable : variables) {
    if (variable.initializer.has_value()) assigns.push_back(variable.initializer);
  }
  if (assigns.empty()) return {};
  const Operation all = group(graph, assigns, key == graph_keys::kInitOp ? "init" : "local_init");
  graph.add_to_collection(key, all);
  return all;
}

Output Scaffold::merged_summaries(Graph& graph) {
  if (const std::optional<Output> shared = only<Output>(graph, graph_keys::kSummaryOp)) return *shared;
  if (graph.is_finalized()) return {};
  const std::optional<Output> merged = summary::merge_all(graph);
  if (merged) graph.add_to_collection(graph_keys::kSummaryOp, *merged);
  return merged.value_or(Output());
}

}  // namespace trainhook
