// SPDX-License-Identifier: Apache-2.0
/// @file
/// Scaffold: the pieces that a session is made from, with defaults for those that are not given.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/graph/control_flow_ops.hpp>
#include <trainhook/graph/summary_ops.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

class Scaffold;

/// Every piece may be left out.
struct ScaffoldOptions {
  Operation init_op{};                                         ///< default: all global variables get their initial values
  FeedDict init_feed_dict{};                                   ///< feeds for `init_op`
  std::function<void(const Scaffold&, SessionRef)> init_fn{};  ///< called after `init_op`
  Operation local_init_op{};                                   ///< default: all local variables get their initial values
  FeedDict local_init_feed_dict{};                             ///< feeds for `local_init_op`
  Output ready_op{};                 ///< string vector of what is not ready; default: the session is asked for variables without a value
  Output ready_for_local_init_op{};  ///< the same before `local_init_op`; default: asked for global ones
  Output summary_op{};               ///< default: all collected summaries merged
  std::shared_ptr<Saver> saver{};    ///< default: the one in the collection `savers`, else one for everything
  std::shared_ptr<const Scaffold> copy_from_scaffold{};  ///< where to take what is not given here
};

/// Collects what is needed to bring a session into being, and makes what is missing when it is finalized. Nothing is made before.
/// Source: TensorFlow's `tf.compat.v1.train.Scaffold`.
class Scaffold {
 public:
  explicit Scaffold(ScaffoldOptions options = {}) : pieces_(std::move(options)) {
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

  [[nodiscard]] Operation init_op() const noexcept { return pieces_.init_op; }
  [[nodiscard]] const FeedDict& init_feed_dict() const noexcept { return pieces_.init_feed_dict; }
  [[nodiscard]] Operation local_init_op() const noexcept { return pieces_.local_init_op; }
  [[nodiscard]] const FeedDict& local_init_feed_dict() const noexcept { return pieces_.local_init_feed_dict; }
  [[nodiscard]] Output ready_op() const noexcept { return pieces_.ready_op; }
  [[nodiscard]] Output ready_for_local_init_op() const noexcept { return pieces_.ready_for_local_init_op; }
  [[nodiscard]] Output summary_op() const noexcept { return pieces_.summary_op; }
  [[nodiscard]] const std::shared_ptr<Saver>& saver() const noexcept { return pieces_.saver; }
  [[nodiscard]] bool has_init_fn() const noexcept { return static_cast<bool>(pieces_.init_fn); }

  /// Calls the user's `init_fn` with this scaffold, if there is one.
  void init_fn(SessionRef session) const {
    if (pieces_.init_fn) pieces_.init_fn(*this, session);
  }

  /// Makes what is missing, shares it through the graph's collections with other scaffolds, and finalizes the graph. Harmless when
  /// repeated.
  /// @throws FailedPreconditionError where a collection that should hold one piece holds several; InvalidArgumentError for a piece of
  /// another graph.
  void finalize(Graph& graph) {
    check_belongs(graph);
    if (!pieces_.ready_op.has_value()) pieces_.ready_op = only<Output>(graph, graph_keys::kReadyOp).value_or(Output());
    if (!pieces_.ready_for_local_init_op.has_value())
      pieces_.ready_for_local_init_op = only<Output>(graph, graph_keys::kReadyForLocalInitOp).value_or(Output());
    if (!pieces_.init_op.has_value()) pieces_.init_op = initializers(graph, graph_keys::kInitOp, global_variables(graph));
    if (!pieces_.local_init_op.has_value()) pieces_.local_init_op = initializers(graph, graph_keys::kLocalInitOp, local_variables(graph));
    if (!pieces_.summary_op.has_value()) pieces_.summary_op = merged_summaries(graph);
    if (pieces_.saver == nullptr) {
      pieces_.saver = only<std::shared_ptr<Saver>>(graph, graph_keys::kSavers).value_or(nullptr);
      if (pieces_.saver == nullptr) {
        pieces_.saver = std::make_shared<Saver>(SaverOptions{.allow_empty = true});
        graph.add_to_collection(graph_keys::kSavers, pieces_.saver);
      }
    }
    graph.finalize();
  }

 private:
  void check_belongs(const Graph& graph) const {
    const auto check = [&](const char* option, const Node* node) {
      if (node != nullptr && &node->graph() != &graph) {
        throw InvalidArgumentError("Scaffold: ", option, " is '", node->name(),
                                   "', which belongs to another graph; make it in the session's own");
      }
    };
    const auto node_of = [](const auto& piece) { return piece.has_value() ? &piece.node() : nullptr; };
    check("init_op", node_of(pieces_.init_op));
    check("local_init_op", node_of(pieces_.local_init_op));
    check("ready_op", node_of(pieces_.ready_op));
    check("ready_for_local_init_op", node_of(pieces_.ready_for_local_init_op));
    check("summary_op", node_of(pieces_.summary_op));
  }

  template <class T>
  static std::optional<T> only(const Graph& graph, std::string_view key) {
    const std::vector<T> items = graph.collection<T>(key);
    if (items.size() > 1)
      throw FailedPreconditionError("More than one item in the collection '", key, "'; give the scaffold the one to use");
    return items.empty() ? std::nullopt : std::optional<T>(items.front());
  }

  // An operation that runs all initial values; without value where there is nothing to run.
  static Operation initializers(Graph& graph, std::string_view key, const std::vector<Variable>& variables) {
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

  static Output merged_summaries(Graph& graph) {
    if (const std::optional<Output> shared = only<Output>(graph, graph_keys::kSummaryOp)) return *shared;
    if (graph.is_finalized()) return {};
    const std::optional<Output> merged = summary::merge_all(graph);
    if (merged) graph.add_to_collection(graph_keys::kSummaryOp, *merged);
    return merged.value_or(Output());
  }

  ScaffoldOptions pieces_;
};

}  // namespace trainhook
