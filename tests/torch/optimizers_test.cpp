// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_optimizer: the same bits after a restore, what stays absent, and the names under which each piece is kept.
#include <trainhook/torch/optimizers.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/torch/modules.hpp>
#include <trainhook/torch/tensors.hpp>

#include "expect_error.hpp"

namespace trainhook::libtorch {
namespace {

namespace optim = ::torch::optim;
using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(const std::vector<::torch::Tensor>&)>;

template <class O, class Options>
MakeOptimizer making(Options options) {
  return [options](const std::vector<::torch::Tensor>& parameters) { return std::make_unique<O>(parameters, options); };
}

std::map<std::string, Tensor> by_name_in(const std::vector<NamedTensor>& entries) {
  std::map<std::string, Tensor> all;
  for (const NamedTensor& entry : entries) all.emplace(entry.name, entry.tensor);
  return all;
}

/// A net with its optimizer and the loop that knows both.
struct Process {
  explicit Process(const MakeOptimizer& make) : optimizer(make(net->parameters())) {
    add_module(loop, "net", *net);
    add_optimizer(loop, "opt", *optimizer, *net);
  }
  void step() {
    optimizer->step([&] {
      optimizer->zero_grad();
      const ::torch::Tensor x = ::torch::arange(6, ::torch::kFloat).reshape({3, 2}) / 6;
      const ::torch::Tensor loss = (net->forward(x) - x.sum(1, true)).pow(2).mean();
      loss.backward();
      return loss;
    });
  }
  std::vector<NamedTensor> everything() {
    std::vector<NamedTensor> all;
    for (const StateSpec& spec : loop.state()) {
      if (spec.name != "global_step") all.push_back({spec.name, loop.saved_value(spec.name)});
    }
    return all;
  }
  std::map<std::string, Tensor> by_name() { return by_name_in(everything()); }

  ::torch::nn::Linear net{2, 1};
  std::unique_ptr<optim::Optimizer> optimizer;
  LoopSession loop;
};

const std::map<std::string, MakeOptimizer> kOptimizers = {
    {"Adam", making<optim::Adam>(optim::AdamOptions(0.1))},
    {"AMSGrad", making<optim::Adam>(optim::AdamOptions(0.1).amsgrad(true))},
    {"AdamW", making<optim::AdamW>(optim::AdamWOptions(0.1))},
    {"SGD", making<optim::SGD>(optim::SGDOptions(0.1))},
    {"momentum", making<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9))},
    {"RMSprop", making<optim::RMSprop>(optim::RMSpropOptions(0.1))},
    {"centered RMSprop", making<optim::RMSprop>(optim::RMSpropOptions(0.1).centered(true).momentum(0.5))},
    {"Adagrad", making<optim::Adagrad>(optim::AdagradOptions(0.1))},
    {"LBFGS", making<optim::LBFGS>(optim::LBFGSOptions(0.1).max_iter(3).history_size(4))},
    {"LBFGS with a line search",
     making<optim::LBFGS>(optim::LBFGSOptions(0.1).max_iter(3).history_size(4).line_search_fn("strong_wolfe"))},
};

TEST(Optimizers, GoOnWithTheSameBitsFromWhateverStepTheyAreRestored) {
  for (const auto& [name, make] : kOptimizers) {
    for (const int at : {0, 1, 2, 7}) {
      SCOPED_TRACE(name + " at " + std::to_string(at));
      ::torch::manual_seed(1);
      Process whole(make);
      for (int i = 0; i < at; ++i) whole.step();
      const std::vector<NamedTensor> saved = whole.everything();
      for (int i = 0; i < 5; ++i) whole.step();

      Process resumed(make);
      for (int i = 0; i < 3; ++i) resumed.step();  // state that a restore has to remove
      resumed.loop.load(saved);
      EXPECT_EQ(resumed.by_name(), by_name_in(saved));
      for (int i = 0; i < 5; ++i) resumed.step();
      EXPECT_EQ(resumed.by_name(), whole.by_name());
    }
  }
}

TEST(Optimizers, HaveNamesThatTellWhatIsWhat) {
  Process process(making<optim::AdamW>(optim::AdamWOptions(0.1)));
  std::vector<std::string> names;
  for (const NamedTensor& entry : process.everything()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"net/weight", "net/bias", "opt/weight/step", "opt/weight/exp_avg",
                                             "opt/weight/exp_avg_sq", "opt/weight/max_exp_avg_sq", "opt/bias/step",
                                             "opt/bias/exp_avg", "opt/bias/exp_avg_sq", "opt/bias/max_exp_avg_sq",
                                             "opt/group_0/lr", "opt/group_0/beta1", "opt/group_0/beta2",
                                             "opt/group_0/eps", "opt/group_0/weight_decay", "opt/group_0/amsgrad"}));
}

TEST(Optimizers, WhatIsNotMadeYetStaysAbsent) {
  Process sgd(making<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9)));
  EXPECT_EQ(sgd.by_name().at("opt/weight/momentum_buffer"), Tensor(DType::Float, Shape{0}));
  const std::vector<NamedTensor> saved = sgd.everything();
  sgd.step();
  EXPECT_EQ(sgd.by_name().at("opt/weight/momentum_buffer").shape(), (Shape{1, 2}));
  sgd.loop.load(saved);
  EXPECT_EQ(sgd.by_name().at("opt/weight/momentum_buffer"), Tensor(DType::Float, Shape{0}));
  Process adam(making<optim::Adam>(optim::AdamOptions(0.1)));
  EXPECT_EQ(adam.by_name().at("opt/bias/step"), Tensor(std::int64_t{-1}));
  adam.step();
  EXPECT_EQ(adam.by_name().at("opt/bias/step"), Tensor(std::int64_t{1}));
  EXPECT_EQ(adam.by_name().at("opt/bias/max_exp_avg_sq"), Tensor(DType::Float, Shape{0})) << "only with amsgrad";
}

TEST(Optimizers, GroupsKeepTheirOwnOptions) {
  const auto groups = [](const std::vector<::torch::Tensor>& parameters) {
    std::vector<optim::OptimizerParamGroup> all;
    all.emplace_back(std::vector{parameters.at(0)}, std::make_unique<optim::SGDOptions>(0.5));
    all.emplace_back(std::vector{parameters.at(1)}, std::make_unique<optim::SGDOptions>(0.25));
    return std::make_unique<optim::SGD>(all, optim::SGDOptions(1));
  };
  Process process(groups);
  EXPECT_EQ(process.by_name().at("opt/group_0/lr"), Tensor(0.5));
  EXPECT_EQ(process.by_name().at("opt/group_1/lr"), Tensor(0.25));
  const std::vector<NamedTensor> saved = process.everything();
  process.optimizer->param_groups()[1].options().set_lr(7);
  process.loop.load(saved);
  EXPECT_EQ(process.optimizer->param_groups()[1].options().get_lr(), 0.25);
}

TEST(Optimizers, ASlotOfAnotherShapeIsRefusedAndNothingChanges) {
  Process process(making<optim::Adam>(optim::AdamOptions(0.1)));
  process.step();
  const auto before = process.by_name();
  const std::vector<NamedTensor> wrong = {{"opt/weight/exp_avg", Tensor::of<float>({1, 2, 3})}};
  try {
    process.loop.load(wrong);
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "'opt/weight/exp_avg' has the shape [3], and its parameter [1,2]; to begin anew with a layer that has "
                 "grown, leave the state of its parameters out: `restore` = RestoreRules with `rename` = "
                 "{{\"opt/weight\", \"\"}}");
  }
  EXPECT_EQ(process.by_name(), before);
}

TEST(Optimizers, AParameterThatTookThePlaceOfAnotherIsFollowed) {
  Process process(making<optim::Adam>(optim::AdamOptions(0.1)));
  process.step();
  ::torch::Tensor& parameter = process.optimizer->param_groups()[0].params()[0];
  parameter = ::torch::ones({1, 2}, ::torch::requires_grad());
  EXPECT_EQ(process.loop.saved_value("opt/weight/step"), Tensor(std::int64_t{-1})) << "it has made no step";
  process.optimizer->zero_grad();
  parameter.sum().backward();
  process.optimizer->step();
  EXPECT_EQ(process.loop.saved_value("opt/weight/step"), Tensor(std::int64_t{1}));
}

TEST(Optimizers, ParametersThatCameLaterEndTheSave) {
  Process process(making<optim::Adam>(optim::AdamOptions(0.1)));
  process.optimizer->add_param_group(optim::OptimizerParamGroup({::torch::ones({1}, ::torch::requires_grad())}));
  testing::expect_error<FailedPreconditionError>({"'opt' had 2 parameters", "has 3 now", "before add_optimizer"},
                                                 [&] { (void)process.loop.saved_value("opt/weight/step"); });
}

TEST(Optimizers, RefusesParametersOfAnotherModuleAndOptimizersItDoesNotKnow) {
  ::torch::nn::Linear net(2, 1), other(2, 1);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(1));
  LoopSession loop;
  try {
    add_optimizer(loop, "opt", sgd, *other);
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(
        error.what(),
        "add_optimizer: parameter 0 of group 0 of 'opt' is none of the module's; give the module that holds all "
        "of the optimizer's parameters");
  }
  struct Own final : optim::Optimizer {
    explicit Own(const std::vector<::torch::Tensor>& parameters)
        : Optimizer({optim::OptimizerParamGroup(parameters)}, std::make_unique<optim::SGDOptions>(1)) {}
    ::torch::Tensor step(LossClosure) override { return {}; }
  } own(net->parameters());
  EXPECT_THROW(add_optimizer(loop, "own", own, *net), UnimplementedError);
}

TEST(Schedules, GoOnAtTheirStep) {
  const auto rates = [](int before, int after) {
    ::torch::nn::Linear net(2, 1);
    optim::SGD sgd(net->parameters(), optim::SGDOptions(1));
    optim::StepLR schedule(sgd, 3, 0.5);
    LoopSession loop;
    add_optimizer(loop, "opt", sgd, *net);
    add_state(loop, "schedule", schedule);
    for (int i = 0; i < before; ++i) schedule.step();
    std::vector<NamedTensor> saved;
    for (const StateSpec& spec : loop.state()) saved.push_back({spec.name, loop.saved_value(spec.name)});
    for (int i = 0; i < 20; ++i) schedule.step();
    loop.load(saved);
    for (int i = 0; i < after; ++i) schedule.step();
    return sgd.param_groups()[0].options().get_lr();
  };
  for (int before = 0; before < 8; ++before) EXPECT_EQ(rates(before, 8 - before), rates(8, 0)) << before;
}

}  // namespace
}  // namespace trainhook::libtorch
