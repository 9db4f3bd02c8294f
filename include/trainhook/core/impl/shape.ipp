// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/shape.hpp>

#include <fmt/format.h>

namespace trainhook::detail {

std::string dims_to_string(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    if (dims[i] == kUnknownDim) {
      text += '?';
    } else {
      text += fmt::format("{}", dims[i]);
    }
  }
  text += ']';
  return text;
}

void throw_bad_shape(std::span<const std::int64_t> dims, std::int64_t least) {
  if (dims.size() > kMaxRank)
    throw InvalidArgumentError("a shape has at most {} dimensions, not {}", kMaxRank, dims.size());
  const std::string text = dims_to_string(dims);
  for (const std::int64_t dim : dims) {
    if (dim >= least) continue;
    if (least == 0) throw InvalidArgumentError("shape {} has a negative dimension", text);
    throw InvalidArgumentError("shape {} has a dimension below {}", text, least);
  }
  throw InvalidArgumentError("shape {} has more elements than 63 bits count", text);
}

}  // namespace trainhook::detail

namespace trainhook {

std::string Shape::to_string() const { return detail::dims_to_string(dims()); }

Shape PartialShape::known() const {
  if (!is_fully_known()) throw FailedPreconditionError("shape {} is not fully known", to_string());
  return Shape(dims());
}

std::string PartialShape::to_string() const { return known_rank_ ? detail::dims_to_string(dims()) : "<unknown>"; }

}  // namespace trainhook
