// SPDX-License-Identifier: Apache-2.0
/// @file
/// A tensor has no elements of type char.
// WRONG: std::int8_t or std::uint8_t for char
#include <trainhook/core/tensor.hpp>

namespace th = trainhook;

th::Tensor make() {
#ifdef WRONG
  return th::Tensor('a');
#else
  return th::Tensor("a");
#endif
}
