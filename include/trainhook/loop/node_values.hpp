// SPDX-License-Identifier: Apache-2.0
/// @file
/// NodeValues: computes the nodes of a loop's graph, which are the user's values and a few ops of the library.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/real_numbers.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/session/feed.hpp>

namespace trainhook::detail {

/// Computes each node at most once per run. Functions read the leaves; the op that reads the global step and ops that
/// have a HostRule, such as summaries, are computed from them. This is not an engine: maths belongs in the loop.
class NodeValues {
  enum class Rule : std::uint8_t { None, Leaf, Placeholder, Identity, Constant, AddV2, Cast, OfItsOp };
  struct Known {
    bool looked_up = false;
    Rule rule = Rule::None;
    std::uint64_t run = 0;  // the run that read `value`
    Tensor value;
    std::function<Tensor()> read;
  };

 public:
  /// @param graph must outlive this
  explicit NodeValues(Graph& graph) : graph_(&graph) {}

  /// Sets the function that returns the node's value.
  void set_leaf(const Node& node, std::function<Tensor()> read) {
    Known& known = known_of(node);
    known.rule = Rule::Leaf;
    known.read = std::move(read);
  }

  /// Starts a run: all values are read again. @throws InvalidArgumentError for a feed of a node that is not a value, or
  /// of another dtype or shape.
  void begin_run(std::span<const Feed> feeds) {
    ++run_;
    for (const Feed& feed : feeds) {
      check_feed(feed);
      remember(known_of(feed.key.node()), feed.value);
    }
  }

  /// The values that a run has read so far, stored while a nested run is made.
  struct Suspended {
    std::uint64_t run = 0;
    std::vector<Known*> known{};
    std::vector<Tensor> values{};
  };

  /// Stores the values of the current run, so that the user's code in it may make a nested run.
  [[nodiscard]] Suspended suspend() {
    Suspended outer{.run = run_};
    outer.values.reserve(remembered_.size());
    for (Known* known : remembered_) {
      outer.values.push_back(std::exchange(known->value, Tensor()));
      known->run = 0;
    }
    outer.known.swap(remembered_);
    return outer;
  }

  /// Continues a suspended run, after `end_run` of the nested one.
  void resume(Suspended outer) noexcept {
    run_ = outer.run;
    remembered_.swap(outer.known);
    for (std::size_t i = 0; i < remembered_.size(); ++i) {
      remembered_[i]->value = std::move(outer.values[i]);
      remembered_[i]->run = run_;
    }
  }

  /// Ends a run: releases its values, so that their memory can be reused.
  void end_run() noexcept {
    for (Known* known : remembered_) {
      known->value = Tensor();
      known->run = 0;
    }
    remembered_.clear();
  }

  /// The value of an output of the graph. Valid until `end_run`.
  [[nodiscard]] const Tensor& get(const Output& output) {
    const Node& node = output.node();
    Known& known = known_of(node);
    if (known.run == run_) return known.value;
    switch (known.rule) {
      case Rule::Leaf: return remember(known, known.read());
      case Rule::Identity: return get(node.inputs()[0]);
      case Rule::Constant: return node.attr<Tensor>("value");
      case Rule::AddV2: return remember(known, sum(node, get(node.inputs()[0]), get(node.inputs()[1])));
      case Rule::Cast: return remember(known, cast_to_float(node, get(node.inputs()[0])));
      case Rule::OfItsOp: return remember(known, node.op_def()->on_host(node, inputs_of(node)));
      case Rule::Placeholder:
        throw InvalidArgumentError("You must feed a value for '{}': the loop has none of that name", output.name());
      case Rule::None: break;
    }
    throw UnimplementedError(
        "LoopSession cannot compute '{}' ({}): "
        "compute it in the loop and register it with value(), or use an engine for graphs",
        output.name(), node.type());
  }

 private:
  Known& known_of(const Node& node) {
    if (node.id() >= known_.size()) known_.resize(graph_->size());
    Known& known = known_[node.id()];
    if (!known.looked_up) {
      known.rule = rule_for(node);
      known.looked_up = true;
    }
    return known;
  }

  const Tensor& remember(Known& known, Tensor value) {
    known.value = std::move(value);
    known.run = run_;
    remembered_.push_back(&known);
    return known.value;
  }

  static Rule rule_for(const Node& node) noexcept {
    constexpr std::array<std::pair<std::string_view, Rule>, 5> kRules{{{"Placeholder", Rule::Placeholder},
                                                                       {"Identity", Rule::Identity},
                                                                       {"Const", Rule::Constant},
                                                                       {"AddV2", Rule::AddV2},
                                                                       {"Cast", Rule::Cast}}};
    if (node.op_def() != nullptr && node.op_def()->on_host != nullptr) return Rule::OfItsOp;
    const auto found =
        std::ranges::find(kRules, std::string_view(node.type()), &std::pair<std::string_view, Rule>::first);
    return found == kRules.end() ? Rule::None : found->second;
  }

  std::vector<Tensor> inputs_of(const Node& node) {
    std::vector<Tensor> inputs;
    for (const Output& input : node.inputs()) inputs.push_back(get(input));
    return inputs;
  }

  void check_feed(const Feed& feed) const {
    graph_->check_belongs(feed.key, "a feed", "a run");
    const Node& node = feed.key.node();
    if (node.type() != "Placeholder") {
      throw InvalidArgumentError("'{}' ({}) cannot be fed; only what was registered with value() can", feed.key.name(),
                                 node.type());
    }
    if (feed.value.dtype() != feed.key.dtype() || !feed.key.shape().compatible_with(feed.value.shape())) {
      throw InvalidArgumentError("'{}' is {}{} and was fed {}{}", feed.key.name(), feed.key.dtype(), feed.key.shape(),
                                 feed.value.dtype(), feed.value.shape());
    }
  }

  static Tensor sum(const Node& node, const Tensor& a, const Tensor& b) {  // hooks read the step through `step + 0`
    if (a.dtype() == DType::Int64 && b.dtype() == DType::Int64 && a.shape().rank() == 0 && b.shape().rank() == 0) {
      return Tensor(a.scalar<std::int64_t>() + b.scalar<std::int64_t>());
    }
    throw UnimplementedError("LoopSession adds nothing but steps, and '{}' adds {}{} and {}{}: compute it in the loop",
                             node.name(), a.dtype(), a.shape(), b.dtype(), b.shape());
  }

  static Tensor cast_to_float(const Node& node, const Tensor& value) {  // a summary of a bool is of such a cast
    if (node.attr<DType>("DstT") == DType::Float && is_real(value.dtype())) return as_floats(value);
    throw UnimplementedError(
        "LoopSession casts nothing but real numbers to float32, and '{}' casts {} to {}: do it in "
        "the loop",
        node.name(), value.dtype(), node.attr<DType>("DstT"));
  }

  Graph* graph_;
  std::deque<Known> known_;  // by node id; a deque, because nested runs may add to it
  std::vector<Known*> remembered_;
  std::uint64_t run_ = 0;
};

}  // namespace trainhook::detail
