// SPDX-License-Identifier: Apache-2.0
/// @file
/// What flows through an input pipeline: elements of several tensors, and sources whose elements can be fetched by
/// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// One element of a dataset: its components in order, for example an image and a label.
using Element = std::vector<Tensor>;

/// Dtypes and shapes of an element's components, as far as they are known before the data is seen.
using ElementSpec = std::vector<OutputSpec>;

/// `(float32[784], int64[])`, for messages.
[[nodiscard]] TRAINHOOK_DECL std::string spec_to_string(const ElementSpec& spec);

/// The spec that describes exactly this element.
[[nodiscard]] TRAINHOOK_DECL ElementSpec spec_of(const Element& element);

namespace detail {

TRAINHOOK_DECL bool matches(const ElementSpec& spec, const Element& element) noexcept;

/// @throws InvalidArgumentError unless `element` is as `stage` promised.
TRAINHOOK_DECL void check_element(const ElementSpec& spec, const Element& element, std::string_view stage);

TRAINHOOK_DECL Shape with_leading_dim(std::int64_t count, std::span<const std::int64_t> dims);

/// Makes a tensor ready to be overwritten as `[count] + dims`; does nothing if it is already.
TRAINHOOK_DECL void reset_to_rows(Tensor& tensor, DType dtype, std::int64_t count, std::span<const std::int64_t> dims);

/// Copies row `from` of a tensor to `to`, a tensor of the row's shape.
TRAINHOOK_DECL void copy_row_out(const Tensor& rows, std::size_t from, Tensor& to);

/// Stacks component `component` of all rows into one tensor with a leading dimension.
TRAINHOOK_DECL void stack_component(std::span<const Element> rows, std::size_t component, Tensor& batch);

/// Stacks elements into one. @throws InvalidArgumentError if their dtypes or shapes differ.
TRAINHOOK_DECL void stack(std::span<const Element> rows, Element& batch);

}  // namespace detail

/// A source of elements that are fetched by number, at the same cost for each. Shuffling one keeps numbers
/// instead of contents, and a batch of it is gathered straight into place. Implementations are immutable and may be
/// read by several threads at once.
class RowSource {
 public:
  virtual ~RowSource() = default;

  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;
  [[nodiscard]] virtual const ElementSpec& element_spec() const noexcept = 0;

  /// Names the source in messages, and in saved states, which can be restored only if this text is the same.
  [[nodiscard]] virtual std::string describe() const = 0;

  /// Fetches element `index`, of [0, size). `row` may hold tensors of an earlier one, whose memory can be used again.
  virtual void read(std::int64_t index, Element& row) const = 0;

  /// Fetches several elements as one with a leading dimension. `indices` is not empty.
  TRAINHOOK_DECL virtual void gather(std::span<const std::int64_t> indices, Element& batch) const;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/element.ipp>
#endif
