// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/element.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>

namespace trainhook {

ElementSpec spec_of(const Element& element) {
  ElementSpec spec;
  for (const Tensor& component : element) spec.push_back({component.dtype(), component.shape()});
  return spec;
}

}  // namespace trainhook

namespace trainhook::detail {

std::string spec_to_string(const ElementSpec& spec) {
  std::string text;
  for (const OutputSpec& component : spec)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", component.dtype, component.shape);
  return fmt::format("({})", text);
}

bool matches(const ElementSpec& spec, const Element& element) noexcept {
  return std::equal(
      spec.begin(), spec.end(), element.begin(), element.end(), [](const OutputSpec& wanted, const Tensor& given) {
        if (wanted.dtype != given.dtype()) return false;
        if (!wanted.shape.has_rank()) return true;
        return std::equal(wanted.shape.dims().begin(), wanted.shape.dims().end(), given.shape().dims().begin(),
                          given.shape().dims().end(),
                          [](std::int64_t want, std::int64_t have) { return want == kUnknownDim || want == have; });
      });
}

void check_element(const ElementSpec& spec, const Element& element, std::string_view stage) {
  if (matches(spec, element)) return;
  throw InvalidArgumentError("{} gave an element {} but its element_spec is {}", stage,
                             spec_to_string(spec_of(element)), spec_to_string(spec));
}

Shape with_leading_dim(std::int64_t count, std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> all{count};
  all.insert(all.end(), dims.begin(), dims.end());
  return Shape(all);
}

void reset_to_rows(Tensor& tensor, DType dtype, std::int64_t count, std::span<const std::int64_t> dims) {
  const Shape& now = tensor.shape();
  const bool same = tensor.dtype() == dtype && now.rank() == dims.size() + 1 && now[0] == count &&
                    std::ranges::equal(now.dims().subspan(1), dims);
  if (!same || !tensor.is_unique()) tensor.reset_to(dtype, with_leading_dim(count, dims));
}

void copy_row_out(const Tensor& rows, std::size_t from, Tensor& to) {
  to.reset_to(rows.dtype(), Shape(rows.shape().dims().subspan(1)));
  if (rows.dtype() == DType::String) {
    const std::span<std::string> target = to.overwrite_data<std::string>();
    std::ranges::copy(rows.data<std::string>().subspan(from * target.size(), target.size()), target.begin());
  } else if (const std::span<std::byte> target = to.overwrite_bytes(); !target.empty()) {
    std::memcpy(target.data(), rows.bytes().data() + from * target.size(), target.size());
  }
}

void stack_component(std::span<const Element> rows, std::size_t component, Tensor& batch) {
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

void stack(std::span<const Element> rows, Element& batch) {
  for (const Element& row : rows) {
    const bool same = std::ranges::equal(row, rows[0], [](const Tensor& a, const Tensor& b) {
      return a.dtype() == b.dtype() && a.shape() == b.shape();
    });
    if (!same) {
      throw InvalidArgumentError("batch: elements {} and {} do not fit into one batch; map them to one shape first",
                                 spec_to_string(spec_of(rows[0])), spec_to_string(spec_of(row)));
    }
  }
  batch.resize(rows[0].size());
  for (std::size_t i = 0; i < batch.size(); ++i) stack_component(rows, i, batch[i]);
}

}  // namespace trainhook::detail

namespace trainhook {

void RowSource::gather(std::span<const std::int64_t> indices, Element& batch) const {
  std::vector<Element> rows(indices.size());
  for (std::size_t i = 0; i < rows.size(); ++i) read(indices[i], rows[i]);
  detail::stack(rows, batch);
}

}  // namespace trainhook
