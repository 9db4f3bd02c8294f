// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/dataset.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/selection.hpp>
#include <trainhook/data/shuffle.hpp>
#include <trainhook/data/sources.hpp>
#include <trainhook/data/stages.hpp>

namespace trainhook {

const ElementSpec& Dataset::element_spec() const noexcept { return node_->spec(); }

std::int64_t Dataset::cardinality() const { return node_->cardinality(); }

Dataset Dataset::from_tensors(Element element) {
  const std::optional<detail::SourceDigest> digest = detail::digest_of_strings(element);
  return Dataset(
      std::make_shared<detail::RowSourceNode>(std::make_shared<detail::SingleRow>(std::move(element)), digest));
}

Dataset Dataset::from_tensor_slices(Element tensors) {
  const std::optional<detail::SourceDigest> digest = detail::digest_of_strings(tensors);
  return Dataset(
      std::make_shared<detail::RowSourceNode>(std::make_shared<detail::SliceRows>(std::move(tensors)), digest));
}

Dataset Dataset::range(std::int64_t begin, std::int64_t end, std::int64_t step) {
  return from_rows(std::make_shared<detail::RangeRows>(begin, end, step));
}

Dataset Dataset::from_function(std::int64_t size, ElementSpec spec,
                               std::function<Element(std::int64_t index)> function) {
  return from_rows(std::make_shared<detail::FunctionRows>(size, std::move(spec), std::move(function)));
}

Dataset Dataset::from_function(std::int64_t size, std::function<Element(std::int64_t index)> function) {
  if (size < 1) throw InvalidArgumentError("from_function: a dataset without elements needs a spec; pass one");
  ElementSpec spec = spec_of(function(0));
  return from_function(size, std::move(spec), std::move(function));
}

Dataset Dataset::from_rows(std::shared_ptr<const RowSource> rows) {
  return Dataset(std::make_shared<detail::RowSourceNode>(std::move(rows)));
}

Dataset Dataset::from_generator(ElementSpec spec, std::function<Generator()> make, std::string name) {
  return Dataset(std::make_shared<detail::GeneratorNode>(std::move(spec), std::move(make), std::move(name)));
}

Dataset Dataset::zip(const std::vector<Dataset>& datasets) {
  std::vector<detail::NodePtr> nodes;
  for (const Dataset& dataset : datasets) nodes.push_back(dataset.node_);
  return Dataset(std::make_shared<detail::ZipNode>(std::move(nodes)));
}

Dataset Dataset::map(MapFunction function, MapOptions options) const {
  ElementSpec spec = options.element_spec ? *options.element_spec : element_spec();
  if (options.num_parallel_calls < 1 || (options.stateful && options.num_parallel_calls > 1)) {
    throw InvalidArgumentError("map: num_parallel_calls {} is not positive, or above 1 for a stateful function",
                               options.num_parallel_calls);
  }
  if (options.num_parallel_calls > 1) {
    return Dataset(
        std::make_shared<detail::ParallelMapNode>(node_, std::move(function), spec, options.num_parallel_calls));
  }
  return Dataset(std::make_shared<detail::MapNode>(node_, std::move(function), std::move(spec), options.stateful));
}

Dataset Dataset::interleave(std::function<Dataset(const Element& element)> function, InterleaveOptions options) const {
  const ElementSpec spec = options.element_spec ? *options.element_spec : element_spec();
  auto node_of = [function = std::move(function)](const Element& element) { return function(element).node_; };
  return Dataset(std::make_shared<detail::InterleaveNode>(node_, std::move(node_of), spec, options.cycle_length,
                                                          options.block_length));
}

Dataset Dataset::flat_map(std::function<Dataset(const Element& element)> function,
                          std::optional<ElementSpec> element_spec) const {
  return interleave(std::move(function),
                    {.cycle_length = 1, .block_length = 1, .element_spec = std::move(element_spec)});
}

Dataset Dataset::filter(FilterFunction predicate, FilterOptions options) const {
  return Dataset(std::make_shared<detail::FilterNode>(node_, std::move(predicate), options.stateful));
}

Dataset Dataset::shuffle(std::int64_t buffer_size, std::optional<std::uint64_t> seed, ShuffleOptions options) const {
  return Dataset(std::make_shared<detail::ShuffleNode>(node_, buffer_size, seed, options.reshuffle_each_iteration));
}

Dataset Dataset::repeat(std::int64_t count) const {
  return Dataset(std::make_shared<detail::RepeatNode>(node_, count));
}

Dataset Dataset::batch(std::int64_t batch_size, BatchOptions options) const {
  return Dataset(std::make_shared<detail::BatchNode>(node_, detail::BatchSize{batch_size, options.drop_remainder}));
}

Dataset Dataset::take(std::int64_t count) const { return Dataset(std::make_shared<detail::TakeNode>(node_, count)); }

Dataset Dataset::skip(std::int64_t count) const { return Dataset(std::make_shared<detail::SkipNode>(node_, count)); }

Dataset Dataset::shard(std::int64_t num_shards, std::int64_t index) const {
  return Dataset(std::make_shared<detail::ShardNode>(node_, num_shards, index));
}

Dataset Dataset::concatenate(const Dataset& dataset) const {
  return Dataset(std::make_shared<detail::ConcatenateNode>(node_, dataset.node_));
}

Dataset Dataset::prefetch(std::int64_t buffer_size) const {
  return Dataset(std::make_shared<detail::PrefetchNode>(node_, buffer_size));
}

Dataset Dataset::allow_changed_sources() const {
  return Dataset(std::make_shared<detail::AllowChangedSourcesNode>(node_));
}

std::vector<std::string> Dataset::external_state() const {
  std::vector<std::string> found;
  node_->add_external_state(found);
  return found;
}

}  // namespace trainhook
