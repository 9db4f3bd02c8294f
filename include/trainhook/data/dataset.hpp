// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dataset: an input pipeline, like TensorFlow's `tf.data.Dataset`.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/data/dataset_iterator.hpp>
#include <trainhook/data/element.hpp>

namespace trainhook {

struct ShuffleOptions {
  bool reshuffle_each_iteration = true;  ///< a different order in every repetition
};

struct BatchOptions {
  bool drop_remainder = false;  ///< drop the last batch if it is not full
};

struct MapOptions {
  std::optional<ElementSpec> element_spec{};  ///< of the function's results; none: that of its argument
  bool stateful = false;                      ///< the function has state, which no checkpoint contains
  std::int64_t num_parallel_calls = 1;        ///< the number of threads that call the function; the order stays
};

struct InterleaveOptions {
  std::int64_t cycle_length = 1;              ///< the number of datasets that take turns
  std::int64_t block_length = 1;              ///< the number of elements per turn
  std::optional<ElementSpec> element_spec{};  ///< of the datasets' elements; none: that of the argument
};

struct FilterOptions {
  bool stateful = false;  ///< as in MapOptions
};

/// A description of a pipeline, its sources and stages; iterators run it, each from the beginning. Immutable, cheap to
/// copy, and safe to use from several threads at once. Functions passed to it must be callable from other threads.
/// Unless declared stateful they must return equal results for equal arguments, because they may be called more or less
/// often than once per element.
class Dataset {
 public:
  explicit Dataset(detail::NodePtr node) noexcept : node_(std::move(node)) {}

  /// A single element.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_tensors(Element element);

  /// One element for each index of the tensors' leading dimension.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_tensor_slices(Element tensors);

  /// The int64 scalars from 0 to end - 1, or begin, begin + step, ... up to but without end.
  [[nodiscard]] static Dataset range(std::int64_t end) { return range(0, end); }
  [[nodiscard]] TRAINHOOK_DECL static Dataset range(std::int64_t begin, std::int64_t end, std::int64_t step = 1);

  /// Elements that a function computes from their index, 0 to size - 1. The function must be pure and callable from
  /// several threads at once.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_function(std::int64_t size, ElementSpec spec,
                                                            std::function<Element(std::int64_t index)> function);
  /// The same with the spec of element 0, which is computed in this call.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_function(std::int64_t size,
                                                            std::function<Element(std::int64_t index)> function);
  TRAINHOOK_MISTAKE(
      "the function of from_function takes an index and returns an Element: write [](std::int64_t index) { return "
      "Element{...}; }",
      class Function)
  static Dataset from_function(std::int64_t size, Function&& function)
    requires(!std::convertible_to<Function, std::function<Element(std::int64_t)>>)
  TRAINHOOK_REFUSED;

  /// A user-defined source with random access.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_rows(std::shared_ptr<const RowSource> rows);

  /// The elements of a generator; every pass calls `make`. `name` appears in messages and saved states.
  [[nodiscard]] TRAINHOOK_DECL static Dataset from_generator(ElementSpec spec, std::function<Generator()> make,
                                                             std::string name = "generator");

  /// Joins the elements of several datasets side by side, up to the end of the shortest. If one throws, the others
  /// still advance by an element, as in TensorFlow. If that one then repeats its element, like a file that could not be
  /// read, they are out of step; do not continue after such an error.
  [[nodiscard]] TRAINHOOK_DECL static Dataset zip(const std::vector<Dataset>& datasets);

  /// Applies `function` to each element.
  [[nodiscard]] TRAINHOOK_DECL Dataset map(MapFunction function, MapOptions options = {}) const;
  TRAINHOOK_MISTAKE(
      "the function of map takes an Element and returns one: write [](const Element& element) { return "
      "Element{element[0]}; }",
      class Function)
  Dataset map(Function&& function, const MapOptions& options = {}) const
    requires(!std::convertible_to<Function, MapFunction>)
  TRAINHOOK_REFUSED;

  /// Applies `function` to each element and interleaves the elements of the returned datasets, in the order of
  /// `tf.data`. If those datasets shuffle, they need a seed; the same seed gives each of them a different order.
  [[nodiscard]] TRAINHOOK_DECL Dataset interleave(std::function<Dataset(const Element& element)> function,
                                                  InterleaveOptions options = {}) const;
  TRAINHOOK_MISTAKE(
      "the function of interleave takes an Element and returns a Dataset: write [](const Element& element) { return "
      "Dataset::...; }",
      class Function)
  Dataset interleave(Function&& function, const InterleaveOptions& options = {}) const
    requires(!std::convertible_to<Function, std::function<Dataset(const Element&)>>)
  TRAINHOOK_REFUSED;

  /// Applies `function` to each element and concatenates the returned datasets.
  [[nodiscard]] TRAINHOOK_DECL Dataset flat_map(std::function<Dataset(const Element& element)> function,
                                                std::optional<ElementSpec> element_spec = {}) const;
  TRAINHOOK_MISTAKE(
      "the function of flat_map takes an Element and returns a Dataset: write [](const Element& element) { return "
      "Dataset::...; }",
      class Function)
  Dataset flat_map(Function&& function, const std::optional<ElementSpec>& element_spec = {}) const
    requires(!std::convertible_to<Function, std::function<Dataset(const Element&)>>)
  TRAINHOOK_REFUSED;

  /// Keeps the elements for which `predicate` returns true.
  [[nodiscard]] TRAINHOOK_DECL Dataset filter(FilterFunction predicate, FilterOptions options = {}) const;
  TRAINHOOK_MISTAKE(
      "the function of filter takes an Element and returns a bool: write [](const Element& element) { return "
      "element[0].scalar<bool>(); }",
      class Function)
  Dataset filter(Function&& predicate, FilterOptions options = {}) const
    requires(!std::convertible_to<Function, FilterFunction>)
  TRAINHOOK_REFUSED;

  /// Shuffles: draws each element from a buffer of the next `buffer_size` elements. Without a seed, each iterator draws
  /// one and saves it in its state.
  [[nodiscard]] TRAINHOOK_DECL Dataset shuffle(std::int64_t buffer_size, std::optional<std::uint64_t> seed = {},
                                               ShuffleOptions options = {}) const;

  /// Repeats all elements `count` times, or endlessly if `count` is negative.
  [[nodiscard]] TRAINHOOK_DECL Dataset repeat(std::int64_t count = -1) const;

  /// Stacks `batch_size` elements into one with a leading dimension.
  [[nodiscard]] TRAINHOOK_DECL Dataset batch(std::int64_t batch_size, BatchOptions options = {}) const;

  /// The first `count` elements; all of them for a negative count.
  [[nodiscard]] TRAINHOOK_DECL Dataset take(std::int64_t count) const;

  /// All but the first `count` elements; none for a negative count.
  [[nodiscard]] TRAINHOOK_DECL Dataset skip(std::int64_t count) const;

  /// Every `num_shards`-th element, starting at number `index`: one worker's part of the data.
  [[nodiscard]] TRAINHOOK_DECL Dataset shard(std::int64_t num_shards, std::int64_t index) const;

  /// These elements, then those of `dataset`.
  [[nodiscard]] TRAINHOOK_DECL Dataset concatenate(const Dataset& dataset) const;

  /// Lets a thread of each iterator compute up to `buffer_size` elements ahead.
  [[nodiscard]] TRAINHOOK_DECL Dataset prefetch(std::int64_t buffer_size) const;

  /// Allows a restore of the whole pipeline, with a warning, if its sources read other data than when it was saved:
  /// files with other names, sizes or order, or other strings in memory. Otherwise that is an error.
  [[nodiscard]] TRAINHOOK_DECL Dataset allow_changed_sources() const;

  /// The dtypes and shapes of an element's components.
  [[nodiscard]] TRAINHOOK_DECL const ElementSpec& element_spec() const noexcept;

  /// The number of elements, `kInfiniteCardinality` or `kUnknownCardinality`.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const;

  /// A line for each stage whose state a checkpoint cannot contain; empty for most pipelines.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> external_state() const;

  [[nodiscard]] DatasetIterator make_iterator() const { return DatasetIterator(node_); }

  /// For code that adds other stages.
  [[nodiscard]] const detail::NodePtr& node() const noexcept { return node_; }

 private:
  detail::NodePtr node_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/dataset.ipp>
#endif
