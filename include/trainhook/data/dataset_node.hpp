// SPDX-License-Identifier: Apache-2.0
/// @file
/// DatasetNode and Stream: the immutable nodes of a dataset, and the passes over them.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook {

namespace detail {

/// One pass over a node. `Item` is an Element, or a row number if the node only selects and orders the rows of a
/// RowSource: shuffling and skipping then move numbers, and contents are fetched once at the end.
template <class Item>
class Stream {
 public:
  virtual ~Stream() = default;

  /// Returns false at the end and in all later calls.
  virtual bool next(Item& item) = 0;

  /// Drops up to `count` items and returns how many it dropped.
  virtual std::int64_t advance(std::int64_t count) {
    Item dropped{};
    std::int64_t done = 0;
    while (done < count && next(dropped)) ++done;
    return done;
  }

  /// Saves the stream's position.
  virtual void save(StateWriter& writer) = 0;

  /// Moves a new stream to a saved position. After an error the stream must not be used.
  virtual void restore(StateReader& reader) = 0;
};

using ElementStream = Stream<Element>;
using IndexStream = Stream<std::int64_t>;

/// The values that distinguish the passes over a node.
struct Pass {
  std::uint64_t epoch = 0;    // the number of the repetition: each shuffles differently
  std::uint64_t entropy = 0;  // drawn once per iterator; the seed of all stages that were given none
  std::uint64_t path = 0;     // place in the tree of nodes
  bool shadow = false;        // only advanced, never read, so it needs no threads

  [[nodiscard]] TRAINHOOK_DECL Pass input(std::uint64_t number = 0) const noexcept;
  [[nodiscard]] TRAINHOOK_DECL Pass repetition(std::uint64_t number) const noexcept;
};

class DatasetNode;
using NodePtr = std::shared_ptr<const DatasetNode>;

/// A stage of a pipeline. Immutable, shared by datasets, and safe to use from several threads at once.
class DatasetNode {
 public:
  TRAINHOOK_DECL DatasetNode(std::vector<NodePtr> inputs, ElementSpec spec);
  virtual ~DatasetNode() = default;

  [[nodiscard]] const std::vector<NodePtr>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const ElementSpec& spec() const noexcept { return spec_; }

  /// Describes the stage with everything that a saved state depends on; empty for a stage that does not affect it.
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] virtual std::int64_t cardinality() const = 0;
  [[nodiscard]] virtual std::unique_ptr<ElementStream> elements(const Pass& pass) const = 0;

  /// The rows that this node selects from, or null. If it is not null, `indices` returns row numbers.
  [[nodiscard]] virtual std::shared_ptr<const RowSource> rows() const { return nullptr; }
  [[nodiscard]] virtual std::unique_ptr<IndexStream> indices(const Pass&) const { return nullptr; }

  /// Whether `indices` gives all row numbers in order.
  [[nodiscard]] virtual bool is_source() const { return false; }

  /// Whether a stream can advance without computing the items it drops and without side effects.
  [[nodiscard]] virtual bool can_advance() const { return false; }

  /// Whether a stage shuffles without a given seed.
  [[nodiscard]] TRAINHOOK_DECL virtual bool needs_entropy() const;

  /// Adds a line for each piece of state that a saved state cannot contain.
  TRAINHOOK_DECL virtual void add_external_state(std::vector<std::string>& found) const;

  /// Adds the digests of the data that the sources read, in order.
  TRAINHOOK_DECL virtual void add_sources(std::vector<SourceDigest>& found) const;

  /// True if a state that was saved with other data may be restored.
  [[nodiscard]] TRAINHOOK_DECL virtual bool allows_changed_sources() const;

 private:
  std::vector<NodePtr> inputs_;
  ElementSpec spec_;
};

/// Adds the lines that describe a pipeline, inputs first.
TRAINHOOK_DECL void describe_pipeline(const DatasetNode& node, std::vector<std::string>& stages);

/// Returns the digests of the data that a pipeline's sources read, in order.
[[nodiscard]] TRAINHOOK_DECL std::vector<SourceDigest> sources_of(const DatasetNode& node);

template <class Item>
[[nodiscard]] std::unique_ptr<Stream<Item>> open(const DatasetNode& node, const Pass& pass) {
  if constexpr (std::same_as<Item, Element>) {
    return node.elements(pass);
  } else {
    return node.indices(pass);
  }
}

/// Fetches the rows of a stream of row numbers.
class RowStream final : public ElementStream {
 public:
  TRAINHOOK_DECL RowStream(std::shared_ptr<const RowSource> rows, std::unique_ptr<IndexStream> indices);
  TRAINHOOK_DECL bool next(Element& element) override;
  std::int64_t advance(std::int64_t count) override { return indices_->advance(count); }
  void save(StateWriter& writer) override { indices_->save(writer); }
  void restore(StateReader& reader) override { indices_->restore(reader); }

 private:
  std::shared_ptr<const RowSource> rows_;
  std::unique_ptr<IndexStream> indices_;
};

/// Base of the stages with one input that select, repeat or reorder items without looking at them. `Self` has `template
/// <class Item> std::unique_ptr<Stream<Item>> stream(const Pass&) const`.
template <class Self>
class SelectingNode : public DatasetNode {
 public:
  explicit SelectingNode(NodePtr input) : DatasetNode({input}, input->spec()) {}

  [[nodiscard]] const DatasetNode& input() const noexcept { return *inputs()[0]; }
  [[nodiscard]] const NodePtr& input_ptr() const noexcept { return inputs()[0]; }
  [[nodiscard]] std::shared_ptr<const RowSource> rows() const override { return input().rows(); }
  [[nodiscard]] bool can_advance() const override { return input().can_advance(); }
  [[nodiscard]] std::unique_ptr<IndexStream> indices(const Pass& pass) const override {
    return self().template stream<std::int64_t>(pass);
  }
  [[nodiscard]] std::unique_ptr<ElementStream> elements(const Pass& pass) const override {
    if (auto source = rows()) return std::make_unique<RowStream>(std::move(source), indices(pass));
    return self().template stream<Element>(pass);
  }

 private:
  [[nodiscard]] const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/dataset_node.ipp>
#endif
