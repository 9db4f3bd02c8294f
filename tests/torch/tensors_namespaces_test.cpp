// SPDX-License-Identifier: Apache-2.0
/// @file
/// A program may use both namespaces: `torch::` is LibTorch's, whatever this library brings along.
#include <trainhook/torch/tensors.hpp>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/core/tensor.hpp>

using namespace torch;      // NOLINT(google-build-using-namespace): as programs do
using namespace trainhook;  // NOLINT(google-build-using-namespace)

namespace {

TEST(Namespaces, BothCanBeUsedAtOnce) {
  const torch::Tensor there = torch::ones({2});
  const trainhook::Tensor here = libtorch::to_tensor(there);
  EXPECT_TRUE(torch::equal(libtorch::from_tensor(here), there));
  EXPECT_TRUE(equal(libtorch::view_of(here), there)) << "a name that only LibTorch has";
}

}  // namespace
