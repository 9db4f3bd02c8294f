// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_module: which variables a module has, and that they are reached by handle, wherever their values are.
#include <trainhook/torch/modules.hpp>

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/torch/tensors.hpp>

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
  EXPECT_THROW(add_tensor(loop, "rows", ::torch::eye(2).to_sparse()), UnimplementedError);
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

TEST_F(Modules, SaysSoIfATensorHasBecomeAnother) {
  add_module(loop, "net", net);
  net.to(::torch::kDouble);
  try {
    (void)saved("net/first.bias");
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_STREQ(error.what(),
                 "the tensor 'net/first.bias' was Float[3] when it was registered and is Double[3] now: convert and "
                 "resize before that");
  }
}

TEST_F(Modules, RefusesWhatIsNoTensorOrHasNoDtypeHere) {
  EXPECT_THROW(add_tensor(loop, "w", ::torch::Tensor()), InvalidArgumentError);
  EXPECT_THROW(add_tensor(loop, "w", ::torch::zeros({2}, ::torch::kComplexHalf)), UnimplementedError);
}

}  // namespace
}  // namespace trainhook::libtorch
