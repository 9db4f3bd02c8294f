// SPDX-License-Identifier: Apache-2.0
/// @file
/// A user's program, as small as one can be.
#include <trainhook/core/tensor.hpp>

int other(const trainhook::Tensor& tensor);

int main() { return other(trainhook::Tensor::of<float>({1, 2, 3})) == 3 ? 0 : 1; }
