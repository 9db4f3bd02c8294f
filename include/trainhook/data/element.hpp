// SPDX-License-Identifier: Apache-2.0
/// @file
/// What flows through an input pipeline: elements of several tensors, and sources whose elements can be fetched by number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// One element of a dataset: its components in order, for example an image and a label.
using Element = std::vector<Tensor>;

/// Dtypes and shapes of an element's components, as far as they are known before the data is seen.
using ElementSpec = std::vector<OutputSpec>;

/// `(float32[784], int64[])`, for messages.
[[nodiscard]] inline std::string spec_to_string(const ElementSpec& spec) {
  std::string text = "(";
  for (const OutputSpec& component : spec) text += str_cat(text.size() > 1 ? ", " : "", dtype_name(component.dtype), component.shape);
  return text + ")";
}

/// The spec that describes exactly this element.
[[nodiscard]] inline ElementSpec spec_of(const Element& element) {
  ElementSpec spec;
  for (const Tensor& component : element) spec.push_back({component.dtype(), component.shape()});
  return spec;
}

namespace detail {

inline bool matches(const ElementSpec& spec, const Element& element) noexcept {
  return std::equal(spec.begin(), spec.end(), element.begin(), element.end(), [](const OutputSpec& wanted, const Tensor& given) {
    if (wanted.dtype != given.dtype()) return false;
    if (!wanted.shape.has_rank()) return true;
    return std::equal(wanted.shape.dims().begin(), wanted.shape.dims().end(), given.shape().dims().begin(), given.shape().dims().end(),
                      [](std::int64_t want, std::int64_t have) { return want == kUnknownDim || want == have; });
  });
}

/// @throws InvalidArgumentError unless `element` is as `stage` promised.
inline void check_element(const ElementSpec& spec, const Element& element, std::string_view stage) {
  if (matches(spec, element)) return;
  throw InvalidArgumentError(stage, " gave an element ", spec_to_string(spec_of(element)), " where its element_spec says ",
                             spec_to_string(spec));
}

inline Shape with_leading_dim(std::int64_t count, std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> all{count};
  all.insert(all.end(), dims.begin(), dims.end());
  return Shape(all);
}

/// Makes a tensor ready to be overwritten as `[count] + dims`; touches nothing where it already is.
inline void reset_to_rows(Tensor& tensor, DType dtype, std::int64_t count, std::span<const std::int64_t> dims) {
  const Shape& now = tensor.shape();
  const bool same =
      tensor.dtype() == dtype && now.rank() == dims.size() + 1 && now[0] == count && std::ranges::equal(now.dims().subspan(1), dims);
  if (!same || !tensor.is_unique()) tensor.reset_to(dtype, with_leading_dim(count, dims));
}

/// Copies row `from` of a tensor to `to`, a tensor of the row's shape.
inline void copy_row_out(const Tensor& rows, std::size_t from, Tensor& to) {
  to.reset_to(rows.dtype(), Shape(rows.shape().dims().subspan(1)));
  if (rows.dtype() == DType::String) {
    const std::span<std::string> target = to.overwrite_data<std::string>();
    std::ranges::copy(rows.data<std::string>().subspan(from * target.size(), target.size()), target.begin());
  } else if (const std::span<std::byte> target = to.overwrite_bytes(); !target.empty()) {
    std::memcpy(target.data(), rows.bytes().data() + from * target.size(), target.size());
  }
}

/// Stacks component `component` of all rows into one tensor with a leading dimension.
inline void stack_component(std::span<const Element> rows, std::size_t component, Tensor& batch) {
  const Tensor& first = rows[0][component];
  reset_to_rows(batch, first.dtype(), static_cast<std::int64_t>(rows.size()), first.shape().dims());
  if (first.dtype() == DType::String) {
    auto target = batch.overwrite_data<std::string>().begin();
    for (const Element& row : rows) target = std::ranges::copy(row[component].data<std::string>(), target).out;
    return;
  }
  std::byte* target = batch.overwrite_bytes().data();
  for (const Element& row : rows) {
    const std::span<const std::byte> source = row[component].bytes();
    if (!source.empty()) std::memcpy(target, source.data(), source.size());
    target += source.size();
  }
}

/// Makes one element of many. @throws InvalidArgumentError where their dtypes or shapes differ.
inline void stack(std::span<const Element> rows, Element& batch) {
  for (const Element& row : rows) {
    const bool same =
        std::ranges::equal(row, rows[0], [](const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.shape() == b.shape(); });
    if (!same) {
      throw InvalidArgumentError("batch: elements ", spec_to_string(spec_of(rows[0])), " and ", spec_to_string(spec_of(row)),
                                 " do not fit into one batch; map them to one shape first");
    }
  }
  batch.resize(rows[0].size());
  for (std::size_t i = 0; i < batch.size(); ++i) stack_component(rows, i, batch[i]);
}

}  // namespace detail

/// A source of elements that are fetched by number, at the same cost wherever they stand. Shuffling one keeps numbers instead of
/// contents, and a batch of it is gathered straight into place. Implementations are immutable and may be read by several threads at once.
class RowSource {
 public:
  virtual ~RowSource() = default;

  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;
  [[nodiscard]] virtual const ElementSpec& element_spec() const noexcept = 0;

  /// Names the source in messages, and in saved states, which can only be restored where this text is the same.
  [[nodiscard]] virtual std::string describe() const = 0;

  /// Fetches element `index`, of [0, size). `row` may hold tensors of an earlier one, whose memory can be used again.
  virtual void read(std::int64_t index, Element& row) const = 0;

  /// Fetches several elements as one with a leading dimension. `indices` is not empty.
  virtual void gather(std::span<const std::int64_t> indices, Element& batch) const {
    std::vector<Element> rows(indices.size());
    for (std::size_t i = 0; i < rows.size(); ++i) read(indices[i], rows[i]);
    detail::stack(rows, batch);
  }
};

}  // namespace trainhook
