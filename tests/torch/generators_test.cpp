// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_generators: LibTorch draws the same numbers after a restore.
#include <trainhook/torch/generators.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::libtorch {
namespace {

TEST(Generators, DrawTheSameNumbersAfterARestore) {
  LoopSession loop;
  add_generators(loop);
  ::torch::manual_seed(3);
  (void)::torch::randn({3});  // an odd number of normal numbers: one is kept for the next call
  const NamedTensor state{"torch_generators/cpu", loop.saved_value("torch_generators/cpu")};
  const auto draw = [] {
    ::torch::nn::Dropout dropout(0.5);
    return ::torch::cat({::torch::randn({5}), ::torch::rand({5}), dropout(::torch::ones({20}))});
  };
  const ::torch::Tensor first = draw();
  EXPECT_FALSE(::torch::equal(draw(), first));
  loop.load(std::span(&state, 1));
  EXPECT_TRUE(::torch::equal(draw(), first));
}

TEST(Generators, AStateThatLibTorchRefusesIsNoDamage) {
  LoopSession loop;
  add_generators(loop);
  const NamedTensor junk{"torch_generators/cpu", Tensor::of<std::uint8_t>({1, 2, 3})};
  EXPECT_THROW(loop.load(std::span(&junk, 1)), InvalidArgumentError);
}

TEST(Generators, OneOfAProgramsOwnIsNamedByIt) {
  LoopSession loop;
  ::at::Generator own = ::at::detail::createCPUGenerator(5);
  add_generator(loop, "noise", own);
  const NamedTensor state{"noise", loop.saved_value("noise")};
  const ::torch::Tensor first = ::torch::rand({4}, own);
  loop.load(std::span(&state, 1));
  EXPECT_TRUE(::torch::equal(::torch::rand({4}, own), first));
  for (const StateSpec& spec : loop.state()) EXPECT_EQ(spec.is_generator, spec.name == "noise");
}

}  // namespace
}  // namespace trainhook::libtorch
