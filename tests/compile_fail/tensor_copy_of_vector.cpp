// SPDX-License-Identifier: Apache-2.0
/// @file
/// The elements of a tensor come as a span.
// WRONG: the values are a span of constants
#include <span>
#include <vector>

#include <trainhook/core/tensor.hpp>

namespace th = trainhook;

th::Tensor make() {
#ifdef WRONG
  std::vector<float> pixels(4);
  return th::Tensor::copy_of(pixels, {2, 2});
#else
  std::vector<float> pixels(4);
  return th::Tensor::copy_of(std::span<const float>(pixels), {2, 2});
#endif
}
