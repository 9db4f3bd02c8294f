// SPDX-License-Identifier: Apache-2.0
/// @file
/// The stages take, skip, shard, repeat, concatenate and allow_changed_sources.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

template <class Item>
class TakeStream final : public Stream<Item> {
 public:
  TakeStream(std::unique_ptr<Stream<Item>> input, std::int64_t count) : input_(std::move(input)), count_(count) {}

  bool next(Item& item) override {
    if (taken_ >= count_ || !input_->next(item)) return false;
    ++taken_;
    return true;
  }
  std::int64_t advance(std::int64_t count) override {
    const std::int64_t done = input_->advance((std::min)(count, count_ - taken_));
    taken_ += done;
    return done;
  }
  void save(StateWriter& writer) override {
    writer.integer(static_cast<std::uint64_t>(taken_));
    input_->save(writer);
  }
  void restore(StateReader& reader) override {
    taken_ = reader.position("the count of take", count_);
    input_->restore(reader);
  }

 private:
  std::unique_ptr<Stream<Item>> input_;
  std::int64_t count_;
  std::int64_t taken_ = 0;
};

/// The first elements; all of them for a negative count.
class TakeNode final : public SelectingNode<TakeNode> {
 public:
  TRAINHOOK_DECL TakeNode(NodePtr input, std::int64_t count);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  template <class Item>
  [[nodiscard]] std::unique_ptr<Stream<Item>> stream(const Pass& pass) const {
    return std::make_unique<TakeStream<Item>>(open<Item>(input(), pass.input()), count_);
  }

 private:
  std::int64_t count_;
};

/// Skips `first` elements, then passes on every `stride`-th one.
template <class Item>
class StrideStream final : public Stream<Item> {
 public:
  StrideStream(std::unique_ptr<Stream<Item>> input, std::int64_t first, std::int64_t stride)
      : input_(std::move(input)), gap_(first), stride_(stride) {}

  bool next(Item& item) override {
    if (gap_ > 0 && input_->advance(gap_) < gap_) return false;
    gap_ = 0;
    if (!input_->next(item)) return false;
    gap_ = stride_ - 1;
    return true;
  }
  std::int64_t advance(std::int64_t count) override {
    if (stride_ != 1) return Stream<Item>::advance(count);
    if (gap_ > 0 && input_->advance(gap_) < gap_) return 0;
    gap_ = 0;
    return input_->advance(count);
  }
  void save(StateWriter& writer) override {
    writer.integer(static_cast<std::uint64_t>(gap_));
    input_->save(writer);
  }
  void restore(StateReader& reader) override {
    gap_ = reader.position("the gap to the next element", (std::max)(gap_, stride_ - 1));
    input_->restore(reader);
  }

 private:
  std::unique_ptr<Stream<Item>> input_;
  std::int64_t gap_;  // elements of the input to drop before the next one
  std::int64_t stride_;
};

/// All but the first elements; none for a negative count.
class SkipNode final : public SelectingNode<SkipNode> {
 public:
  TRAINHOOK_DECL SkipNode(NodePtr input, std::int64_t count);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  template <class Item>
  [[nodiscard]] std::unique_ptr<Stream<Item>> stream(const Pass& pass) const {
    return std::make_unique<StrideStream<Item>>(open<Item>(input(), pass.input()), count_, 1);
  }

 private:
  std::int64_t count_;
};

/// One of several disjoint parts: the elements whose number modulo `num_shards` is `index`.
class ShardNode final : public SelectingNode<ShardNode> {
 public:
  TRAINHOOK_DECL ShardNode(NodePtr input, std::int64_t num_shards, std::int64_t index);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  template <class Item>
  [[nodiscard]] std::unique_ptr<Stream<Item>> stream(const Pass& pass) const {
    return std::make_unique<StrideStream<Item>>(open<Item>(input(), pass.input()), index_, num_shards_);
  }

 private:
  std::int64_t num_shards_, index_;
};

template <class Item>
class RepeatStream final : public Stream<Item> {
 public:
  RepeatStream(NodePtr input, const Pass& pass, std::int64_t count)
      : input_(std::move(input)), pass_(pass), count_(count) {}

  bool next(Item& item) override {
    while (open_epoch()) {
      if (stream_->next(item)) return gave_some_ = true;
      close_epoch();
    }
    return false;
  }
  std::int64_t advance(std::int64_t count) override {
    std::int64_t done = 0;
    while (done < count && open_epoch()) {
      const std::int64_t now = stream_->advance(count - done);
      done += now;
      gave_some_ = gave_some_ || now > 0;
      if (done < count) close_epoch();
    }
    return done;
  }
  void save(StateWriter& writer) override {
    writer.integer(epoch_);
    writer.boolean(gave_some_);
    writer.boolean(ended_);
    writer.boolean(stream_ != nullptr);
    if (stream_ != nullptr) stream_->save(writer);
  }
  void restore(StateReader& reader) override {
    epoch_ = reader.integer("the epoch", count_ < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(count_));
    gave_some_ = reader.boolean("whether the epoch has begun");
    ended_ = reader.boolean("the end of repeat");
    if (!reader.boolean("whether an epoch is open")) return;
    if (!open_epoch()) reader.fail("repeat is at its end and in an epoch as well");
    stream_->restore(reader);
  }

 private:
  bool open_epoch() {
    if (ended_ || (count_ >= 0 && epoch_ >= static_cast<std::uint64_t>(count_))) return false;
    if (stream_ == nullptr) stream_ = open<Item>(*input_, pass_.repetition(epoch_));
    return true;
  }
  void close_epoch() {
    stream_.reset();
    ended_ = count_ < 0 && !gave_some_;  // repeating an empty input would never return
    gave_some_ = false;
    ++epoch_;
  }

  NodePtr input_;
  Pass pass_;
  std::int64_t count_;
  std::uint64_t epoch_ = 0;
  bool gave_some_ = false;
  bool ended_ = false;
  std::unique_ptr<Stream<Item>> stream_;
};

/// Repeats all elements `count` times; endlessly if it is negative.
class RepeatNode final : public SelectingNode<RepeatNode> {
 public:
  TRAINHOOK_DECL RepeatNode(NodePtr input, std::int64_t count);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  template <class Item>
  [[nodiscard]] std::unique_ptr<Stream<Item>> stream(const Pass& pass) const {
    return std::make_unique<RepeatStream<Item>>(input_ptr(), pass, count_);
  }

 private:
  std::int64_t count_;
};

template <class Item>
class ConcatenateStream final : public Stream<Item> {
 public:
  /// `offset` is added to the second input's row numbers.
  ConcatenateStream(std::unique_ptr<Stream<Item>> first, std::unique_ptr<Stream<Item>> second, std::int64_t offset)
      : first_(std::move(first)), second_(std::move(second)), offset_(offset) {}

  bool next(Item& item) override {
    if (!first_ended_ && first_->next(item)) return true;
    first_ended_ = true;
    if (!second_->next(item)) return false;
    if constexpr (std::same_as<Item, std::int64_t>) item += offset_;
    return true;
  }
  std::int64_t advance(std::int64_t count) override {
    const std::int64_t done = first_ended_ ? 0 : first_->advance(count);
    if (done == count) return done;
    first_ended_ = true;
    return done + second_->advance(count - done);
  }
  void save(StateWriter& writer) override {
    writer.boolean(first_ended_);
    first_->save(writer);
    second_->save(writer);
  }
  void restore(StateReader& reader) override {
    first_ended_ = reader.boolean("which input concatenate reads");
    first_->restore(reader);
    second_->restore(reader);
  }

 private:
  std::unique_ptr<Stream<Item>> first_, second_;
  std::int64_t offset_;
  bool first_ended_ = false;
};

/// One dataset after another.
class ConcatenateNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL ConcatenateNode(NodePtr first, NodePtr second);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  [[nodiscard]] TRAINHOOK_DECL bool can_advance() const override;
  [[nodiscard]] TRAINHOOK_DECL bool is_source() const override;
  [[nodiscard]] std::shared_ptr<const RowSource> rows() const override { return rows_; }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<IndexStream> indices(const Pass& pass) const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  template <class Item>
  [[nodiscard]] std::unique_ptr<Stream<Item>> stream(const Pass& pass, std::int64_t offset) const {
    return std::make_unique<ConcatenateStream<Item>>(open<Item>(*inputs()[0], pass.input(0)),
                                                     open<Item>(*inputs()[1], pass.input(1)), offset);
  }
  TRAINHOOK_DECL static ElementSpec merged_spec(const ElementSpec& a, const ElementSpec& b);
  TRAINHOOK_DECL static PartialShape common_shape(const PartialShape& a, const PartialShape& b);

  std::shared_ptr<const RowSource> rows_;
};

/// Passes its input on unchanged.
class AllowChangedSourcesNode final : public DatasetNode {
 public:
  explicit AllowChangedSourcesNode(const NodePtr& input) : DatasetNode({input}, input->spec()) {}
  [[nodiscard]] bool allows_changed_sources() const override { return true; }
  [[nodiscard]] std::string describe() const override { return {}; }
  [[nodiscard]] std::int64_t cardinality() const override { return input().cardinality(); }
  [[nodiscard]] std::unique_ptr<ElementStream> elements(const Pass& pass) const override {
    return input().elements(pass);
  }
  [[nodiscard]] std::shared_ptr<const RowSource> rows() const override { return input().rows(); }
  [[nodiscard]] std::unique_ptr<IndexStream> indices(const Pass& pass) const override { return input().indices(pass); }
  [[nodiscard]] bool is_source() const override { return input().is_source(); }
  [[nodiscard]] bool can_advance() const override { return input().can_advance(); }

 private:
  [[nodiscard]] const DatasetNode& input() const noexcept { return *inputs()[0]; }
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/selection.ipp>
#endif
