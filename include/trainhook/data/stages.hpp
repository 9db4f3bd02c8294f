// SPDX-License-Identifier: Apache-2.0
/// @file
/// The stages of a pipeline that compute: map, filter, zip, batches, interleaving, maps on several threads,
/// prefetching.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

struct MapCall {
  MapFunction function;
  ElementSpec spec;

  [[nodiscard]] TRAINHOOK_DECL Element operator()(Element element) const;
};

class MapNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL MapNode(NodePtr input, MapFunction function, ElementSpec spec, bool stateful);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] std::int64_t cardinality() const override { return inputs()[0]->cardinality(); }
  [[nodiscard]] std::shared_ptr<const RowSource> rows() const override { return rows_; }
  [[nodiscard]] TRAINHOOK_DECL bool is_source() const override;
  [[nodiscard]] TRAINHOOK_DECL bool can_advance() const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<IndexStream> indices(const Pass& pass) const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;
  TRAINHOOK_DECL void add_external_state(std::vector<std::string>& found) const override;

 private:
  std::shared_ptr<const MapCall> call_;
  bool stateful_;
  std::shared_ptr<const RowSource> rows_;
};

/// Passes on the items for which the predicate is true. If the items are row numbers, it fetches each row to decide.
template <class Item>
class FilterStream final : public Stream<Item> {
 public:
  FilterStream(std::unique_ptr<Stream<Item>> input, std::shared_ptr<const RowSource> rows,
               std::shared_ptr<const FilterFunction> predicate)
      : input_(std::move(input)), rows_(std::move(rows)), predicate_(std::move(predicate)) {}

  bool next(Item& item) override {
    while (input_->next(item)) {
      if constexpr (std::same_as<Item, Element>) {
        if ((*predicate_)(item)) return true;
      } else {
        rows_->read(item, row_);
        if ((*predicate_)(row_)) return true;
      }
    }
    return false;
  }
  void save(StateWriter& writer) override { input_->save(writer); }
  void restore(StateReader& reader) override { input_->restore(reader); }

 private:
  std::unique_ptr<Stream<Item>> input_;
  std::shared_ptr<const RowSource> rows_;
  std::shared_ptr<const FilterFunction> predicate_;
  Element row_;
};

class FilterNode final : public SelectingNode<FilterNode> {
 public:
  TRAINHOOK_DECL FilterNode(NodePtr input, FilterFunction predicate, bool stateful);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  [[nodiscard]] bool can_advance() const override { return false; }
  TRAINHOOK_DECL void add_external_state(std::vector<std::string>& found) const override;
  template <class Item>
  [[nodiscard]] std::unique_ptr<Stream<Item>> stream(const Pass& pass) const {
    return std::make_unique<FilterStream<Item>>(open<Item>(input(), pass.input()), rows(), predicate_);
  }

 private:
  std::shared_ptr<const FilterFunction> predicate_;
  bool stateful_;
};

class ZipNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL explicit ZipNode(std::vector<NodePtr> inputs);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  [[nodiscard]] std::shared_ptr<const RowSource> rows() const override { return rows_; }
  [[nodiscard]] bool is_source() const override { return rows_ != nullptr; }
  [[nodiscard]] TRAINHOOK_DECL bool can_advance() const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<IndexStream> indices(const Pass&) const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  TRAINHOOK_DECL static ElementSpec joined(const std::vector<NodePtr>& inputs);
  std::shared_ptr<const RowSource> rows_;
};

struct BatchSize {
  std::int64_t size;
  bool drop_remainder;

  /// Returns the number of batches for `elements` elements.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t batches(std::int64_t elements) const noexcept;
};

/// Gathers rows directly from a source that has them, and stacks elements otherwise.
class BatchNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL BatchNode(NodePtr input, BatchSize batch);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  [[nodiscard]] std::shared_ptr<const RowSource> rows() const override { return rows_; }
  [[nodiscard]] bool is_source() const override { return rows_ != nullptr; }
  [[nodiscard]] bool can_advance() const override { return inputs()[0]->can_advance(); }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<IndexStream> indices(const Pass&) const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  TRAINHOOK_DECL static ElementSpec batched(const ElementSpec& spec, BatchSize batch);

  BatchSize batch_;
  std::shared_ptr<const RowSource> rows_;
};

struct InterleaveCall {
  std::function<NodePtr(const Element& element)> function;
  ElementSpec spec;
  std::size_t cycle_length;
  std::int64_t block_length;
};

/// A function makes a dataset of every element, and several of these datasets take turns.
class InterleaveNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL InterleaveNode(NodePtr input, std::function<NodePtr(const Element&)> function, const ElementSpec& spec,
                                std::int64_t cycle_length, std::int64_t block_length);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  std::shared_ptr<const InterleaveCall> call_;
};

/// Map on several threads, which keeps the order.
class ParallelMapNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL ParallelMapNode(NodePtr input, MapFunction function, const ElementSpec& spec,
                                 std::int64_t num_parallel_calls);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] std::int64_t cardinality() const override { return inputs()[0]->cardinality(); }
  [[nodiscard]] bool can_advance() const override { return inputs()[0]->can_advance(); }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  std::shared_ptr<const MapCall> call_;
  std::size_t threads_;
};

/// A thread computes elements ahead of their use.
class PrefetchNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL PrefetchNode(NodePtr input, std::int64_t buffer_size);
  /// Without the buffer size, so that it may change between runs.
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] std::int64_t cardinality() const override { return inputs()[0]->cardinality(); }
  [[nodiscard]] bool can_advance() const override { return inputs()[0]->can_advance(); }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  std::int64_t buffer_size_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/batch.ipp>
#include <trainhook/data/impl/functional.ipp>
#include <trainhook/data/impl/interleave.ipp>
#include <trainhook/data/impl/parallel_map.ipp>
#include <trainhook/data/impl/prefetch.ipp>
#endif
