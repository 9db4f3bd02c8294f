// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shuffling through a buffer, of row numbers if the source has random access, or else of contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/random.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

/// Keeps the buffer full and returns a random item of it. The order depends only on seed and epoch, on every platform.
template <class Item>
class ShuffleStream final : public Stream<Item> {
 public:
  ShuffleStream(std::unique_ptr<Stream<Item>> input, const DatasetNode& node, std::int64_t buffer_size,
                std::uint64_t seed, std::uint64_t epoch)
      : input_(std::move(input)),
        spec_(node.spec()),
        rows_(node.rows()),
        buffer_size_(static_cast<std::size_t>(buffer_size)),
        random_(seed, epoch) {}

  bool next(Item& item) override {
    Item incoming{};
    while (!input_ended_ && buffer_.size() < buffer_size_) {
      if (input_->next(incoming)) {
        buffer_.push_back(std::move(incoming));
      } else {
        input_ended_ = true;
      }
    }
    if (buffer_.empty()) return false;
    std::swap(buffer_[static_cast<std::size_t>(random_.uniform_below(buffer_.size()))], buffer_.back());
    item = std::move(buffer_.back());
    buffer_.pop_back();
    return true;
  }
  void save(StateWriter& writer) override {
    writer.integer(random_.state().position);
    writer.boolean(input_ended_);
    if constexpr (std::same_as<Item, Element>) {
      writer.integer(buffer_.size());
      for (const Element& element : buffer_) writer.element(element);
    } else {
      writer.integers(buffer_);
    }
    input_->save(writer);
  }
  void restore(StateReader& reader) override {
    PhiloxState state = random_.state();
    state.position = reader.integer("the position of shuffle's generator");
    random_.set_state(state);
    input_ended_ = reader.boolean("the end of shuffle's input");
    if constexpr (std::same_as<Item, Element>) {
      const std::uint64_t count = reader.integer("the fill of shuffle's buffer", buffer_size_);
      for (std::uint64_t i = 0; i < count; ++i) buffer_.push_back(reader.element(spec_));
    } else {
      buffer_ = reader.integers("shuffle's buffer", buffer_size_, rows_->size());
    }
    input_->restore(reader);
  }

 private:
  std::unique_ptr<Stream<Item>> input_;
  ElementSpec spec_;
  std::shared_ptr<const RowSource> rows_;
  std::size_t buffer_size_;
  PhiloxGenerator random_;
  std::vector<Item> buffer_;
  bool input_ended_ = false;
};

class ShuffleNode final : public SelectingNode<ShuffleNode> {
 public:
  TRAINHOOK_DECL ShuffleNode(NodePtr input, std::int64_t buffer_size, std::optional<std::uint64_t> seed,
                             bool reshuffle_each_iteration);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] std::int64_t cardinality() const override { return input().cardinality(); }
  [[nodiscard]] bool needs_entropy() const override { return !seed_ || SelectingNode::needs_entropy(); }

  /// Contents must be read into the buffer before they are dropped; row numbers need not.
  [[nodiscard]] TRAINHOOK_DECL bool can_advance() const override;

  template <class Item>
  [[nodiscard]] std::unique_ptr<Stream<Item>> stream(const Pass& pass) const {
    const std::uint64_t seed = seed_ ? *seed_ : derive_seed(pass.entropy, pass.path);
    return std::make_unique<ShuffleStream<Item>>(open<Item>(input(), pass.input()), *this, buffer_size_, seed,
                                                 reshuffle_ ? pass.epoch : 0);
  }

 private:
  std::int64_t buffer_size_;
  std::optional<std::uint64_t> seed_;
  bool reshuffle_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/shuffle.ipp>
#endif
