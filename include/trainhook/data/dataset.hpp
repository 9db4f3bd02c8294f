// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dataset: a description of where elements come from and what happens to them on the way, as TensorFlow's `tf.data.Dataset`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/data/batch.hpp>
#include <trainhook/data/dataset_iterator.hpp>
#include <trainhook/data/functional.hpp>
#include <trainhook/data/interleave.hpp>
#include <trainhook/data/parallel_map.hpp>
#include <trainhook/data/prefetch.hpp>
#include <trainhook/data/selection.hpp>
#include <trainhook/data/shuffle.hpp>
#include <trainhook/data/sources.hpp>

namespace trainhook {

struct ShuffleOptions {
  bool reshuffle_each_iteration = true;  ///< another order in every repetition
};

struct BatchOptions {
  bool drop_remainder = false;  ///< leave out a last batch that is not full
};

struct MapOptions {
  std::optional<ElementSpec> element_spec{};  ///< what the function returns; without it, what it is given
  bool stateful = false;                      ///< the function remembers something from call to call, which no checkpoint will hold
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

/// A pipeline: sources and stages, nothing that runs. Immutable and cheap to copy; safe to use from several threads at once. Every iterator
/// over it starts at the beginning. Functions that are given to it must be callable from another thread, and, unless declared stateful,
/// give equal results for equal arguments: they may be called more or less often than there are elements.
class Dataset {
 public:
  explicit Dataset(detail::NodePtr node) noexcept : node_(std::move(node)) {}

  /// A single element, of these tensors.
  [[nodiscard]] static Dataset from_tensors(Element element) { return from_rows(std::make_shared<detail::SingleRow>(std::move(element))); }

  /// An element for each entry of the tensors' leading dimension.
  [[nodiscard]] static Dataset from_tensor_slices(Element tensors) {
    return from_rows(std::make_shared<detail::SliceRows>(std::move(tensors)));
  }

  /// The int64 scalars 0 to end - 1, or begin, begin + step, ... before end.
  [[nodiscard]] static Dataset range(std::int64_t end) { return range(0, end); }
  [[nodiscard]] static Dataset range(std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
    return from_rows(std::make_shared<detail::RangeRows>(begin, end, step));
  }

  /// Elements that a function computes from their number, 0 to size - 1. It must be pure, and callable from several threads.
  [[nodiscard]] static Dataset from_function(std::int64_t size, ElementSpec spec, std::function<Element(std::int64_t index)> function) {
    return from_rows(std::make_shared<detail::FunctionRows>(size, std::move(spec), std::move(function)));
  }
  /// The same with the spec of element 0 for all of them, which is computed here.
  [[nodiscard]] static Dataset from_function(std::int64_t size, std::function<Element(std::int64_t index)> function) {
    if (size < 1) throw InvalidArgumentError("from_function: without an element there is no telling its spec; pass one");
    ElementSpec spec = spec_of(function(0));
    return from_function(size, std::move(spec), std::move(function));
  }

  /// A source of your own that can seek.
  [[nodiscard]] static Dataset from_rows(std::shared_ptr<const RowSource> rows) {
    return Dataset(std::make_shared<detail::RowSourceNode>(std::move(rows)));
  }

  /// Elements of a generator; `make` is called for every pass. `name` stands in messages and in saved states.
  [[nodiscard]] static Dataset from_generator(ElementSpec spec, std::function<Generator()> make, std::string name = "generator") {
    return Dataset(std::make_shared<detail::GeneratorNode>(std::move(spec), std::move(make), std::move(name)));
  }

  /// Elements of several datasets side by side, as many as the shortest has.
  [[nodiscard]] static Dataset zip(const std::vector<Dataset>& datasets) {
    std::vector<detail::NodePtr> nodes;
    for (const Dataset& dataset : datasets) nodes.push_back(dataset.node_);
    return Dataset(std::make_shared<detail::ZipNode>(std::move(nodes)));
  }

  /// What `function` makes of each element.
  [[nodiscard]] Dataset map(MapFunction function, MapOptions options = {}) const {
    ElementSpec spec = options.element_spec ? *options.element_spec : element_spec();
    if (options.num_parallel_calls < 1 || (options.stateful && options.num_parallel_calls > 1)) {
      throw InvalidArgumentError("map: num_parallel_calls ", options.num_parallel_calls,
                                 " is not positive, or above 1 for a stateful function");
    }
    if (options.num_parallel_calls > 1) {
      return Dataset(std::make_shared<detail::ParallelMapNode>(node_, std::move(function), spec, options.num_parallel_calls));
    }
    return Dataset(std::make_shared<detail::MapNode>(node_, std::move(function), std::move(spec), options.stateful));
  }

  /// The elements of the datasets that `function` makes of each element, in turns, in the order of `tf.data`. Where those shuffle they need
  /// a seed; one and the same gives each of them another order.
  [[nodiscard]] Dataset interleave(std::function<Dataset(const Element& element)> function, InterleaveOptions options = {}) const {
    const ElementSpec spec = options.element_spec ? *options.element_spec : element_spec();
    auto node_of = [function = std::move(function)](const Element& element) { return function(element).node_; };
    return Dataset(std::make_shared<detail::InterleaveNode>(node_, std::move(node_of), spec, options.cycle_length, options.block_length));
  }

  /// The elements of the datasets that `function` makes of each element, one dataset after the other.
  [[nodiscard]] Dataset flat_map(std::function<Dataset(const Element& element)> function,
                                 std::optional<ElementSpec> element_spec = {}) const {
    return interleave(std::move(function), {.cycle_length = 1, .block_length = 1, .element_spec = std::move(element_spec)});
  }

  /// The elements for which `predicate` is true.
  [[nodiscard]] Dataset filter(FilterFunction predicate, FilterOptions options = {}) const {
    return Dataset(std::make_shared<detail::FilterNode>(node_, std::move(predicate), options.stateful));
  }

  /// Random order: each element is drawn from a buffer of the next `buffer_size`. Without a seed an iterator draws one, which its state
  /// holds.
  [[nodiscard]] Dataset shuffle(std::int64_t buffer_size, std::optional<std::uint64_t> seed = {}, ShuffleOptions options = {}) const {
    return Dataset(std::make_shared<detail::ShuffleNode>(node_, buffer_size, seed, options.reshuffle_each_iteration));
  }

  /// Everything `count` times; for ever without a count, or for a negative one.
  [[nodiscard]] Dataset repeat(std::int64_t count = -1) const { return Dataset(std::make_shared<detail::RepeatNode>(node_, count)); }

  /// `batch_size` elements as one with a leading dimension.
  [[nodiscard]] Dataset batch(std::int64_t batch_size, BatchOptions options = {}) const {
    return Dataset(std::make_shared<detail::BatchNode>(node_, detail::BatchSize{batch_size, options.drop_remainder}));
  }

  /// The first `count` elements; all of them for a negative count.
  [[nodiscard]] Dataset take(std::int64_t count) const { return Dataset(std::make_shared<detail::TakeNode>(node_, count)); }

  /// All but the first `count` elements; none of them for a negative count.
  [[nodiscard]] Dataset skip(std::int64_t count) const { return Dataset(std::make_shared<detail::SkipNode>(node_, count)); }

  /// Every `num_shards`-th element, beginning with number `index`: one worker's part of the data.
  [[nodiscard]] Dataset shard(std::int64_t num_shards, std::int64_t index) const {
    return Dataset(std::make_shared<detail::ShardNode>(node_, num_shards, index));
  }

  /// These elements, then those of `dataset`.
  [[nodiscard]] Dataset concatenate(const Dataset& dataset) const {
    return Dataset(std::make_shared<detail::ConcatenateNode>(node_, dataset.node_));
  }

  /// A thread of each iterator's own keeps up to `buffer_size` elements ready.
  [[nodiscard]] Dataset prefetch(std::int64_t buffer_size) const {
    return Dataset(std::make_shared<detail::PrefetchNode>(node_, buffer_size));
  }

  /// Dtypes and shapes of an element's components.
  [[nodiscard]] const ElementSpec& element_spec() const noexcept { return node_->spec(); }

  /// How many elements there are, `kInfiniteCardinality` or `kUnknownCardinality`.
  [[nodiscard]] std::int64_t cardinality() const { return node_->cardinality(); }

  /// A line for each stage whose state a checkpoint would miss; empty for most pipelines.
  [[nodiscard]] std::vector<std::string> external_state() const {
    std::vector<std::string> found;
    node_->add_external_state(found);
    return found;
  }

  [[nodiscard]] DatasetIterator make_iterator() const { return DatasetIterator(node_); }

  /// For stages outside of this class.
  [[nodiscard]] const detail::NodePtr& node() const noexcept { return node_; }

 private:
  detail::NodePtr node_;
};

}  // namespace trainhook
