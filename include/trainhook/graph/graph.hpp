// SPDX-License-Identifier: Apache-2.0
/// @file
/// Graph: named nodes, control dependencies, name scopes and collections. Symbolic only: nothing here computes.
#pragma once

#include <algorithm>
#include <any>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <trainhook/core/name_suggestion.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// The vocabulary of a model, as TensorFlow's `tf.Graph`. Nodes are added until `finalize()`; none is ever removed or changed, so that the
/// order of creation is an order of execution. One thread builds; once finalized, any number may read. Handles point into the graph,
/// so it can be neither copied nor moved.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Adds a node under the current name scope and control dependencies. A name that is taken gets `_1`, `_2`, ... appended; one that ends
  /// in `/` is, without it, the whole name, which is how a node gets the name of a scope.
  /// @throws FailedPreconditionError when finalized; InvalidArgumentError for a bad name or an input of another graph.
  Operation add(NodeSpec spec) {
    check_not_finalized();
    std::string base = spec.name.empty() ? spec.type : spec.name;
    const bool is_whole = base.ends_with('/');
    if (is_whole) base.pop_back();
    if (!is_valid_name(base)) {
      throw InvalidArgumentError(
          "'", base, "' is not a valid name for a node: letters, digits and . _ / > - are, starting with a letter, digit or dot");
    }
    for (const Output& input : spec.inputs) check_belongs(input, "an input of", base);
    for (const std::vector<Operation>& scope : control_scopes_) {
      spec.control_inputs.insert(spec.control_inputs.end(), scope.begin(), scope.end());
    }
    for (const Operation& input : spec.control_inputs) {
      if (!input.has_value() || &input.graph() != this) throw InvalidArgumentError("a control input of ", base, " is not of this graph");
    }
    remove_repeats(spec.control_inputs);
    spec.name = is_whole ? whole_name(base) : unique_name(base);
    Node& node = nodes_.emplace_back(*this, nodes_.size(), std::move(spec));
    by_name_.emplace(node.name(), &node);
    return Operation(&node);
  }

  /// The name that a node called `name` would get here: scope in front, made unique. Names differ in more than letter case,
  /// as TensorFlow has it.
  [[nodiscard]] std::string unique_name(std::string_view name) {
    std::string full = scope_ + std::string(name);
    const auto taken = [this](const std::string& candidate) { return used_names_.contains(lower(candidate)); };
    if (taken(full)) {
      const std::string base = full;
      std::size_t& next = next_suffix_[lower(base)];
      do full = str_cat(base, "_", ++next);
      while (taken(full));
    }
    used_names_.insert(lower(full));
    return full;
  }

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const std::deque<Node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] Operation operation_at(std::size_t id) noexcept { return Operation(&nodes_[id]); }

  /// The node of that name, or one without value.
  [[nodiscard]] Operation find_operation(std::string_view name) const noexcept {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? Operation() : Operation(found->second);
  }

  /// The operation called `name`. @throws NotFoundError where there is none, naming some that are like it.
  [[nodiscard]] Operation operation(std::string_view name) const {
    const Operation found = find_operation(name);
    if (!found.has_value()) {
      std::vector<std::string_view> names;
      for (const Node& node : nodes_) names.push_back(node.name());
      throw NotFoundError("the graph has no operation '", name, "'; ", detail::suggest_names(std::move(names), name));
    }
    return found;
  }

  /// The output called `name:index`; a bare `name` is its output 0. @throws NotFoundError, or InvalidArgumentError where a bare name is
  /// ambiguous because the operation has several outputs.
  [[nodiscard]] Output output(std::string_view name) const {
    const std::size_t colon = name.rfind(':');
    const Operation found = operation(name.substr(0, colon));
    if (colon == std::string_view::npos) {
      if (found.node().outputs().size() == 1) return found.output(0);
      throw InvalidArgumentError("operation '", name, "' has ", found.node().outputs().size(), " outputs; say which one, as in '", name,
                                 ":0'");
    }
    std::size_t index = 0;
    const std::string_view digits = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      throw InvalidArgumentError("'", name, "' is not a tensor name such as 'loss:0'");
    }
    return found.output(index);
  }

  /// Adds an item of any copyable type to a collection, in a finalized graph too; which type the standard ones hold stands in
  /// graph_keys.hpp.
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

  /// Takes out the items of a collection that equal `item`.
  template <class T>
  void remove_from_collection(std::string_view key, const T& item) {
    if (const auto found = collections_.find(key); found != collections_.end()) {
      std::erase_if(found->second, [&](const std::any& other) {
        const T* typed = std::any_cast<T>(&other);
        return typed != nullptr && *typed == item;
      });
    }
  }
  [[nodiscard]] const std::map<std::string, std::vector<std::any>, std::less<>>& collections() const noexcept { return collections_; }

  /// From here on no node can be added. Harmless when repeated.
  void finalize() noexcept { finalized_ = true; }
  void unfinalize() noexcept { finalized_ = false; }
  [[nodiscard]] bool is_finalized() const noexcept { return finalized_; }

  /// Ends what `name_scope` or `control_dependencies` began, when it goes.
  class [[nodiscard]] Scope {
   public:
    explicit Scope(std::function<void()> leave) : leave_(std::move(leave)) {}
    Scope(Scope&& other) noexcept : leave_(std::exchange(other.leave_, nullptr)) {}
    Scope& operator=(Scope&&) = delete;
    ~Scope() {
      if (leave_) leave_();
    }

   private:
    std::function<void()> leave_;
  };

  /// Nodes added while the result lives are called `name/...`; a scope that was used before becomes `name_1/...`. A name that ends in `/`
  /// is a whole prefix, and enters that scope again.
  Scope name_scope(std::string_view name) {
    std::string outer = scope_;
    scope_ = name.ends_with('/') ? std::string(name) : unique_name(name) + "/";
    return Scope([this, outer = std::move(outer)]() noexcept { scope_ = outer; });
  }

  /// Nodes added while the result lives run after `operations`.
  Scope control_dependencies(std::vector<Operation> operations) {
    control_scopes_.push_back(std::move(operations));
    return Scope([this]() noexcept { control_scopes_.pop_back(); });
  }

  /// Nodes added while the result lives stand at top level and depend on nothing around them: for variables and their initial values.
  Scope top_level() {
    std::string outer = std::exchange(scope_, std::string());
    auto controls = std::exchange(control_scopes_, {});
    return Scope([this, outer = std::move(outer), controls = std::move(controls)]() noexcept {
      scope_ = outer;
      control_scopes_ = controls;
    });
  }

  /// The seed that random nodes without one of their own derive theirs from. It has a fixed value where nobody sets it, so that a
  /// program gives the same numbers each time. Set it before the first random node.
  void set_random_seed(std::int64_t seed) noexcept { random_seed_ = seed; }
  [[nodiscard]] std::int64_t random_seed() const noexcept { return random_seed_; }

  /// A number for each random node that asks: 0, 1, 2, ...
  [[nodiscard]] std::int64_t next_op_seed() noexcept { return next_op_seed_++; }

  /// The prefix of the current name scope: empty, or ending in `/`.
  [[nodiscard]] const std::string& current_scope() const noexcept { return scope_; }

  /// @throws InvalidArgumentError unless `output` is one of this graph's.
  void check_belongs(const Output& output, std::string_view role, std::string_view of) const {
    if (!output.has_value()) throw InvalidArgumentError(role, " ", of, " is empty: it names no node");
    if (&output.graph() != this) throw InvalidArgumentError(role, " ", of, " is '", output.name(), "', which belongs to another graph");
  }

 private:
  void check_not_finalized() const {
    if (finalized_) throw FailedPreconditionError("Graph is finalized and cannot be modified; add nodes before the session is made");
  }

  std::string whole_name(const std::string& name) {
    if (by_name_.contains(name)) throw InvalidArgumentError("the graph already has a node '", name, "'");
    used_names_.insert(lower(name));
    return name;
  }

  static std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
  }

  static bool is_valid_name(std::string_view name) noexcept {
    const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
    if (name.empty() || !is_letter(name[0])) return false;
    for (char c : name) {
      if (!is_letter(c) && c != '_' && c != '/' && c != '>' && c != '-' && c != '\\') return false;
    }
    return name.back() != '/';
  }

  static void remove_repeats(std::vector<Operation>& operations) {
    std::vector<Operation> kept;
    for (const Operation& operation : operations) {
      if (std::find(kept.begin(), kept.end(), operation) == kept.end()) kept.push_back(operation);
    }
    operations = std::move(kept);
  }

  std::deque<Node> nodes_;
  std::unordered_map<std::string, Node*> by_name_;
  std::set<std::string> used_names_;
  std::map<std::string, std::size_t> next_suffix_;
  std::map<std::string, std::vector<std::any>, std::less<>> collections_;
  std::string scope_;
  std::vector<std::vector<Operation>> control_scopes_;
  std::int64_t random_seed_ = 87654321;  // as TensorFlow's default where only the node has a seed
  std::int64_t next_op_seed_ = 0;
  bool finalized_ = false;
};

inline Output Output::named(std::string_view name) const {
  return graph()
      .add({.type = "Identity", .name = std::string(name), .inputs = {*this}, .attrs = {{"T", dtype()}}, .outputs = {{dtype(), shape()}}})
      .output();
}

}  // namespace trainhook
