// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/stages.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/data/iterator_state.hpp>
#include <trainhook/data/sources.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

std::int64_t BatchSize::batches(std::int64_t elements) const noexcept {
  return elements / size + (drop_remainder || elements % size == 0 ? 0 : 1);
}

/// Whole batches of a source as rows of their own, so that batches can be shuffled by number.
class BatchRows final : public BasicRows {
 public:
  BatchRows(std::shared_ptr<const RowSource> rows, ElementSpec spec, BatchSize batch)
      : BasicRows(batch.batches(rows->size()), std::move(spec)), rows_(std::move(rows)), batch_(batch) {}
  [[nodiscard]] std::string describe() const override {
    return fmt::format("batch({}) of {}", batch_.size, rows_->describe());
  }

  void read(std::int64_t index, Element& row) const override {
    const std::int64_t first = index * batch_.size;
    std::vector<std::int64_t> indices(static_cast<std::size_t>((std::min)(batch_.size, rows_->size() - first)));
    std::iota(indices.begin(), indices.end(), first);
    rows_->gather(indices, row);
  }

 private:
  std::shared_ptr<const RowSource> rows_;
  BatchSize batch_;
};

/// Base of the two ways to make batches.
template <class Item>
class BatchStream : public ElementStream {
 public:
  BatchStream(std::unique_ptr<Stream<Item>> input, BatchSize batch) : input_(std::move(input)), batch_(batch) {}

  bool next(Element& element) override {
    const auto size = static_cast<std::size_t>(batch_.size);
    std::size_t count = 0;
    for (; count < size; ++count) {
      if (count == items_.size())
        items_.emplace_back();  // grows with the data: a large batch size alone takes no memory
      if (!input_->next(items_[count])) break;
    }
    if (count == 0 || (count < size && batch_.drop_remainder)) return false;
    combine(std::span<const Item>(items_.data(), count), element);
    return true;
  }
  std::int64_t advance(std::int64_t count) override {
    std::int64_t wanted = 0;
    if (__builtin_mul_overflow(count, batch_.size, &wanted)) wanted = INT64_MAX;
    return batch_.batches(input_->advance(wanted));
  }
  void save(StateWriter& writer) override { input_->save(writer); }
  void restore(StateReader& reader) override { input_->restore(reader); }

 protected:
  virtual void combine(std::span<const Item> items, Element& batch) = 0;

 private:
  std::unique_ptr<Stream<Item>> input_;
  BatchSize batch_;
  std::vector<Item> items_;
};

class GatheringBatchStream final : public BatchStream<std::int64_t> {
 public:
  GatheringBatchStream(std::shared_ptr<const RowSource> rows, std::unique_ptr<IndexStream> indices, BatchSize batch)
      : BatchStream(std::move(indices), batch), rows_(std::move(rows)) {}

 private:
  void combine(std::span<const std::int64_t> items, Element& batch) override { rows_->gather(items, batch); }
  std::shared_ptr<const RowSource> rows_;
};

class StackingBatchStream final : public BatchStream<Element> {
 public:
  using BatchStream::BatchStream;

 private:
  void combine(std::span<const Element> items, Element& batch) override { stack(items, batch); }
};

BatchNode::BatchNode(NodePtr input, BatchSize batch)
    : DatasetNode({input}, batched(input->spec(), batch)), batch_(batch) {
  if (input->is_source()) rows_ = std::make_shared<BatchRows>(input->rows(), spec(), batch);
}

std::string BatchNode::describe() const {
  return fmt::format("batch({}{}", batch_.size, batch_.drop_remainder ? ", drop_remainder)" : ")");
}

std::int64_t BatchNode::cardinality() const {
  const std::int64_t before = inputs()[0]->cardinality();
  return before < 0 ? before : batch_.batches(before);
}

std::unique_ptr<IndexStream> BatchNode::indices(const Pass&) const {
  return std::make_unique<CountingStream>(rows_->size());
}

std::unique_ptr<ElementStream> BatchNode::elements(const Pass& pass) const {
  const DatasetNode& input = *inputs()[0];
  if (auto rows = input.rows())
    return std::make_unique<GatheringBatchStream>(std::move(rows), input.indices(pass.input()), batch_);
  return std::make_unique<StackingBatchStream>(input.elements(pass.input()), batch_);
}

ElementSpec BatchNode::batched(const ElementSpec& spec, BatchSize batch) {
  if (batch.size < 1) throw InvalidArgumentError("batch: batch_size {} is not positive", batch.size);
  ElementSpec result = spec;
  for (OutputSpec& component : result) {
    if (!component.shape.has_rank()) continue;
    std::vector<std::int64_t> dims{batch.drop_remainder ? batch.size : kUnknownDim};
    dims.insert(dims.end(), component.shape.dims().begin(), component.shape.dims().end());
    component.shape = PartialShape(dims);
  }
  return result;
}

}  // namespace trainhook::detail
