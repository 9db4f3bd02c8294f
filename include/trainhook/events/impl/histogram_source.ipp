// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/histogram_source.hpp>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

/// @throws InvalidArgumentError, naming `tag`, if the elements are not real numbers.
inline void expect_countable(std::string_view tag, const Tensor& tensor) {
  if (!is_real(tensor.dtype()))
    throw InvalidArgumentError("histogram {} cannot count {} elements; give it real numbers", tag, tensor.dtype());
}

HistogramSource histogram_source(std::string_view tag, const Tensor& tensor) {
  expect_countable(tag, tensor);
  return {&tensor, static_cast<std::size_t>(tensor.num_elements()),
          [](const void* from, std::size_t first, std::span<double> to) {
            read_doubles(*static_cast<const Tensor*>(from), first, to);
          }};
}

float first_as_float(std::string_view tag, const Tensor& tensor) {
  expect_countable(tag, tensor);
  return visit_real(tensor, [](auto values) { return real_as<float>(values[0]); });
}

}  // namespace trainhook::detail
