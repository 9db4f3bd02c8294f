// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_value and add_histograms: what a hook fetches, and that nothing is copied unless one asks.
#include <trainhook/torch/values.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/core/tensor.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook::libtorch {
namespace {

TEST(Values, AreThoseThatTheStepAssigns) {
  LoopSession loop;
  ::torch::Tensor loss;
  const Output value = add_value(loop, "loss", loss);
  loop.open();
  EXPECT_TRUE(std::isnan(loop.run(value).scalar<float>())) << "before the first step";
  loss = ::torch::tensor(0.5F, ::torch::requires_grad()) * 3;
  EXPECT_EQ(loop.run(value).scalar<float>(), 1.5F);
  loss = ::torch::full({1, 1}, 2, ::torch::kBFloat16);
  EXPECT_EQ(loop.run(value).scalar<float>(), 2);
  loss = ::torch::full({}, 1e300, ::torch::kDouble);
  EXPECT_TRUE(std::isinf(loop.run(value).scalar<float>())) << "beyond a float";
}

template <class T>
concept TakesValue = requires(LoopSession& loop, T&& tensor) { add_value(loop, "v", std::forward<T>(tensor)); };
static_assert(TakesValue<::torch::Tensor&> && !TakesValue<::torch::Tensor>);

TEST(Histograms, FollowAReplacedLayer) {
  LoopSession loop;
  ::torch::nn::Module net;
  net.register_module("first", ::torch::nn::Linear(1, 1));
  add_histograms(loop, "net", net);
  loop.open();
  ::torch::nn::Linear second(1, 1);
  ::torch::nn::init::constant_(second->weight, 3);
  net.replace_module("first", second);
  EXPECT_EQ(parse_summary(loop.run("net/first.weight").scalar<std::string>()).at(0).histogram->sum, 3);
}

TEST(Histograms, OneOfEachParameterAndOfItsGradient) {
  LoopSession loop;
  ::torch::nn::Linear net(2, 1);
  add_histograms(loop, "net", *net, true);
  std::vector<std::string> names;
  for (const Output& summary : loop.graph().collection<Output>(graph_keys::kSummaries))
    names.emplace_back(summary.operation().name());
  EXPECT_EQ(names, (std::vector<std::string>{"net/weight", "net/weight/gradient", "net/bias", "net/bias/gradient"}));
  loop.open();
  ::torch::Tensor weight = net->weight;
  weight.set_data(::torch::tensor({{1.0F, NAN}}));
  const auto values = parse_summary(loop.run("net/weight").scalar<std::string>());
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].tag, "net/weight");
  ASSERT_TRUE(values[0].histogram);
  EXPECT_EQ(values[0].histogram->num, 1) << "without what is not finite";
  EXPECT_EQ(loop.run("net/weight/gradient").scalar<std::string>(), "") << "there is none yet";
}

}  // namespace
}  // namespace trainhook::libtorch
