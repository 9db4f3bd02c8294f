// SPDX-License-Identifier: Apache-2.0
/// @file
/// A tensor holds no type that a checkpoint could not.
// WRONG: has numbers, bool, std::string and complex numbers as elements, nothing else
#include <trainhook/core/tensor.hpp>

trainhook::Tensor make() {
#ifdef WRONG
  struct Particle {};
  return trainhook::Tensor::of<Particle>({});
#else
  return trainhook::Tensor::of<float>({});
#endif
}
