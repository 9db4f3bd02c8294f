// SPDX-License-Identifier: Apache-2.0
/// @file
/// A second file of the user's, so that what is not inline shows.
#include <trainhook/core/tensor.hpp>

int other(const trainhook::Tensor& tensor) { return static_cast<int>(tensor.num_elements()); }
