// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where elements come from: tensors, ranges, functions of an index, and generators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/data/node.hpp>

namespace trainhook {

/// One pass of a generator that a program brings along. `next` puts the next element into its argument and returns true, or returns false
/// at the end. Where `save` and `restore` are given they carry its position over a restart; where not, the pipeline has external state.
struct Generator {
  std::function<bool(Element& element)> next{};
  std::function<std::string()> save{};
  std::function<void(std::string_view state)> restore{};
};

namespace detail {

/// 0, 1, ... up to the number of rows.
class CountingStream final : public IndexStream {
 public:
  explicit CountingStream(std::int64_t size) noexcept : size_(size) {}

  bool next(std::int64_t& index) override {
    if (position_ == size_) return false;
    index = position_++;
    return true;
  }
  std::int64_t advance(std::int64_t count) override {
    const std::int64_t done = (std::min)(count, size_ - position_);
    position_ += done;
    return done;
  }
  void save(StateWriter& writer) override { writer.integer(static_cast<std::uint64_t>(position_)); }
  void restore(StateReader& reader) override { position_ = reader.position("the position in a source", size_); }

 private:
  std::int64_t size_;
  std::int64_t position_ = 0;
};

/// All rows of a source, in order.
class RowSourceNode final : public DatasetNode {
 public:
  explicit RowSourceNode(std::shared_ptr<const RowSource> rows) : DatasetNode({}, rows->element_spec()), rows_(std::move(rows)) {}

  [[nodiscard]] std::string describe() const override { return rows_->describe(); }
  [[nodiscard]] std::int64_t cardinality() const override { return rows_->size(); }
  [[nodiscard]] std::shared_ptr<const RowSource> rows() const override { return rows_; }
  [[nodiscard]] bool is_source() const override { return true; }
  [[nodiscard]] bool can_advance() const override { return true; }
  [[nodiscard]] std::unique_ptr<IndexStream> indices(const Pass&) const override { return std::make_unique<CountingStream>(rows_->size()); }
  [[nodiscard]] std::unique_ptr<ElementStream> elements(const Pass& pass) const override {
    return std::make_unique<RowStream>(rows_, indices(pass));
  }

 private:
  std::shared_ptr<const RowSource> rows_;
};

/// Base of the sources that the library brings.
class BasicRows : public RowSource {
 public:
  BasicRows(std::int64_t size, ElementSpec spec) : size_(size), spec_(std::move(spec)) {}
  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  [[nodiscard]] const ElementSpec& element_spec() const noexcept override { return spec_; }

 protected:
  [[nodiscard]] std::string describe_as(std::string_view name) const { return str_cat(name, "[", size_, "]", spec_to_string(spec_)); }

 private:
  std::int64_t size_;
  ElementSpec spec_;
};

/// Tensors whose leading dimension counts the elements.
class SliceRows final : public BasicRows {
 public:
  explicit SliceRows(Element tensors) : BasicRows(checked_size(tensors), row_spec(tensors)), tensors_(std::move(tensors)) {}
  [[nodiscard]] std::string describe() const override { return describe_as("from_tensor_slices"); }

  void read(std::int64_t index, Element& row) const override {
    row.resize(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) copy_row_out(tensors_[i], static_cast<std::size_t>(index), row[i]);
  }
  void gather(std::span<const std::int64_t> indices, Element& batch) const override {
    batch.resize(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) gather_rows(tensors_[i], indices, batch[i]);
  }

 private:
  static std::int64_t checked_size(const Element& tensors) {
    if (tensors.empty()) throw InvalidArgumentError("from_tensor_slices needs at least one tensor");
    for (const Tensor& tensor : tensors) {
      if (tensor.shape().rank() == 0 || tensor.shape()[0] != tensors[0].shape()[0]) {
        throw InvalidArgumentError("from_tensor_slices needs tensors with one and the same leading dimension, not ",
                                   spec_to_string(spec_of(tensors)));
      }
    }
    return tensors[0].shape()[0];
  }
  static ElementSpec row_spec(const Element& tensors) {
    ElementSpec spec;
    for (const Tensor& tensor : tensors) spec.push_back({tensor.dtype(), PartialShape(tensor.shape().dims().subspan(1))});
    return spec;
  }
  static void gather_rows(const Tensor& rows, std::span<const std::int64_t> indices, Tensor& batch) {
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

  Element tensors_;
};

/// A single element.
class SingleRow final : public BasicRows {
 public:
  explicit SingleRow(Element element) : BasicRows(1, spec_of(element)), element_(std::move(element)) {}
  [[nodiscard]] std::string describe() const override { return describe_as("from_tensors"); }
  void read(std::int64_t, Element& row) const override { row = element_; }

 private:
  Element element_;
};

/// begin, begin + step, ...
class RangeRows final : public BasicRows {
 public:
  RangeRows(std::int64_t begin, std::int64_t end, std::int64_t step)
      : BasicRows(count(begin, end, step), {{DType::Int64, PartialShape(Shape{})}}), begin_(begin), end_(end), step_(step) {}
  [[nodiscard]] std::string describe() const override { return str_cat("range(", begin_, ", ", end_, ", ", step_, ")"); }

  void read(std::int64_t index, Element& row) const override { row.assign(1, Tensor(value(index))); }
  void gather(std::span<const std::int64_t> indices, Element& batch) const override {
    batch.resize(1);
    reset_to_rows(batch[0], DType::Int64, static_cast<std::int64_t>(indices.size()), {});
    std::ranges::transform(indices, batch[0].overwrite_data<std::int64_t>().begin(), [this](std::int64_t index) { return value(index); });
  }

 private:
  [[nodiscard]] std::int64_t value(std::int64_t index) const noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(begin_) +
                                     static_cast<std::uint64_t>(index) * static_cast<std::uint64_t>(step_));
  }
  static std::int64_t count(std::int64_t begin, std::int64_t end, std::int64_t step) {
    if (step == 0) throw InvalidArgumentError("range: step is 0");
    const bool empty = step > 0 ? begin >= end : begin <= end;
    if (empty) return 0;
    // Unsigned, because the distance of two signed numbers need not fit into a signed one.
    const auto u = [](std::int64_t number) { return static_cast<std::uint64_t>(number); };
    const std::uint64_t distance = step > 0 ? u(end) - u(begin) : u(begin) - u(end);
    const std::uint64_t stride = step > 0 ? u(step) : 0 - u(step);
    const std::uint64_t steps = (distance - 1) / stride;
    if (steps >= static_cast<std::uint64_t>(INT64_MAX))
      throw InvalidArgumentError("range(", begin, ", ", end, ", ", step, ") has more than 2^63 elements");
    return static_cast<std::int64_t>(steps + 1);
  }

  std::int64_t begin_, end_, step_;
};

/// Elements that a function computes from their number.
class FunctionRows final : public BasicRows {
 public:
  FunctionRows(std::int64_t size, ElementSpec spec, std::function<Element(std::int64_t)> function)
      : BasicRows(size, std::move(spec)), function_(std::move(function)) {
    if (size < 0) throw InvalidArgumentError("from_function: size ", size, " is negative");
  }
  [[nodiscard]] std::string describe() const override { return describe_as("from_function"); }
  void read(std::int64_t index, Element& row) const override {
    row = function_(index);
    check_element(element_spec(), row, "from_function");
  }

 private:
  std::function<Element(std::int64_t)> function_;
};

/// What a program generates by itself.
class GeneratorNode final : public DatasetNode {
 public:
  GeneratorNode(ElementSpec spec, std::function<Generator()> make, std::string name)
      : DatasetNode({}, std::move(spec)), make_(std::move(make)), name_(std::move(name)) {}

  [[nodiscard]] std::string describe() const override { return str_cat("from_generator(", name_, ")", spec_to_string(spec())); }
  [[nodiscard]] std::int64_t cardinality() const override { return kUnknownCardinality; }
  [[nodiscard]] std::unique_ptr<ElementStream> elements(const Pass&) const override {
    return std::make_unique<GeneratorStream>(make_(), spec(), name_);
  }
  void add_external_state(std::vector<std::string>& found) const override {
    if (!is_savable(make_())) found.push_back(what_is_missing(name_));
  }

 private:
  static bool is_savable(const Generator& generator) { return generator.save && generator.restore; }
  static std::string what_is_missing(const std::string& name) {
    return str_cat("from_generator(", name, "): give the generator save and restore functions, or it starts anew after a restart");
  }

  class GeneratorStream final : public ElementStream {
   public:
    GeneratorStream(Generator generator, ElementSpec spec, std::string name)
        : generator_(std::move(generator)), spec_(std::move(spec)), name_(std::move(name)) {}

    bool next(Element& element) override {
      if (ended_) return false;
      if (!generator_.next(element)) {
        ended_ = true;
        return false;
      }
      check_element(spec_, element, name_);
      return true;
    }
    void save(StateWriter& writer) override {
      const bool savable = is_savable(generator_);
      if (!savable && !writer.allows_external_state()) throw FailedPreconditionError("external state: ", what_is_missing(name_));
      writer.boolean(ended_);
      writer.string(savable ? generator_.save() : std::string());
    }
    void restore(StateReader& reader) override {
      ended_ = reader.boolean("the end of a generator");
      const std::string_view state = reader.string("the state of a generator");
      if (is_savable(generator_)) {
        generator_.restore(state);
      } else {
        ended_ = false;
      }
    }

   private:
    Generator generator_;
    ElementSpec spec_;
    std::string name_;
    bool ended_ = false;
  };

  std::function<Generator()> make_;
  std::string name_;
};

}  // namespace detail
}  // namespace trainhook
