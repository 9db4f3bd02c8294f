// SPDX-License-Identifier: Apache-2.0
/// @file
/// One file of a program of two; use_ones.cpp is the other.
#include <trainhook/core/tensor.hpp>

trainhook::Tensor ones();
trainhook::Tensor ones() { return trainhook::Tensor::of<float>({1, 1, 1}); }
