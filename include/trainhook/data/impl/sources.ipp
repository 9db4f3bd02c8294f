// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/sources.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/user_call.hpp>

namespace trainhook::detail {

bool CountingStream::next(std::int64_t& index) {
  if (position_ == size_) return false;
  index = position_++;
  return true;
}

std::int64_t CountingStream::advance(std::int64_t count) {
  const std::int64_t done = (std::min)(count, size_ - position_);
  position_ += done;
  return done;
}

void CountingStream::save(StateWriter& writer) { writer.integer(static_cast<std::uint64_t>(position_)); }

void CountingStream::restore(StateReader& reader) { position_ = reader.position("the position in a source", size_); }

RowSourceNode::RowSourceNode(std::shared_ptr<const RowSource> rows, std::optional<SourceDigest> digest)
    : DatasetNode({}, rows->element_spec()), rows_(std::move(rows)), digest_(std::move(digest)) {}

void RowSourceNode::add_sources(std::vector<SourceDigest>& found) const {
  if (digest_) found.push_back(*digest_);
}

std::unique_ptr<IndexStream> RowSourceNode::indices(const Pass&) const {
  return std::make_unique<CountingStream>(rows_->size());
}

std::unique_ptr<ElementStream> RowSourceNode::elements(const Pass& pass) const {
  return std::make_unique<RowStream>(rows_, indices(pass));
}

BasicRows::BasicRows(std::int64_t size, ElementSpec spec) : size_(size), spec_(std::move(spec)) {}

std::int64_t BasicRows::size() const noexcept { return size_; }

std::string BasicRows::describe_as(std::string_view name) const {
  return fmt::format("{}[{}]{}", name, size_, spec_to_string(spec_));
}

SliceRows::SliceRows(Element tensors)
    : BasicRows{checked_size(tensors), row_spec(tensors)}, tensors_(std::move(tensors)) {}  // in this order

std::string SliceRows::describe() const { return describe_as("from_tensor_slices"); }

void SliceRows::read(std::int64_t index, Element& row) const {
  row.resize(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) copy_row_out(tensors_[i], static_cast<std::size_t>(index), row[i]);
}

void SliceRows::gather(std::span<const std::int64_t> indices, Element& batch) const {
  batch.resize(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) gather_rows(tensors_[i], indices, batch[i]);
}

std::int64_t SliceRows::checked_size(const Element& tensors) {
  if (tensors.empty()) throw InvalidArgumentError("from_tensor_slices needs at least one tensor");
  for (const Tensor& tensor : tensors) {
    if (tensor.shape().rank() == 0)
      throw InvalidArgumentError(
          "from_tensor_slices takes the rows of tensors, and a scalar has none; make it a tensor of rank 1, or use "
          "from_tensors");
    if (tensor.shape()[0] != tensors[0].shape()[0]) {
      throw InvalidArgumentError("from_tensor_slices needs tensors with one and the same leading dimension, not {}",
                                 spec_to_string(spec_of(tensors)));
    }
  }
  return tensors[0].shape()[0];
}

ElementSpec SliceRows::row_spec(const Element& tensors) {
  ElementSpec spec;
  for (const Tensor& tensor : tensors) spec.push_back({tensor.dtype(), PartialShape(tensor.shape().dims().subspan(1))});
  return spec;
}

void SliceRows::gather_rows(const Tensor& rows, std::span<const std::int64_t> indices, Tensor& batch) {
  reset_to_rows(batch, rows.dtype(), static_cast<std::int64_t>(indices.size()), rows.shape().dims().subspan(1));
  if (rows.dtype() == DType::String) {
    const std::span<std::string> target = batch.overwrite_data<std::string>();
    const std::size_t width = target.size() / indices.size();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::ranges::copy(rows.data<std::string>().subspan(static_cast<std::size_t>(indices[i]) * width, width),
                        target.subspan(i * width).begin());
    }
    return;
  }
  const std::span<std::byte> target = batch.overwrite_bytes();
  const std::size_t width = target.size() / indices.size();
  if (width == 0) return;
  const std::byte* source = rows.bytes().data();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::memcpy(target.data() + i * width, source + static_cast<std::size_t>(indices[i]) * width, width);
  }
}

SingleRow::SingleRow(Element element) : BasicRows(1, spec_of(element)), element_(std::move(element)) {}

std::string SingleRow::describe() const { return describe_as("from_tensors"); }

RangeRows::RangeRows(std::int64_t begin, std::int64_t end, std::int64_t step)
    : BasicRows(count(begin, end, step), {{DType::Int64, PartialShape(Shape{})}}),
      begin_(begin),
      end_(end),
      step_(step) {}

std::string RangeRows::describe() const { return fmt::format("range({}, {}, {})", begin_, end_, step_); }

void RangeRows::read(std::int64_t index, Element& row) const { row.assign(1, Tensor(value(index))); }

void RangeRows::gather(std::span<const std::int64_t> indices, Element& batch) const {
  batch.resize(1);
  reset_to_rows(batch[0], DType::Int64, static_cast<std::int64_t>(indices.size()), {});
  std::ranges::transform(indices, batch[0].overwrite_data<std::int64_t>().begin(),
                         [this](std::int64_t index) { return value(index); });
}

std::int64_t RangeRows::value(std::int64_t index) const noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(begin_) +
                                   static_cast<std::uint64_t>(index) * static_cast<std::uint64_t>(step_));
}

std::int64_t RangeRows::count(std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step == 0) throw InvalidArgumentError("range: step is 0");
  const bool empty = step > 0 ? begin >= end : begin <= end;
  if (empty) return 0;
  // Unsigned, because the distance of two signed numbers need not fit into a signed one.
  const auto u = [](std::int64_t number) { return static_cast<std::uint64_t>(number); };
  const std::uint64_t distance = step > 0 ? u(end) - u(begin) : u(begin) - u(end);
  const std::uint64_t stride = step > 0 ? u(step) : 0 - u(step);
  const std::uint64_t steps = (distance - 1) / stride;
  if (steps >= static_cast<std::uint64_t>(INT64_MAX))
    throw InvalidArgumentError("range({}, {}, {}) has more than 2^63 elements", begin, end, step);
  return static_cast<std::int64_t>(steps + 1);
}

FunctionRows::FunctionRows(std::int64_t size, ElementSpec spec, std::function<Element(std::int64_t)> function)
    : BasicRows(size, std::move(spec)), function_(std::move(function)) {
  if (size < 0) throw InvalidArgumentError("from_function: size {} is negative", size);
}

std::string FunctionRows::describe() const { return describe_as("from_function"); }

void FunctionRows::read(std::int64_t index, Element& row) const {
  row = call_of_user("the function of from_function", {}, [&] { return function_(index); });
  check_element(element_spec(), row, "from_function");
}

GeneratorNode::GeneratorNode(ElementSpec spec, std::function<Generator()> make, std::string name)
    : DatasetNode({}, std::move(spec)), make_(std::move(make)), name_(std::move(name)) {}

std::string GeneratorNode::describe() const {
  return fmt::format("from_generator({}){}", name_, spec_to_string(spec()));
}

std::unique_ptr<ElementStream> GeneratorNode::elements(const Pass&) const {
  return std::make_unique<GeneratorStream>(make(), spec(), name_);
}

void GeneratorNode::add_external_state(std::vector<std::string>& found) const {
  if (!is_savable(make())) found.push_back(what_is_missing(name_));
}

Generator GeneratorNode::make() const { return call_of_user("the function that makes generator", name_, make_); }

std::string GeneratorNode::what_is_missing(const std::string& name) {
  return fmt::format(
      "from_generator({}): give the generator save and restore functions, or it starts over after a restart", name);
}

GeneratorNode::GeneratorStream::GeneratorStream(Generator generator, ElementSpec spec, std::string name)
    : generator_(std::move(generator)), spec_(std::move(spec)), name_(std::move(name)) {}

bool GeneratorNode::GeneratorStream::next(Element& element) {
  if (ended_) return false;
  if (!call_of_user("next of generator", name_, [&] { return generator_.next(element); })) {
    ended_ = true;
    return false;
  }
  check_element(spec_, element, name_);
  return true;
}

void GeneratorNode::GeneratorStream::save(StateWriter& writer) {
  const bool savable = is_savable(generator_);
  if (!savable) writer.add_external_state(what_is_missing(name_));
  writer.boolean(ended_);
  writer.string(savable ? call_of_user("save of generator", name_, generator_.save) : std::string());
}

void GeneratorNode::GeneratorStream::restore(StateReader& reader) {
  ended_ = reader.boolean("the end of a generator");
  const std::string_view state = reader.string("the state of a generator");
  if (is_savable(generator_)) {
    call_of_user("restore of generator", name_, [&] { generator_.restore(state); });
  } else {
    ended_ = false;
  }
}

}  // namespace trainhook::detail
