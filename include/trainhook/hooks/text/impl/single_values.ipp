// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/text/single_values.hpp>

#include <algorithm>
#include <cstddef>

#include <trainhook/core/error.hpp>
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/graph/op_signature.hpp>

namespace trainhook::detail {

/// Whether a tensor of this shape may have exactly one element.
inline bool may_be_single(const PartialShape& shape) {
  return std::ranges::all_of(shape.dims(), [](std::int64_t dim) { return dim == 1 || dim == kUnknownDim; });
}

inline std::string_view single_value_of(DType dtype) noexcept {
  if (is_real(dtype)) return "its mean";
  return is_complex(dtype) ? "its absolute value" : "its size";
}

void expect_single_value(std::string_view hook, std::string_view value, DType dtype, const PartialShape& shape,
                         Takes takes) {
  const bool takes_texts = takes == Takes::NumbersAndTexts;
  const bool is_taken = is_real(dtype) || (takes_texts && dtype == DType::String);
  if (is_taken && may_be_single(shape)) return;
  throw InvalidArgumentError(
      "{}: '{}' is {}{}; this hook takes single numbers{}, so give what is computed from it, such as {}", hook, value,
      dtype, shape, takes_texts ? ", bools and strings" : " and bools", single_value_of(dtype));
}

FetchList resolve_single_values(const FetchRefs& refs, const Graph& graph, std::string_view hook, Takes takes) {
  FetchList fetches = refs.resolve_outputs(graph, hook);
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const Output tensor(&fetches[i].node(), static_cast<std::size_t>(fetches[i].index()));
    expect_single_value(hook, refs.entries()[i].tag, tensor.dtype(), tensor.shape(), takes);
  }
  return fetches;
}

}  // namespace trainhook::detail
