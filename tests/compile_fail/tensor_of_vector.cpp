// SPDX-License-Identifier: Apache-2.0
/// @file
/// A tensor of a vector needs a shape.
// WRONG: needs a shape
#include <span>
#include <vector>

#include <trainhook/core/tensor.hpp>

namespace th = trainhook;

th::Tensor make() {
#ifdef WRONG
  const std::vector<float> pixels(4);
  return th::Tensor(pixels);
#else
  const std::vector<float> pixels(4);
  return th::Tensor::copy_of(std::span(pixels), {2, 2});
#endif
}
