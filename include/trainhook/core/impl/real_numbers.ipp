// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/real_numbers.hpp>

#include <algorithm>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

void throw_not_real(DType dtype) { throw InvalidArgumentError("{} is no real number", dtype); }

std::optional<double> tensor_number(const Tensor& tensor) {
  if (tensor.num_elements() != 1 || !is_real(tensor.dtype())) return std::nullopt;
  double number = 0;
  read_doubles(tensor, 0, {&number, 1});
  return number;
}

void read_doubles(const Tensor& tensor, std::size_t first, std::span<double> to) {
  visit_real(tensor, [&](auto values) {
    std::ranges::transform(values.subspan(first, to.size()), to.begin(),
                           [](auto value) { return real_as<double>(value); });
  });
}

Tensor as_floats(const Tensor& tensor) {
  Tensor floats = Tensor::uninitialized(DType::Float, tensor.shape());
  visit_real(tensor, [&](auto values) {
    std::ranges::transform(values, floats.overwrite_data<float>().begin(),
                           [](auto value) { return real_as<float>(value); });
  });
  return floats;
}

}  // namespace trainhook::detail
