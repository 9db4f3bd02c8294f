// SPDX-License-Identifier: Apache-2.0
/// @file
/// The larger stages of a pipeline, each with a body of its own: batches, interleaving, maps on several threads,
/// prefetching.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/functional.hpp>

namespace trainhook::detail {

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
#include <trainhook/data/impl/interleave.ipp>
#include <trainhook/data/impl/parallel_map.ipp>
#include <trainhook/data/impl/prefetch.ipp>
#endif
