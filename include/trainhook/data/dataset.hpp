// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dataset: an input pipeline, like TensorFlow's `tf.data.Dataset`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/cardinality.hpp>
#include <trainhook/data/dataset_iterator.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/generator.hpp>
#include <trainhook/data/map_function.hpp>

namespace trainhook {

struct ShuffleOptions {
  bool reshuffle_each_iteration = true;  ///< another order in every repetition
};

struct BatchOptions {
  bool drop_remainder = false;  ///< leave out a last batch that is not full
};

struct MapOptions {
  std::optional<ElementSpec> element_spec{};  ///< what the function returns; without it, what it is given
  bool stateful = false;                      ///< the function has state of its own, which no checkpoint holds
  std::int64_t num_parallel_calls = 1;        ///< threads that call the function; elements keep their order
};

struct InterleaveOptions {
  std::int64_t cycle_length = 1;              ///< how many datasets take turns
  std::int64_t block_length = 1;              ///< how many elements each gives in a turn
  std::optional<ElementSpec> element_spec{};  ///< what the datasets give; without it, what the function is given
};

struct FilterOptions {
  bool stateful = false;  ///< as in MapOptions
};

/// A pipeline: sources and stages, nothing that runs. Immutable and cheap to copy; safe to use from several threads at
/// once. Every iterator over it starts at the beginning. Functions that are given to it must be callable from another
/// thread, and, unless declared stateful, give equal results for equal arguments: they may be called more or less often
/// than there are elements.
class Dataset {
 public:
  explicit Dataset(detail::NodePtr node) noexcept : node_(std::move(node)) {}

  /// A single element, of these tensors.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_tensors(Element element);

  /// An element for each entry of the tensors' leading dimension.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_tensor_slices(Element tensors);

  /// The int64 scalars 0 to end - 1, or begin, begin + step, ... before end.
  [[nodiscard]] static Dataset range(std::int64_t end) { return range(0, end); }
  [[nodiscard]] TRAINHOOK_DECL static Dataset range(std::int64_t begin, std::int64_t end, std::int64_t step = 1);

  /// Elements that a function computes from their index, 0 to size - 1. It must be pure, and callable from several
  /// threads.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_function(std::int64_t size, ElementSpec spec,
                                                            std::function<Element(std::int64_t index)> function);
  /// The same with the spec of element 0 for all of them, which is computed here.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_function(std::int64_t size,
                                                            std::function<Element(std::int64_t index)> function);

  /// A source of your own that can seek.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_rows(std::shared_ptr<const RowSource> rows);

  /// Elements of a generator; `make` is called for every pass. `name` is used in messages and in saved states.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_generator(ElementSpec spec, std::function<Generator()> make,
                                                             std::string name = "generator");

  /// Elements of several datasets side by side, as many as the shortest has.
  [[nodiscard]] TRAINHOOK_DECL static Dataset zip(const std::vector<Dataset>& datasets);

  /// What `function` makes of each element.
  [[nodiscard]] TRAINHOOK_DECL Dataset map(MapFunction function, MapOptions options = {}) const;

  /// The elements of the datasets that `function` makes of each element, in turns, in the order of `tf.data`. If
  /// those datasets shuffle, they need a seed; the same seed gives each of them another order.
  [[nodiscard]] TRAINHOOK_DECL Dataset interleave(std::function<Dataset(const Element& element)> function,
                                                  InterleaveOptions options = {}) const;

  /// The elements of the datasets that `function` makes of each element, one dataset after the other.
  [[nodiscard]] TRAINHOOK_DECL Dataset flat_map(std::function<Dataset(const Element& element)> function,
                                                std::optional<ElementSpec> element_spec = {}) const;

  /// The elements for which `predicate` is true.
  [[nodiscard]] TRAINHOOK_DECL Dataset filter(FilterFunction predicate, FilterOptions options = {}) const;

  /// Random order: each element is drawn from a buffer of the next `buffer_size`. Without a seed an iterator draws one,
  /// which its state holds.
  [[nodiscard]] TRAINHOOK_DECL Dataset shuffle(std::int64_t buffer_size, std::optional<std::uint64_t> seed = {},
                                               ShuffleOptions options = {}) const;

  /// Everything `count` times; for ever without a count, or for a negative one.
  [[nodiscard]] TRAINHOOK_DECL Dataset repeat(std::int64_t count = -1) const;

  /// `batch_size` elements as one with a leading dimension.
  [[nodiscard]] TRAINHOOK_DECL Dataset batch(std::int64_t batch_size, BatchOptions options = {}) const;

  /// The first `count` elements; all of them for a negative count.
  [[nodiscard]] TRAINHOOK_DECL Dataset take(std::int64_t count) const;

  /// All but the first `count` elements; none of them for a negative count.
  [[nodiscard]] TRAINHOOK_DECL Dataset skip(std::int64_t count) const;

  /// Every `num_shards`-th element, beginning with number `index`: one worker's part of the data.
  [[nodiscard]] TRAINHOOK_DECL Dataset shard(std::int64_t num_shards, std::int64_t index) const;

  /// These elements, then those of `dataset`.
  [[nodiscard]] TRAINHOOK_DECL Dataset concatenate(const Dataset& dataset) const;

  /// Each iterator has a thread that keeps up to `buffer_size` elements ready.
  [[nodiscard]] TRAINHOOK_DECL Dataset prefetch(std::int64_t buffer_size) const;

  /// Dtypes and shapes of an element's components.
  [[nodiscard]] TRAINHOOK_DECL const ElementSpec& element_spec() const noexcept;

  /// How many elements there are, `kInfiniteCardinality` or `kUnknownCardinality`.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const;

  /// A line for each stage that has state which a checkpoint cannot hold; empty for most pipelines.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> external_state() const;

  [[nodiscard]] DatasetIterator make_iterator() const { return DatasetIterator(node_); }

  /// For code that adds stages of its own.
  [[nodiscard]] const detail::NodePtr& node() const noexcept { return node_; }

 private:
  detail::NodePtr node_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/dataset.ipp>
#endif
