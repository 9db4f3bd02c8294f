// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, random numbers.
#include <trainhook/engine/kernels/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels/array.hpp>
#include <trainhook/engine/kernels/math.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/random.hpp>

namespace trainhook {
namespace {

class RandomKernelsTest : public ::testing::Test {
 protected:
  Output draw(const std::string& type, std::int64_t seed, std::int64_t seed2 = 0) {
    const Output shape = constant(graph_, Tensor::of<std::int32_t>({10'000}));
    return graph_
        .add({.type = type,
              .inputs = {shape},
              .attrs = {{"seed", seed}, {"seed2", seed2}, {"dtype", DType::Float}, {"T", DType::Int32}},
              .outputs = {{DType::Float, PartialShape{10'000}}}})
        .output();
  }
  Graph graph_;
};

double mean_of(const Tensor& tensor) {
  double sum = 0;
  for (const float value : tensor.data<float>()) sum += static_cast<double>(value);
  return sum / static_cast<double>(tensor.num_elements());
}
double deviation_of(const Tensor& tensor) {
  double sum = 0;
  const double mean = mean_of(tensor);
  for (const float value : tensor.data<float>()) sum += std::pow(static_cast<double>(value) - mean, 2);
  return std::sqrt(sum / static_cast<double>(tensor.num_elements()));
}

TEST_F(RandomKernelsTest, FollowTheirDistributions) {
  const Output uniform = draw("RandomUniform", 1);
  const Output normal = draw("RandomStandardNormal", 1);
  const Output truncated = draw("TruncatedNormal", 1);
  GraphSession session(graph_, {.kernels = {kernels::random()}});
  const auto [u, n, t] = session.run({uniform, normal, truncated});
  EXPECT_NEAR(mean_of(u), 0.5, 0.02);
  EXPECT_NEAR(deviation_of(u), std::sqrt(1.0 / 12), 0.02);
  EXPECT_GE(*std::ranges::min_element(u.data<float>()), 0.0F);
  EXPECT_LT(*std::ranges::max_element(u.data<float>()), 1.0F);
  EXPECT_NEAR(mean_of(n), 0, 0.05);
  EXPECT_NEAR(deviation_of(n), 1, 0.05);
  EXPECT_NEAR(deviation_of(t), 0.88, 0.05);
  EXPECT_LE(*std::ranges::max_element(t.data<float>()), 2.0F);
}

TEST_F(RandomKernelsTest, GiveNewNumbersEachRunAndTheSameInEachSession) {
  const Output uniform = draw("RandomUniform", 1, 2);
  GraphSession one(graph_, {.kernels = {kernels::random()}});
  GraphSession two(graph_, {.kernels = {kernels::random()}});
  const Tensor first = one.run(uniform);
  EXPECT_NE(one.run(uniform), first);
  EXPECT_EQ(two.run(uniform), first);
}

TEST_F(RandomKernelsTest, TakeTheSessionsSeedWhereTheyHaveNone) {
  const Output uniform = draw("RandomUniform", 0);
  GraphSession seeded(graph_, {.kernels = {kernels::random()}, .seed = 7});
  GraphSession again(graph_, {.kernels = {kernels::random()}, .seed = 7});
  GraphSession any(graph_, {.kernels = {kernels::random()}});
  const Tensor first = seeded.run(uniform);
  EXPECT_EQ(again.run(uniform), first);
  EXPECT_NE(any.run(uniform), first);
}

TEST_F(RandomKernelsTest, DropAtTheRateThatARunIsFed) {
  const Output rate = placeholder(graph_, DType::Float, Shape{}, "rate");
  const Output kept = dropout(ones(graph_, Shape{10'000}), rate, 1);
  GraphSession session(graph_, {.kernels = {kernels::random(), kernels::math(), kernels::array()}});
  EXPECT_EQ(session.run(kept, {{rate, Tensor(0.0F)}}), session.run(ones(graph_, Shape{10'000})));
  const Tensor fewer = session.run(kept, {{rate, Tensor(0.75F)}});
  EXPECT_NEAR(static_cast<double>(std::ranges::count(fewer.data<float>(), 0.0F)), 7'500, 200);
  EXPECT_EQ(*std::ranges::max_element(fewer.data<float>()), 4.0F);
}

TEST_F(RandomKernelsTest, RefuseAStateOfAnotherKind) {
  draw("RandomUniform", 1);
  GraphSession session(graph_, {.kernels = {kernels::random()}});
  const std::vector<NamedTensor> wrong{{"_trainhook/random/RandomUniform", Tensor::of<std::int64_t>({1, 2})}};
  EXPECT_THROW(session.load(wrong), InvalidArgumentError);
}

TEST_F(RandomKernelsTest, DrawIntegersFromARange) {
  const Output shape = constant(graph_, Tensor::of<std::int32_t>({1000}));
  const Output integers =
      graph_
          .add(
              {.type = "RandomUniformInt",
               .inputs = {shape, constant(graph_, Tensor(std::int32_t{-2})), constant(graph_, Tensor(std::int32_t{3}))},
               .attrs =
                   {{"seed", std::int64_t{1}}, {"seed2", std::int64_t{0}}, {"Tout", DType::Int32}, {"T", DType::Int32}},
               .outputs = {{DType::Int32, PartialShape{1000}}}})
          .output();
  GraphSession session(graph_, {.kernels = {kernels::random()}});
  const Tensor drawn = session.run(integers);
  const auto [low, high] = std::ranges::minmax(drawn.data<std::int32_t>());
  EXPECT_EQ(low, -2);
  EXPECT_EQ(high, 2);
}

}  // namespace
}  // namespace trainhook
