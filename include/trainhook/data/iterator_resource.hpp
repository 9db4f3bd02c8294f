// SPDX-License-Identifier: Apache-2.0
/// @file
/// make_iterator: an input pipeline as part of a graph, with the ops `IteratorV2` and `IteratorGetNext`.
/// save_with_model: its position in the model's checkpoint.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/saved_input.hpp>

namespace trainhook {

namespace detail {

/// The item type of the collection `graph_keys::kIterators`. An engine creates an `Iterator` for it in each session.
struct IteratorResource {
  Operation op{};  ///< the IteratorV2 node
  Dataset dataset;

  /// The name of the iterator's position in a checkpoint.
  [[nodiscard]] TRAINHOOK_DECL std::string state_name() const;
  [[nodiscard]] TRAINHOOK_DECL SavedInput as_saved_input() const;
};

[[nodiscard]] TRAINHOOK_DECL std::vector<IteratorResource> iterators(const Graph& graph);

/// IteratorV2 and IteratorGetNext.
[[nodiscard]] TRAINHOOK_DECL OpFamily iterator_ops() noexcept;

/// Adds an IteratorV2 whose elements have these components.
TRAINHOOK_DECL Operation iterator(Graph& graph, std::span<const OutputSpec> components, std::string_view name);

/// Adds an IteratorGetNext, which has an output for each component of an element.
TRAINHOOK_DECL Operation iterator_get_next(Operation iterator, std::span<const OutputSpec> components);

}  // namespace detail

/// A handle of an iterator in a graph; copies refer to the same iterator.
class GraphIterator {
 public:
  TRAINHOOK_DECL GraphIterator(Operation op, ElementSpec spec);

  [[nodiscard]] Operation op() const noexcept { return op_; }
  [[nodiscard]] const std::string& name() const { return op_.name(); }
  [[nodiscard]] const ElementSpec& element_spec() const noexcept { return spec_; }

  /// The components of the next element. Call it once: each call adds a node that takes another element in every run.
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> get_next() const;

  /// The same for elements of `N` components: `auto [image, label] = iterator.get_next<2>();`
  /// @throws InvalidArgumentError if an element has another number of components.
  template <std::size_t N>
  [[nodiscard]] std::array<Output, N> get_next() const {
    if (spec_.size() != N)
      throw InvalidArgumentError("iterator {} gives {}, which is not {} components", name(),
                                 detail::spec_to_string(spec_), N);
    const std::vector<Output> outputs = get_next();
    std::array<Output, N> result;
    for (std::size_t i = 0; i < N; ++i) result[i] = outputs[i];
    return result;
  }

 private:
  Operation op_;
  ElementSpec spec_;
};

/// Adds an iterator over `dataset` to the graph, and to its collection of iterators. The node's output stands for
/// TensorFlow's resource handle, which is not a tensor here; only IteratorGetNext accepts it.
/// @throws InvalidArgumentError for a dataset whose elements have no components.
TRAINHOOK_DECL GraphIterator make_iterator(Graph& graph, const Dataset& dataset, std::string_view name = "IteratorV2");

/// The model's saver then stores the position of the iterator called `name` as `<name>-state` and restores it with the
/// model, so both are always of the same step. For training graphs only: an evaluation must not continue the training's
/// input. Source: `tf.data.experimental.make_saveable_from_iterator`.
/// @throws NotFoundError if the graph has no such iterator, FailedPreconditionError if it has external state that the
/// policy does not allow.
TRAINHOOK_DECL void save_with_model(Graph& graph, std::string_view name,
                                    ExternalStatePolicy external_state_policy = ExternalStatePolicy::Fail);

/// The same for an iterator's handle.
TRAINHOOK_DECL void save_with_model(const GraphIterator& iterator,
                                    ExternalStatePolicy external_state_policy = ExternalStatePolicy::Fail);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/iterator_resource.ipp>
#endif
