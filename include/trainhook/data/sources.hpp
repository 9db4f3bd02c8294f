// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sources of elements: tensors, ranges, functions of an index, and generators.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook {

namespace detail {

/// All row numbers in order.
class CountingStream final : public IndexStream {
 public:
  explicit CountingStream(std::int64_t size) noexcept : size_(size) {}

  TRAINHOOK_DECL bool next(std::int64_t& index) override;
  TRAINHOOK_DECL std::int64_t advance(std::int64_t count) override;
  TRAINHOOK_DECL void save(StateWriter& writer) override;
  TRAINHOOK_DECL void restore(StateReader& reader) override;

 private:
  std::int64_t size_;
  std::int64_t position_ = 0;
};

/// All rows of a source, in order.
class RowSourceNode final : public DatasetNode {
 public:
  /// @param digest the digest of the data that `rows` has in memory, if a restore is to compare it
  TRAINHOOK_DECL explicit RowSourceNode(std::shared_ptr<const RowSource> rows, std::optional<SourceDigest> digest = {});

  [[nodiscard]] std::string describe() const override { return rows_->describe(); }
  [[nodiscard]] std::int64_t cardinality() const override { return rows_->size(); }
  [[nodiscard]] std::shared_ptr<const RowSource> rows() const override { return rows_; }
  [[nodiscard]] bool is_source() const override { return true; }
  [[nodiscard]] bool can_advance() const override { return true; }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<IndexStream> indices(const Pass&) const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;
  TRAINHOOK_DECL void add_sources(std::vector<SourceDigest>& found) const override;

 private:
  std::shared_ptr<const RowSource> rows_;
  std::optional<SourceDigest> digest_;
};

/// Base of the library's sources.
class BasicRows : public RowSource {
 public:
  TRAINHOOK_DECL BasicRows(std::int64_t size, ElementSpec spec);
  [[nodiscard]] TRAINHOOK_DECL std::int64_t size() const noexcept override;
  [[nodiscard]] const ElementSpec& element_spec() const noexcept override { return spec_; }

 protected:
  [[nodiscard]] TRAINHOOK_DECL std::string describe_as(std::string_view name) const;

 private:
  std::int64_t size_;
  ElementSpec spec_;
};

/// The slices of tensors along their leading dimension.
class SliceRows final : public BasicRows {
 public:
  TRAINHOOK_DECL explicit SliceRows(Element tensors);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  TRAINHOOK_DECL void read(std::int64_t index, Element& row) const override;
  TRAINHOOK_DECL void gather(std::span<const std::int64_t> indices, Element& batch) const override;

 private:
  TRAINHOOK_DECL static std::int64_t checked_size(const Element& tensors);
  TRAINHOOK_DECL static ElementSpec row_spec(const Element& tensors);
  TRAINHOOK_DECL static void gather_rows(const Tensor& rows, std::span<const std::int64_t> indices, Tensor& batch);

  Element tensors_;
};

/// A single element.
class SingleRow final : public BasicRows {
 public:
  TRAINHOOK_DECL explicit SingleRow(Element element);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  void read(std::int64_t, Element& row) const override { row = element_; }

 private:
  Element element_;
};

/// begin, begin + step, ...
class RangeRows final : public BasicRows {
 public:
  TRAINHOOK_DECL RangeRows(std::int64_t begin, std::int64_t end, std::int64_t step);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  TRAINHOOK_DECL void read(std::int64_t index, Element& row) const override;
  TRAINHOOK_DECL void gather(std::span<const std::int64_t> indices, Element& batch) const override;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::int64_t value(std::int64_t index) const noexcept;
  TRAINHOOK_DECL static std::int64_t count(std::int64_t begin, std::int64_t end, std::int64_t step);

  std::int64_t begin_, end_, step_;
};

/// Elements that a function computes from their number.
class FunctionRows final : public BasicRows {
 public:
  TRAINHOOK_DECL FunctionRows(std::int64_t size, ElementSpec spec, std::function<Element(std::int64_t)> function);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  TRAINHOOK_DECL void read(std::int64_t index, Element& row) const override;

 private:
  std::function<Element(std::int64_t)> function_;
};

/// The elements of a Generator.
class GeneratorNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL GeneratorNode(ElementSpec spec, std::function<Generator()> make, std::string name);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] std::int64_t cardinality() const override { return kUnknownCardinality; }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass&) const override;
  TRAINHOOK_DECL void add_external_state(std::vector<std::string>& found) const override;

 private:
  static bool is_savable(const Generator& generator) { return generator.save && generator.restore; }
  TRAINHOOK_DECL static std::string what_is_missing(const std::string& name);

  class GeneratorStream final : public ElementStream {
   public:
    TRAINHOOK_DECL GeneratorStream(Generator generator, ElementSpec spec, std::string name);
    TRAINHOOK_DECL bool next(Element& element) override;
    TRAINHOOK_DECL void save(StateWriter& writer) override;
    TRAINHOOK_DECL void restore(StateReader& reader) override;

   private:
    Generator generator_;
    ElementSpec spec_;
    std::string name_;
    bool ended_ = false;
  };

  [[nodiscard]] TRAINHOOK_DECL Generator make() const;

  std::function<Generator()> make_;
  std::string name_;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/sources.ipp>
#endif
