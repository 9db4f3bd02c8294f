// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, random numbers.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/ops/random.hpp>

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

TEST_F(RandomKernelsTest, TakeTheSessionsSeedIfTheyHaveNone) {
  const Output uniform = draw("RandomUniform", 0);
  GraphSession seeded(graph_, {.kernels = {kernels::random()}, .seed = 7});
  GraphSession again(graph_, {.kernels = {kernels::random()}, .seed = 7});
  GraphSession any(graph_, {.kernels = {kernels::random()}});
  const Tensor first = seeded.run(uniform);
  EXPECT_EQ(again.run(uniform), first);
  EXPECT_NE(any.run(uniform), first);
}

/// In each of three runs, what `ranks` sessions of a job draw, one after the other, or what one session draws alone.
template <class T>
std::vector<std::vector<T>> draws_of(const std::string& type, int ranks, std::int64_t rows) {
  std::vector<std::vector<T>> runs(3);
  for (int rank = 0; rank < ranks; ++rank) {
    Graph graph;
    const Output shape = constant(graph, Tensor::of<std::int32_t>({static_cast<std::int32_t>(rows / ranks), 3}));
    const Output drawn = graph
                             .add({.type = type,
                                   .inputs = {shape},
                                   .attrs = {{"seed", std::int64_t{1}},
                                             {"seed2", std::int64_t{2}},
                                             {"dtype", dtype_of<T>},
                                             {"T", DType::Int32}},
                                   .outputs = {{dtype_of<T>, PartialShape{kUnknownDim, 3}}}})
                             .output();
    GraphSession session(graph, {.kernels = {kernels::random()}});
    session.draw_share(rank, ranks);
    for (std::vector<T>& run : runs) {
      const Tensor part = session.run(drawn);
      run.insert(run.end(), part.data<T>().begin(), part.data<T>().end());
    }
  }
  return runs;
}

TEST_F(RandomKernelsTest, EachRankDrawsItsRowsOfWhatOneProcessDraws) {
  for (const std::string type : {"RandomUniform", "RandomStandardNormal"}) {
    for (const int ranks : {2, 3, 6}) {  // with 6, the rows of a rank begin and end in the middle of a pair
      EXPECT_EQ(draws_of<float>(type, ranks, 6), draws_of<float>(type, 1, 6)) << type << ranks;
      EXPECT_EQ(draws_of<double>(type, ranks, 6), draws_of<double>(type, 1, 6)) << type << ranks;
    }
  }
}

TEST_F(RandomKernelsTest, OfOpsThatRedrawEachRankHasAStreamOfItsOwn) {
  const auto runs = draws_of<float>("TruncatedNormal", 3, 30);
  std::set<float> different;
  for (const std::vector<float>& run : runs) different.insert(run.begin(), run.end());
  EXPECT_EQ(different.size(), 270U);
  const std::vector<float> alone = draws_of<float>("TruncatedNormal", 1, 10).front();
  EXPECT_TRUE(
      std::ranges::equal(alone, std::span(runs.front()).first(alone.size())));  // rank 0's are those of one process
}

TEST_F(RandomKernelsTest, TheStateOfARankIsThatOfAllIfItDrawsRows) {
  const Output uniform = draw("RandomUniform", 1, 2);
  const std::vector<std::string> name{"_trainhook/random/RandomUniform"};
  GraphSession first(graph_, {.kernels = {kernels::random()}});
  GraphSession second(graph_, {.kernels = {kernels::random()}});
  first.draw_share(0, 2);
  second.draw_share(1, 2);
  const Tensor drawn = first.run(uniform);
  EXPECT_NE(second.run(uniform), drawn);
  EXPECT_EQ(first.snapshot(name).front().tensor, second.snapshot(name).front().tensor);
  EXPECT_EQ(first.snapshot(name).front().tensor, (Tensor::of<std::int64_t>({1, 2, 20'000})));
}

TEST_F(RandomKernelsTest, WhatGivesAVariableItsFirstValueIsTheSameOnAllRanks) {
  const auto initial_values = [](int rank, int ranks, bool is_told_before) {
    Graph graph;
    const Variable weights = make_variable("weights", truncated_normal(graph, Shape{4}, {.seed = 1}));
    const Variable local = make_variable("local", random_uniform(graph, Shape{4}, {.seed = 2}),
                                         {.trainable = false, .collections = {"mine"}});
    EigenSession session(graph);
    if (is_told_before) session.draw_share(rank, ranks);
    session.run({weights.initializer, local.initializer});
    return session.run({weights.read, local.read});
  };
  EXPECT_EQ(initial_values(1, 2, true), initial_values(0, 1, true));
  EXPECT_EQ(initial_values(1, 2, false), initial_values(0, 1, true));
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

class CandidateSampler : public RandomKernelsTest {
 protected:
  SampledCandidates sampler(const CandidateSamplerOptions& options) {
    return log_uniform_candidate_sampler(constant(graph_, Tensor::of<std::int64_t>({0, 5, 2, 9}, {2, 2})), options);
  }
};

double probability(std::int64_t value) { return std::log1p(1 / static_cast<double>(value + 1)) / std::log1p(10.0); }

TEST_F(CandidateSampler, FollowsItsDistribution) {
  constexpr std::int64_t kDrawn = 20'000;
  const SampledCandidates candidates = sampler({.num_sampled = kDrawn, .range_max = 10, .unique = false, .seed = 1});
  GraphSession session(graph_, {.kernels = {kernels::random()}});
  const auto [drawn, of_true, of_drawn] =
      session.run({candidates.sampled_candidates, candidates.true_expected_count, candidates.sampled_expected_count});
  for (std::int64_t value = 0; value < 10; ++value) {
    const double expected = kDrawn * probability(value);
    EXPECT_NEAR(static_cast<double>(std::ranges::count(drawn.data<std::int64_t>(), value)), expected,
                5 * std::sqrt(expected));
  }
  ASSERT_EQ(of_true.shape(), (Shape{2, 2}));
  EXPECT_NEAR(of_true.data<float>()[1], kDrawn * probability(5), 0.01);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_NEAR(of_drawn.data<float>()[i], kDrawn * probability(drawn.data<std::int64_t>()[i]), 0.01);
}

TEST_F(CandidateSampler, ExpectsWhatTensorFlowExpects) {
  const SampledCandidates candidates = sampler({.num_sampled = 6, .range_max = 10, .unique = false});
  GraphSession session(graph_, {.kernels = {kernels::random()}});
  const Tensor counts = session.run(candidates.true_expected_count);  // of the classes 0, 5, 2, 9
  const std::vector<float> expected = {1.734389F, 0.38571498F, 0.7198365F, 0.23848459F};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(counts.data<float>()[i], expected[i]);
}

TEST_F(CandidateSampler, DrawsNoClassTwiceAndCountsItsTries) {
  const SampledCandidates candidates = sampler({.num_sampled = 6, .range_max = 10, .seed = 1});
  GraphSession session(graph_, {.kernels = {kernels::random()}});
  for (int run = 0; run < 20; ++run) {
    const auto [drawn, of_true, of_drawn] =
        session.run({candidates.sampled_candidates, candidates.true_expected_count, candidates.sampled_expected_count});
    const auto values = drawn.data<std::int64_t>();
    EXPECT_EQ(std::set(values.begin(), values.end()).size(), 6U);
    // 1 - (1 - p)^tries, or 6 p if each of the 6 tries gave another class.
    const double first = of_true.data<float>()[0];
    const double tries = first == static_cast<double>(static_cast<float>(6 * probability(0)))
                             ? 6
                             : std::round(std::log1p(-first) / std::log1p(-probability(0)));
    EXPECT_GE(tries, 6);
    if (tries == 6) continue;
    EXPECT_NEAR(of_true.data<float>()[3], 1 - std::pow(1 - probability(9), tries), 1e-6);
    EXPECT_NEAR(of_drawn.data<float>()[2], 1 - std::pow(1 - probability(values[2]), tries), 1e-6);
  }
}

TEST_F(CandidateSampler, ContinuesFromItsPosition) {
  const SampledCandidates candidates = sampler({.num_sampled = 4, .range_max = 10, .seed = 1});
  GraphSession session(graph_, {.kernels = {kernels::random()}});
  static_cast<void>(session.run(candidates.sampled_candidates));
  const std::vector<std::string> names{"_trainhook/random/LogUniformCandidateSampler"};
  const std::vector<NamedTensor> saved = session.snapshot(names);
  const Tensor next = session.run(candidates.sampled_candidates);
  GraphSession resumed(graph_, {.kernels = {kernels::random()}});
  resumed.load(saved);
  EXPECT_EQ(resumed.run(candidates.sampled_candidates), next);
}

TEST_F(CandidateSampler, RefusesWhatCannotBe) {
  EXPECT_THROW(sampler({.num_sampled = 0, .range_max = 10}), InvalidArgumentError);
  const SampledCandidates many = sampler({.num_sampled = 11, .range_max = 10});
  const SampledCandidates small = sampler({.num_sampled = 2, .range_max = 5});
  GraphSession session(graph_, {.kernels = {kernels::random()}});
  EXPECT_THROW(session.run(many.sampled_candidates), InvalidArgumentError);
  EXPECT_THROW(session.run(small.sampled_candidates), InvalidArgumentError) << "9 is not one of 5 classes";
}

}  // namespace
}  // namespace trainhook
