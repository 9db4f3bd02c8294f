// SPDX-License-Identifier: Apache-2.0
/// @file
/// An input pipeline as part of a graph: `IteratorV2` and `IteratorGetNext`.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/data/dataset.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/graph_keys.hpp>

namespace trainhook {

/// What `graph_keys::kIterators` holds. An engine makes one live `Iterator` in each session for it.
struct IteratorResource {
  Operation op{};  ///< the IteratorV2 node
  Dataset dataset;

  /// Where a checkpoint keeps the iterator's position.
  [[nodiscard]] std::string state_name() const { return op.name() + "-state"; }
};

[[nodiscard]] inline std::vector<IteratorResource> iterators(const Graph& graph) {
  return graph.collection<IteratorResource>(graph_keys::kIterators);
}

/// The collection that may hold an ExternalStatePolicy: what saving a session does about pipelines whose state lies partly outside of them.
inline constexpr std::string_view kExternalStatePolicies = "external_state_policies";

/// The policy that was put there last, or `Fail`.
[[nodiscard]] inline ExternalStatePolicy external_state_policy(const Graph& graph) {
  const auto policies = graph.collection<ExternalStatePolicy>(kExternalStatePolicies);
  return policies.empty() ? ExternalStatePolicy::Fail : policies.back();
}

/// An iterator in a graph. A small value: copies name the same iterator.
class GraphIterator {
 public:
  GraphIterator(Operation op, ElementSpec spec) : op_(op), spec_(std::move(spec)) {}

  [[nodiscard]] Operation op() const noexcept { return op_; }
  [[nodiscard]] const std::string& name() const { return op_.name(); }
  [[nodiscard]] const ElementSpec& element_spec() const noexcept { return spec_; }

  /// The components of the next element. Each call adds a node that takes an element of its own whenever it runs: call it once.
  [[nodiscard]] std::vector<Output> get_next() const {
    const Operation next =
        op_.graph().add({.type = "IteratorGetNext", .inputs = {Output(&op_.node(), 0)}, .attrs = attrs_of(spec_), .outputs = spec_});
    std::vector<Output> outputs;
    for (std::size_t i = 0; i < spec_.size(); ++i) outputs.push_back(next.output(i));
    return outputs;
  }

  /// The same for elements of `N` components: `auto [image, label] = iterator.get_next<2>();`
  /// @throws InvalidArgumentError where they have another number.
  template <std::size_t N>
  [[nodiscard]] std::array<Output, N> get_next() const {
    if (spec_.size() != N)
      throw InvalidArgumentError("iterator ", name(), " gives ", spec_to_string(spec_), ", which is not ", N, " components");
    const std::vector<Output> outputs = get_next();
    std::array<Output, N> result;
    std::copy(outputs.begin(), outputs.end(), result.begin());
    return result;
  }

  /// The attributes that both op types have in TensorFlow.
  [[nodiscard]] static Attrs attrs_of(const ElementSpec& spec) {
    std::vector<DType> types;
    std::vector<PartialShape> shapes;
    for (const OutputSpec& component : spec) {
      types.push_back(component.dtype);
      shapes.push_back(component.shape);
    }
    return {{"output_types", std::move(types)}, {"output_shapes", std::move(shapes)}};
  }

 private:
  Operation op_;
  ElementSpec spec_;
};

/// Adds an iterator over `dataset` to the graph, and to its collection of iterators. The node's output stands for TensorFlow's resource
/// handle, a dtype that no tensor here can have; nothing but IteratorGetNext takes it.
/// @throws InvalidArgumentError for a dataset whose elements have no components.
inline GraphIterator make_iterator(Graph& graph, const Dataset& dataset, std::string_view name = "IteratorV2") {
  const ElementSpec& spec = dataset.element_spec();
  if (spec.empty()) throw InvalidArgumentError("iterator ", name, ": the dataset's elements have no components");
  Attrs attrs = GraphIterator::attrs_of(spec);
  attrs.emplace("shared_name", std::string());
  attrs.emplace("container", std::string());
  const Operation op = graph.add(
      {.type = "IteratorV2", .name = std::string(name), .attrs = std::move(attrs), .outputs = {{DType::Invalid, PartialShape(Shape{})}}});
  graph.add_to_collection(graph_keys::kIterators, IteratorResource{op, dataset});
  return GraphIterator(op, spec);
}

}  // namespace trainhook
