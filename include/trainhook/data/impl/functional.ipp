// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/stages.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/data/sources.hpp>

namespace trainhook::detail {

Element MapCall::operator()(Element element) const {
  Element result = call_of_user("the function of map", {}, [&] { return function(std::move(element)); });
  check_element(spec, result, "map");
  return result;
}

/// The rows of a source, with a function applied when a row is read.
class MappedRows final : public BasicRows {
 public:
  MappedRows(std::shared_ptr<const RowSource> rows, std::shared_ptr<const MapCall> call)
      : BasicRows(rows->size(), call->spec), rows_(std::move(rows)), call_(std::move(call)) {}
  [[nodiscard]] std::string describe() const override { return fmt::format("map of {}", rows_->describe()); }
  void read(std::int64_t index, Element& row) const override {
    rows_->read(index, row);
    row = (*call_)(std::move(row));
  }

 private:
  std::shared_ptr<const RowSource> rows_;
  std::shared_ptr<const MapCall> call_;
};

class MapStream final : public ElementStream {
 public:
  MapStream(std::unique_ptr<ElementStream> input, std::shared_ptr<const MapCall> call, bool stateful)
      : input_(std::move(input)), call_(std::move(call)), stateful_(stateful) {}

  bool next(Element& element) override {
    if (!input_->next(element)) return false;
    element = (*call_)(std::move(element));
    return true;
  }
  std::int64_t advance(std::int64_t count) override {
    return stateful_ ? ElementStream::advance(count) : input_->advance(count);
  }
  void save(StateWriter& writer) override { input_->save(writer); }
  void restore(StateReader& reader) override { input_->restore(reader); }

 private:
  std::unique_ptr<ElementStream> input_;
  std::shared_ptr<const MapCall> call_;
  bool stateful_;
};

inline std::string stateful_line(std::string_view stage) {
  return fmt::format("{}: its function was declared stateful, and what it remembers is not saved", stage);
}

MapNode::MapNode(NodePtr input, MapFunction function, ElementSpec spec, bool stateful)
    : DatasetNode({input}, spec),
      call_(std::make_shared<MapCall>(MapCall{std::move(function), std::move(spec)})),
      stateful_(stateful) {
  if (auto rows = input->rows(); rows != nullptr && !stateful)
    rows_ = std::make_shared<MappedRows>(std::move(rows), call_);
}

std::string MapNode::describe() const { return fmt::format("map{}", spec_to_string(spec())); }

bool MapNode::is_source() const { return rows_ != nullptr && inputs()[0]->is_source(); }

bool MapNode::can_advance() const { return !stateful_ && inputs()[0]->can_advance(); }

std::unique_ptr<IndexStream> MapNode::indices(const Pass& pass) const { return inputs()[0]->indices(pass.input()); }

std::unique_ptr<ElementStream> MapNode::elements(const Pass& pass) const {
  if (rows_ != nullptr) return std::make_unique<RowStream>(rows_, indices(pass));
  return std::make_unique<MapStream>(inputs()[0]->elements(pass.input()), call_, stateful_);
}

void MapNode::add_external_state(std::vector<std::string>& found) const {
  DatasetNode::add_external_state(found);
  if (stateful_) found.push_back(stateful_line("map"));
}

FilterNode::FilterNode(NodePtr input, FilterFunction predicate, bool stateful)
    : SelectingNode(std::move(input)),
      predicate_(std::make_shared<FilterFunction>([predicate = std::move(predicate)](const Element& element) {
        return call_of_user("the predicate of filter", {}, [&] { return predicate(element); });
      })),
      stateful_(stateful) {}

std::string FilterNode::describe() const { return "filter"; }

std::int64_t FilterNode::cardinality() const { return input().cardinality() == 0 ? 0 : kUnknownCardinality; }

void FilterNode::add_external_state(std::vector<std::string>& found) const {
  DatasetNode::add_external_state(found);
  if (stateful_) found.push_back(stateful_line("filter"));
}

/// Rows of several sources side by side.
class ZippedRows final : public BasicRows {
 public:
  ZippedRows(std::vector<std::shared_ptr<const RowSource>> parts, std::int64_t size, ElementSpec spec)
      : BasicRows(size, std::move(spec)), parts_(std::move(parts)) {}
  [[nodiscard]] std::string describe() const override { return describe_as("zip"); }
  void read(std::int64_t index, Element& row) const override {
    for_each_part(row, [index](const RowSource& part, Element& piece) { part.read(index, piece); });
  }
  void gather(std::span<const std::int64_t> indices, Element& batch) const override {
    for_each_part(batch, [indices](const RowSource& part, Element& piece) { part.gather(indices, piece); });
  }

 private:
  template <class Fetch>
  void for_each_part(Element& whole, Fetch fetch) const {
    whole.resize(element_spec().size());
    auto place = whole.begin();
    for (const auto& part : parts_) {
      const auto width = static_cast<std::ptrdiff_t>(part->element_spec().size());
      Element piece(std::make_move_iterator(place),
                    std::make_move_iterator(place + width));  // lends the part its old tensors
      fetch(*part, piece);
      place = std::ranges::move(piece, place).out;
    }
  }
  std::vector<std::shared_ptr<const RowSource>> parts_;
};

class ZipStream final : public ElementStream {
 public:
  explicit ZipStream(std::vector<std::unique_ptr<ElementStream>> inputs)
      : inputs_(std::move(inputs)), pieces_(inputs_.size()) {}

  bool next(Element& element) override {
    std::exception_ptr error;  // stands for an element: the other inputs still advance, to stay in step
    for (std::size_t i = 0; i < inputs_.size() && !ended_; ++i) {
      try {
        ended_ = !inputs_[i]->next(pieces_[i]);
      } catch (...) {
        if (error == nullptr) error = std::current_exception();
      }
    }
    if (error != nullptr) std::rethrow_exception(error);
    if (ended_) return false;
    element.clear();
    for (Element& piece : pieces_) std::ranges::move(piece, std::back_inserter(element));
    return true;
  }
  std::int64_t advance(std::int64_t count) override {
    if (ended_) return 0;
    std::int64_t least = count;
    for (auto& input : inputs_) least = (std::min)(least, input->advance(count));
    ended_ = least < count;
    return least;
  }
  void save(StateWriter& writer) override {
    writer.boolean(ended_);
    for (auto& input : inputs_) input->save(writer);
  }
  void restore(StateReader& reader) override {
    ended_ = reader.boolean("the end of zip");
    for (auto& input : inputs_) input->restore(reader);
  }

 private:
  std::vector<std::unique_ptr<ElementStream>> inputs_;
  std::vector<Element> pieces_;
  bool ended_ = false;
};

ZipNode::ZipNode(std::vector<NodePtr> inputs) : DatasetNode(inputs, joined(inputs)) {
  if (!std::ranges::all_of(inputs, [](const NodePtr& input) { return input->is_source(); })) return;
  std::vector<std::shared_ptr<const RowSource>> parts;
  for (const NodePtr& input : inputs) parts.push_back(input->rows());
  rows_ = std::make_shared<ZippedRows>(std::move(parts), cardinality(), spec());
}

std::string ZipNode::describe() const { return fmt::format("zip({})", inputs().size()); }

std::int64_t ZipNode::cardinality() const {
  std::int64_t least = kInfiniteCardinality;
  bool unknown = false;
  for (const NodePtr& input : inputs()) {
    const std::int64_t size = input->cardinality();
    unknown = unknown || size == kUnknownCardinality;
    if (size >= 0) least = least < 0 ? size : (std::min)(least, size);
  }
  return unknown && least != 0 ? kUnknownCardinality : least;
}

bool ZipNode::can_advance() const {
  return std::ranges::all_of(inputs(), [](const NodePtr& input) { return input->can_advance(); });
}

std::unique_ptr<IndexStream> ZipNode::indices(const Pass&) const {
  return std::make_unique<CountingStream>(rows_->size());
}

std::unique_ptr<ElementStream> ZipNode::elements(const Pass& pass) const {
  if (rows_ != nullptr) return std::make_unique<RowStream>(rows_, indices(pass));
  std::vector<std::unique_ptr<ElementStream>> streams;
  for (std::size_t i = 0; i < inputs().size(); ++i) streams.push_back(inputs()[i]->elements(pass.input(i)));
  return std::make_unique<ZipStream>(std::move(streams));
}

ElementSpec ZipNode::joined(const std::vector<NodePtr>& inputs) {
  if (inputs.empty()) throw InvalidArgumentError("zip needs at least one dataset");
  ElementSpec spec;
  for (const NodePtr& input : inputs) spec.insert(spec.end(), input->spec().begin(), input->spec().end());
  return spec;
}

}  // namespace trainhook::detail
