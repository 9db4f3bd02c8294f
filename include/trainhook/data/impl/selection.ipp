// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/selection.hpp>

#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/sources.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

TakeNode::TakeNode(NodePtr input, std::int64_t count)
    : SelectingNode(std::move(input)), count_(count < 0 ? INT64_MAX : count) {}

std::string TakeNode::describe() const { return fmt::format("take({})", count_); }

std::int64_t TakeNode::cardinality() const {
  const std::int64_t before = input().cardinality();
  if (count_ == INT64_MAX || before == kUnknownCardinality) return before;
  return before == kInfiniteCardinality ? count_ : (std::min)(before, count_);
}

SkipNode::SkipNode(NodePtr input, std::int64_t count)
    : SelectingNode(std::move(input)), count_(count < 0 ? INT64_MAX : count) {}

std::string SkipNode::describe() const { return fmt::format("skip({})", count_); }

std::int64_t SkipNode::cardinality() const {
  const std::int64_t before = input().cardinality();
  return before < 0 ? before : (std::max)(std::int64_t{0}, before - count_);
}

ShardNode::ShardNode(NodePtr input, std::int64_t num_shards, std::int64_t index)
    : SelectingNode(std::move(input)), num_shards_(num_shards), index_(index) {
  if (num_shards < 1 || index < 0 || index >= num_shards) {
    throw InvalidArgumentError("shard: index {} is not one of {} shards, which count from 0", index, num_shards);
  }
}

std::string ShardNode::describe() const { return fmt::format("shard({}, {})", num_shards_, index_); }

std::int64_t ShardNode::cardinality() const {
  const std::int64_t before = input().cardinality();
  return before < 0 ? before : before / num_shards_ + (index_ < before % num_shards_ ? 1 : 0);
}

RepeatNode::RepeatNode(NodePtr input, std::int64_t count)
    : SelectingNode(std::move(input)), count_(count < 0 ? -1 : count) {}

std::string RepeatNode::describe() const { return fmt::format("repeat({})", count_); }

std::int64_t RepeatNode::cardinality() const {
  const std::int64_t before = input().cardinality();
  if (before == 0 || count_ == 0) return 0;
  if (before == kUnknownCardinality) return before;
  std::int64_t product = 0;
  if (before < 0 || count_ < 0 || __builtin_mul_overflow(before, count_, &product)) return kInfiniteCardinality;
  return product;
}

/// The rows of one source, then those of another.
class ConcatenatedRows final : public BasicRows {
 public:
  ConcatenatedRows(std::shared_ptr<const RowSource> first, std::shared_ptr<const RowSource> second, ElementSpec spec)
      : BasicRows(first->size() + second->size(), std::move(spec)),
        first_(std::move(first)),
        second_(std::move(second)) {}
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{}+{}", first_->describe(), second_->describe());
  }

  void read(std::int64_t index, Element& row) const override {
    if (index < first_->size()) {
      first_->read(index, row);
    } else {
      second_->read(index - first_->size(), row);
    }
  }

 private:
  std::shared_ptr<const RowSource> first_, second_;
};

ConcatenateNode::ConcatenateNode(NodePtr first, NodePtr second)
    : DatasetNode({first, second}, merged_spec(first->spec(), second->spec())) {
  const std::shared_ptr<const RowSource> a = first->rows(), b = second->rows();
  if (a != nullptr && b != nullptr && a->size() <= INT64_MAX - b->size())
    rows_ = std::make_shared<ConcatenatedRows>(a, b, spec());
}

std::string ConcatenateNode::describe() const { return "concatenate"; }

std::int64_t ConcatenateNode::cardinality() const {
  const std::int64_t a = inputs()[0]->cardinality(), b = inputs()[1]->cardinality();
  if (a == kInfiniteCardinality || b == kInfiniteCardinality) return kInfiniteCardinality;
  return a < 0 || b < 0 || a > INT64_MAX - b ? kUnknownCardinality : a + b;
}

bool ConcatenateNode::can_advance() const { return inputs()[0]->can_advance() && inputs()[1]->can_advance(); }

bool ConcatenateNode::is_source() const {
  return rows_ != nullptr && inputs()[0]->is_source() && inputs()[1]->is_source();
}

std::unique_ptr<IndexStream> ConcatenateNode::indices(const Pass& pass) const {
  return stream<std::int64_t>(pass, inputs()[0]->rows()->size());
}

std::unique_ptr<ElementStream> ConcatenateNode::elements(const Pass& pass) const {
  if (rows_ != nullptr) return std::make_unique<RowStream>(rows_, indices(pass));
  return stream<Element>(pass, 0);
}

ElementSpec ConcatenateNode::merged_spec(const ElementSpec& a, const ElementSpec& b) {
  ElementSpec merged = a;
  for (std::size_t i = 0; i < a.size() || i < b.size(); ++i) {
    if (a.size() != b.size() || a[i].dtype != b[i].dtype) {
      throw InvalidArgumentError("concatenate: elements {} and {} do not fit behind each other", spec_to_string(a),
                                 spec_to_string(b));
    }
    if (!(a[i].shape == b[i].shape)) merged[i].shape = common_shape(a[i].shape, b[i].shape);
  }
  return merged;
}

PartialShape ConcatenateNode::common_shape(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return {};
  std::vector<std::int64_t> dims(a.dims().begin(), a.dims().end());
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = dims[i] == b[i] ? dims[i] : kUnknownDim;
  return PartialShape(dims);
}

}  // namespace trainhook::detail
