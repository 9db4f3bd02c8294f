// SPDX-License-Identifier: Apache-2.0
/// @file
/// Graph: named nodes, control dependencies, name scopes and collections. It only describes a computation. graph_keys:
/// the names of the standard collections.
#pragma once

#include <any>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::graph_keys {

inline constexpr std::string_view kGlobalVariables = "variables";                        // Variable
inline constexpr std::string_view kTrainableVariables = "trainable_variables";           // Variable
inline constexpr std::string_view kLocalVariables = "local_variables";                   // Variable
inline constexpr std::string_view kMovingAverageVariables = "moving_average_variables";  // Variable
inline constexpr std::string_view kGlobalStep = "global_step";                           // Variable
inline constexpr std::string_view kGlobalStepRead = "global_step_read_op_cache";         // Output
inline constexpr std::string_view kSummaries = "summaries";                              // Output
inline constexpr std::string_view kSummaryOp = "summary_op";                             // Output
inline constexpr std::string_view kTrainOp = "train_op";                                 // Operation
inline constexpr std::string_view kUpdateOps = "update_ops";                             // Operation
inline constexpr std::string_view kInitOp = "init_op";                                   // Operation
inline constexpr std::string_view kLocalInitOp = "local_init_op";                        // Operation
inline constexpr std::string_view kReadyOp = "ready_op";                                 // Output
inline constexpr std::string_view kReadyForLocalInitOp = "ready_for_local_init_op";      // Output
inline constexpr std::string_view kSavers = "savers";                                    // std::shared_ptr<Saver>
inline constexpr std::string_view kSaveableObjects = "saveable_objects";                 // std::shared_ptr<Saveable>
inline constexpr std::string_view kIterators = "iterators";         // detail::IteratorResource of data/
inline constexpr std::string_view kQueueRunners = "queue_runners";  // detail::QueueRunnerDef, shared QueueRunners

}  // namespace trainhook::graph_keys

namespace trainhook {

struct OpDef;

/// A model as named nodes, like TensorFlow's `tf.Graph`. Nodes are added until `finalize()` and never removed or
/// changed, so the order of creation is an order of execution. One thread builds the graph; after `finalize()` any
/// number of threads may read it. Handles point into the graph, so it can be neither copied nor moved. It must outlive
/// its sessions: the destructor ends the program, after a log line, if a monitored session of the graph is open.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  TRAINHOOK_DECL ~Graph();

  /// Adds a node under the current name scope and control dependencies. A name that is taken gets the suffix `_1`,
  /// `_2`, ... A name that ends in `/` is the full name without the slash, so that a node can have the name of a scope.
  /// @throws FailedPreconditionError after `finalize()`, InvalidArgumentError for a bad name or an input of another
  /// graph.
  TRAINHOOK_DECL Operation add(NodeSpec spec);

  /// Adds a node of a defined op type: sets missing attributes to their defaults, checks the inputs, and infers the
  /// dtypes and shapes of the outputs. Outputs in `spec` may give shapes that the definition cannot infer. @throws
  /// InvalidArgumentError, naming node and input, if they do not fit the definition.
  /// @param def is kept by the node and must outlive the graph
  TRAINHOOK_DECL Operation add(const OpDef& def, NodeSpec spec);

  /// The name that a node called `name` would get: with the current scope, and unique. Names must differ in more than
  /// letter case, as in TensorFlow.
  [[nodiscard]] TRAINHOOK_DECL std::string unique_name(std::string_view name);

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const std::deque<Node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] Operation operation_at(std::size_t id) noexcept { return Operation(&nodes_[id]); }

  /// The operation of that name, or an empty handle.
  [[nodiscard]] TRAINHOOK_DECL Operation find_operation(std::string_view name) const;

  /// The operation called `name`. @throws NotFoundError, which lists similar names, if there is none.
  [[nodiscard]] TRAINHOOK_DECL Operation operation(std::string_view name) const;

  /// The output called `name:index`; a bare `name` means output 0. @throws NotFoundError, or InvalidArgumentError if a
  /// bare name is ambiguous because the operation has several outputs.
  [[nodiscard]] TRAINHOOK_DECL Output output(std::string_view name) const;

  /// Adds an item of any copyable type to a collection, even after `finalize()`. `graph_keys` has the types of
  /// the standard collections.
  template <class T>
  void add_to_collection(std::string_view key, T item) {
    collections_[std::string(key)].emplace_back(std::move(item));
  }

  /// The items of type `T` in a collection, in the order they were added; none for a collection that does not exist.
  template <class T>
  [[nodiscard]] std::vector<T> collection(std::string_view key) const {
    std::vector<T> items;
    if (const auto found = collections_.find(key); found != collections_.end()) {
      for (const std::any& item : found->second) {
        if (const T* typed = std::any_cast<T>(&item)) items.push_back(*typed);
      }
    }
    return items;
  }

  /// Removes the items of a collection that equal `item`.
  template <class T>
  void remove_from_collection(std::string_view key, const T& item) {
    if (const auto found = collections_.find(key); found != collections_.end()) {
      std::erase_if(found->second, [&](const std::any& other) {
        const T* typed = std::any_cast<T>(&other);
        return typed != nullptr && *typed == item;
      });
    }
  }

  /// Calls `change` with each item of type `T`, in all collections.
  template <class T, class Change>
  void change_in_collections(const Change& change) {
    for (auto& [key, items] : collections_) {
      for (std::any& item : items) {
        if (T* typed = std::any_cast<T>(&item)) change(*typed);
      }
    }
  }
  [[nodiscard]] const std::map<std::string, std::vector<std::any>, std::less<>>& collections() const noexcept {
    return collections_;
  }

  /// Offers an object of this process to hooks and savers of the graph, as long as its owner keeps it.
  template <class T>
  void offer(const std::shared_ptr<T>& object) {
    std::erase_if(offers_, [](const auto& other) { return other.second.expired(); });
    offers_.emplace_back(typeid(T), object);
  }

  /// The objects of type `T` that are offered, oldest first.
  template <class T>
  [[nodiscard]] std::vector<std::shared_ptr<T>> offered() const {
    std::vector<std::shared_ptr<T>> objects;
    for (const auto& [type, offer] : offers_) {
      if (type != typeid(T)) continue;
      if (const auto object = offer.lock()) objects.push_back(std::static_pointer_cast<T>(object));
    }
    return objects;
  }

  /// No node can be added after this call. A second call does nothing.
  void finalize() noexcept { finalized_ = true; }
  void unfinalize() noexcept { finalized_ = false; }
  [[nodiscard]] bool is_finalized() const noexcept { return finalized_; }

  /// The destructor ends the scope of `name_scope`, `control_dependencies` or `top_level`.
  class [[nodiscard]] Scope {
   public:
    TRAINHOOK_DECL Scope(Scope&& other) noexcept;
    Scope& operator=(Scope&&) = delete;
    TRAINHOOK_DECL ~Scope();

   private:
    friend class Graph;
    explicit Scope(Graph& graph) : graph_(&graph), name_(graph.scope_), controls_(graph.controls_) {}

    Graph* graph_;  // null after a move
    std::string name_;
    std::vector<Operation> controls_;
  };

  /// For a monitored session, which refers to the graph between these calls.
  TRAINHOOK_DECL void begin_use() noexcept;
  void end_use() noexcept { --uses_; }

  /// For the destructor of a graph or its owner, called `what` in the log line. Ends the program if it is in use,
  /// unless the session is not destroyed: true in a forked child, and if `exit` destroys what is static.
  TRAINHOOK_DECL bool is_left_in_use(std::string_view what) const noexcept;

  /// Nodes added while the result exists are called `name/...`, or `name_1/...` if the scope was used before. A name
  /// that ends in `/` is a full prefix, which re-enters that scope.
  TRAINHOOK_DECL Scope name_scope(std::string_view name);

  /// Nodes added while the result exists run after `operations`.
  TRAINHOOK_DECL Scope control_dependencies(std::vector<Operation> operations);

  /// Nodes added while the result exists have no name scope and no control dependencies: for variables and their
  /// initial values.
  TRAINHOOK_DECL Scope top_level();

  /// Sets the seed from which random nodes without a seed derive theirs. The default is a fixed value, so a program
  /// gets the same numbers each time. Call it before adding the first random node.
  void set_random_seed(std::int64_t seed) noexcept { random_seed_ = seed; }
  [[nodiscard]] std::int64_t random_seed() const noexcept { return random_seed_; }

  /// A new number for each random node: 0, 1, 2, ...
  [[nodiscard]] std::int64_t next_op_seed() noexcept { return next_op_seed_++; }

  /// The prefix of the current name scope: empty, or ending in `/`.
  [[nodiscard]] const std::string& current_scope() const noexcept { return scope_; }

  /// @throws InvalidArgumentError if `output` is not of this graph.
  TRAINHOOK_DECL void check_belongs(const Output& output, std::string_view role, std::string_view of) const;

 private:
  TRAINHOOK_DECL Operation add_node(NodeSpec&& spec, const OpDef* def);
  TRAINHOOK_DECL void check_not_finalized() const;
  TRAINHOOK_DECL std::string whole_name(const std::string& name);
  TRAINHOOK_DECL static std::string lower(std::string_view text);
  TRAINHOOK_DECL static bool is_valid_name(std::string_view name) noexcept;
  TRAINHOOK_DECL static void remove_repeats(std::vector<Operation>& operations);

  std::deque<Node> nodes_;
  std::unordered_map<std::string, Node*> by_name_;
  std::map<std::string, std::size_t> used_names_;  // in lower case, with the last number that was appended to each
  std::map<std::string, std::vector<std::any>, std::less<>> collections_;
  std::vector<std::pair<std::type_index, std::weak_ptr<void>>> offers_;
  std::string scope_;
  std::vector<Operation> controls_;      // new nodes run after these
  std::int64_t random_seed_ = 87654321;  // TensorFlow's default if only the node has a seed
  std::int64_t next_op_seed_ = 0;
  bool finalized_ = false;
  std::atomic<int> uses_ = 0;  // open sessions
  bool was_used_ = false;
  detail::ProcessMark process_{};
};

namespace detail {

/// Identity, which `Output::named` adds.
[[nodiscard]] TRAINHOOK_DECL const OpDef& identity_op() noexcept;

/// Whether the functions of `atexit` run: that of a graph runs before the destructor of a static one.
[[nodiscard]] TRAINHOOK_DECL std::atomic<bool>& is_exiting() noexcept;

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/graph.ipp>
#endif
