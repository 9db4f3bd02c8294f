// SPDX-License-Identifier: Apache-2.0
/// @file
/// A tensor holds no type that a checkpoint could not: the concept TensorElement says so.
// WRONG LATER: TensorElement
#include <trainhook/core/tensor.hpp>

trainhook::Tensor make() {
#ifdef WRONG
  struct Particle {};
  return trainhook::Tensor::of<Particle>({});
#else
  return trainhook::Tensor::of<float>({});
#endif
}
