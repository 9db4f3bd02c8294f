// SPDX-License-Identifier: Apache-2.0
/// @file
/// A user's library.
#include <trainhook/core/tensor.hpp>

int count();
int count() { return static_cast<int>(trainhook::Tensor::of<float>({1, 2, 3}).num_elements()); }
