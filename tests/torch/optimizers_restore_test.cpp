// SPDX-License-Identifier: Apache-2.0
/// @file
/// An Adam's state of layers that got another name or have grown, restored by RestoreRules.
#include <trainhook/torch/optimizers.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/torch/modules.hpp>
#include <trainhook/torch/optimizer_state.hpp>

namespace trainhook::libtorch {
namespace {

/// Two layers, the first perhaps in a module `enc`, and the Adam that trains them.
struct Program {
  explicit Program(bool is_inside, std::int64_t units = 1) {
    ::torch::nn::Module& parent =
        is_inside ? *net.register_module("enc", std::make_shared<::torch::nn::Module>()) : net;
    parent.register_module("fc1", ::torch::nn::Linear(1, units));
    net.register_module("fc10", ::torch::nn::Linear(1, 1));
    adam = std::make_unique<::torch::optim::Adam>(net.parameters());
    add_module(loop, "net", net);
    add_optimizer(loop, "adam", *adam, net);
  }
  void step() {
    float gradient = 1;
    for (const ::torch::Tensor& parameter : net.parameters())
      parameter.mutable_grad() = ::torch::full_like(parameter, gradient++);
    adam->step();
  }
  void restore(const RestoreRules& rules, const Saver& saver, const std::string& prefix) {
    const std::shared_ptr<const RestorePolicy> policy = rules;
    policy->restore(loop, saver, prefix, "", [] {});
  }
  [[nodiscard]] ::torch::Tensor parameter(const std::string& name) const { return net.named_parameters()[name]; }
  /// 0 if Adam has none.
  [[nodiscard]] float momentum(const std::string& name) const {
    auto* const state = detail::find_state<::torch::optim::AdamParamState>(*adam, parameter(name));
    return state == nullptr ? 0 : state->exp_avg().item<float>();
  }

  ::torch::nn::Module net;
  std::unique_ptr<::torch::optim::Adam> adam;
  LoopSession loop;
};

struct RestoringOptimizer : ::testing::Test {
  RestoringOptimizer() {
    before.step();
    prefix = saver.save(before.loop, {.save_path = "old/m", .global_step = 1});
  }
  trainhook::testing::MemoryFileSystem disk;
  Saver saver{{.file_system = &disk}};
  Program before{false};
  std::string prefix;
};

TEST_F(RestoringOptimizer, GivesARenamedLayerTheStateThatItHad) {
  for (const auto& [old, renamed] : {std::pair("net/fc1", "net/enc.fc1"), std::pair("fc1", "enc.fc1")}) {
    SCOPED_TRACE(old);
    Program now(true);
    now.restore({.rename = {{old, renamed}}}, saver, prefix);
    EXPECT_EQ(now.parameter("enc.fc1.weight").item<float>(), before.parameter("fc1.weight").item<float>());
    EXPECT_EQ(now.momentum("enc.fc1.weight"), before.momentum("fc1.weight"));
    EXPECT_EQ(now.momentum("enc.fc1.bias"), before.momentum("fc1.bias"));
    EXPECT_EQ(now.momentum("fc10.weight"), before.momentum("fc10.weight"));
  }
  EXPECT_NE(before.momentum("fc1.weight"), 0);
}

TEST_F(RestoringOptimizer, BeginsAnewForAGrownLayerWhoseStateIsLeftOut) {
  Program now(false, 2);
  RestoreRules rules{.reshape = [](const std::string&, const Tensor& saved, Tensor grown) {
    grown.mutable_data<float>()[0] = saved.data<float>()[0];
    return grown;
  }};
  try {
    now.restore(rules, saver, prefix);
    ADD_FAILURE() << "the momentum has another shape";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(
        error.what(),
        "restoring old/m-1: 'adam/fc1.weight/exp_avg' has the shape [1,1], and its parameter [2,1]; to begin anew with "
        "a layer that has grown, leave the state of its parameters out: `restore` = RestoreRules with `rename` = "
        "{{\"adam/fc1.weight\", \"\"}}");
  }
  rules.rename = {{"adam/fc1", ""}};
  now.restore(rules, saver, prefix);
  EXPECT_EQ(now.parameter("fc1.weight")[0].item<float>(), before.parameter("fc1.weight").item<float>());
  EXPECT_EQ(now.momentum("fc1.weight"), 0);
  EXPECT_EQ(now.momentum("fc10.weight"), before.momentum("fc10.weight"));
  now.step();
  EXPECT_EQ(detail::find_state<::torch::optim::AdamParamState>(*now.adam, now.parameter("fc1.weight"))->step(), 1);
}

}  // namespace
}  // namespace trainhook::libtorch
