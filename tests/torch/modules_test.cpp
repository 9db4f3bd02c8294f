// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_module: which variables a module has, and that they are reached by handle, wherever their values are.
/// add_generators: LibTorch draws the same numbers after a restore.
#include <trainhook/torch/modules.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/torch/tensors.hpp>

#include "expect_error.hpp"

namespace trainhook::libtorch {
namespace {

struct Net : ::torch::nn::Module {
  ::torch::nn::Linear first = register_module("first", ::torch::nn::Linear(2, 3));
  ::torch::nn::BatchNorm1d norm = register_module("norm", ::torch::nn::BatchNorm1d(3));
};

struct Modules : ::testing::Test {
  [[nodiscard]] std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const StateSpec& spec : loop.state()) {
      if (spec.name != "global_step") all.push_back(spec.name);
    }
    return all;
  }
  Tensor saved(const std::string& name) { return loop.saved_value(name); }
  void load(const std::string& name, const Tensor& value) {
    const NamedTensor entry{name, value};
    loop.load(std::span(&entry, 1));
  }
  LoopSession loop;
  Net net;
};

TEST_F(Modules, HasEachParameterAndBufferByName) {
  add_module(loop, "net", net);
  EXPECT_EQ(names(), (std::vector<std::string>{"net/first.weight", "net/first.bias", "net/norm.weight", "net/norm.bias",
                                               "net/norm.running_mean", "net/norm.running_var",
                                               "net/norm.num_batches_tracked"}));
  EXPECT_EQ(saved("net/first.weight"), to_tensor(net.first->weight));
  EXPECT_EQ(saved("net/norm.num_batches_tracked"), to_tensor(net.norm->num_batches_tracked));
}

TEST_F(Modules, ASparseTensorIsRefusedAtOnce) {
  const ::torch::Tensor sparse = ::torch::eye(2).to_sparse();
  EXPECT_THROW(add_tensor(loop, "rows", sparse), UnimplementedError);
}

TEST_F(Modules, ATiedTensorIsOneVariable) {
  ::torch::nn::Linear second(2, 3);
  second->weight = net.first->weight;
  struct Tied : ::torch::nn::Module {
    Tied(const ::torch::Tensor& one, const ::torch::Tensor& same) {
      register_parameter("encoder", one);
      register_parameter("decoder", same);
    }
  } tied(net.first->weight, second->weight);
  add_module(loop, "tied", tied);
  EXPECT_EQ(names(), std::vector<std::string>{"tied/encoder"});
}

TEST_F(Modules, OnlyWhatHasAGradientIsTrainable) {
  net.first->bias.requires_grad_(false);
  add_module(loop, "net", net);
  std::vector<std::string> trainable;
  for (const Variable& variable : loop.graph().collection<Variable>(graph_keys::kTrainableVariables))
    trainable.emplace_back(variable.name());
  EXPECT_EQ(trainable, (std::vector<std::string>{"net/first.weight", "net/norm.weight", "net/norm.bias"}));
}

TEST_F(Modules, WhatIsPutBehindAHandleLaterIsSavedAndRestored) {
  add_module(loop, "net", net);
  net.first->weight.set_data(::torch::full({2, 3}, 5.0F).t());  // other memory, in another order
  EXPECT_EQ(saved("net/first.weight"), Tensor::of<float>({5, 5, 5, 5, 5, 5}, Shape{3, 2}));
  load("net/first.weight", Tensor::of<float>({1, 2, 3, 4, 5, 6}, Shape{3, 2}));
  EXPECT_EQ(net.first->weight[2][0].item<float>(), 5);
  EXPECT_FALSE(net.first->weight.is_contiguous()) << "its memory is written, not replaced";
}

TEST_F(Modules, AnExpandedTensorGetsMemoryForEachElement) {
  const ::torch::Tensor one = ::torch::zeros({1}).expand({3});
  add_tensor(loop, "w", one);
  load("w", Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(to_tensor(one), Tensor::of<float>({1, 2, 3}));
}

TEST_F(Modules, ChannelsLastAndBfloat16AreSavedAsTheyAreRead) {
  const ::torch::Tensor image =
      ::torch::arange(24, ::torch::kBFloat16).reshape({1, 2, 3, 4}).contiguous(::torch::MemoryFormat::ChannelsLast);
  add_tensor(loop, "image", image);
  const Tensor before = saved("image");
  EXPECT_EQ(before.dtype(), DType::BFloat16);
  EXPECT_EQ(before, to_tensor(::torch::arange(24, ::torch::kBFloat16).reshape({1, 2, 3, 4})));
  ::torch::Tensor handle = image;
  handle.zero_();
  load("image", before);
  EXPECT_EQ(to_tensor(image), before);
  EXPECT_TRUE(image.is_contiguous(::torch::MemoryFormat::ChannelsLast));
}

TEST_F(Modules, RestoringLeavesNoTraceInTheGradientGraph) {
  add_module(loop, "net", net);
  load("net/first.bias", Tensor::of<float>({1, 2, 3}));
  EXPECT_TRUE(net.first->bias.is_leaf());
  EXPECT_FALSE(net.first->bias.grad().defined());
}

template <class T>
concept TakesTensor = requires(LoopSession& loop, T&& tensor) { add_tensor(loop, "t", std::forward<T>(tensor)); };
static_assert(TakesTensor<::torch::Tensor&> && TakesTensor<const ::torch::Tensor&>);
static_assert(!TakesTensor<::torch::Tensor> && !TakesTensor<const ::torch::Tensor>, "it would be gone");

TEST_F(Modules, ATensorIsTheOneThatTheVariableRefersToNow) {
  ::torch::Tensor hidden = ::torch::zeros({2});
  add_tensor(loop, "hidden", hidden);
  for (int step = 1; step < 3; ++step) {
    const ::torch::Tensor next = ::torch::full({2}, static_cast<float>(step), ::torch::requires_grad()) * 2;
    hidden = next.detach();
  }
  EXPECT_EQ(saved("hidden"), Tensor::of<float>({4, 4}));
  load("hidden", Tensor::of<float>({5, 6}));
  EXPECT_EQ(to_tensor(hidden), Tensor::of<float>({5, 6}));
  hidden = ::torch::Tensor();
  testing::expect_error<FailedPreconditionError>({"no dense tensor 'hidden' any more"}, [&] { (void)saved("hidden"); });
}

TEST_F(Modules, AReplacedLayerIsFollowed) {
  add_module(loop, "net", net);
  net.first = net.replace_module("first", ::torch::nn::Linear(2, 3));
  EXPECT_EQ(saved("net/first.weight"), to_tensor(net.first->weight));
  load("net/first.bias", Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(to_tensor(net.first->bias), Tensor::of<float>({1, 2, 3}));
}

TEST_F(Modules, ALayerWithOtherTensorsEndsTheSave) {
  add_module(loop, "net", net);
  net.replace_module("first", ::torch::nn::Linear(::torch::nn::LinearOptions(2, 3).bias(false)));
  testing::expect_error<FailedPreconditionError>({"'net/first.bias'"}, [&] { (void)saved("net/first.bias"); });
  net.replace_module("first", ::torch::nn::Linear(5, 3));
  testing::expect_error<FailedPreconditionError>({"'net/first.weight'", "Float[3,5] now"},
                                                 [&] { (void)saved("net/first.weight"); });
  net.replace_module("first", ::torch::nn::Linear(2, 3));
  net.register_module("second", ::torch::nn::Linear(3, 1));
  testing::expect_error<FailedPreconditionError>({"'net'", "'second.weight'", "before add_module"},
                                                 [&] { (void)saved("net/first.weight"); });
}

TEST_F(Modules, AnAssignedParameterThatTheModuleDoesNotKnowEndsTheSave) {
  add_module(loop, "net", net);
  ::torch::nn::Linear tied(2, 3);
  net.register_module("tied", tied);
  tied->weight = net.first->weight;
  tied->bias = net.first->bias;
  LoopSession other;
  add_module(other, "net", net);
  EXPECT_EQ(other.saved_value("net/first.weight"), to_tensor(net.first->weight)) << "it is saved by another name";
  net.first->weight = ::torch::ones({3, 2});
  testing::expect_error<FailedPreconditionError>({"'first.weight' of the module 'net' was assigned", "replace_module"},
                                                 [&] { (void)other.saved_value("net/first.weight"); });
}

TEST_F(Modules, SaysSoIfATensorHasBecomeAnother) {
  add_module(loop, "net", net);
  net.to(::torch::kDouble);
  try {
    (void)saved("net/first.bias");
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_STREQ(error.what(),
                 "the read function of variable 'net/first.bias' threw: the tensor 'net/first.bias' was Float[3] when "
                 "it was registered and is Double[3] now: convert and resize before that");
  }
}

TEST_F(Modules, RefusesWhatIsNoTensorOrHasNoDtypeHere) {
  const ::torch::Tensor none;
  const ::torch::Tensor half = ::torch::zeros({2}, ::torch::kComplexHalf);
  EXPECT_THROW(add_tensor(loop, "w", none), InvalidArgumentError);
  EXPECT_THROW(add_tensor(loop, "w", half), UnimplementedError);
}

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
