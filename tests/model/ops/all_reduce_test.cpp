// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes, errors and gradients of reductions over the processes of a job.
#include <trainhook/model/ops/all_reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/ops/math.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

struct NoReducer final : AllReducer {
  [[nodiscard]] int size() const noexcept override { return 1; }
  void add_up(std::span<std::byte> /*values*/, DType /*dtype*/) override {}
  [[nodiscard]] std::unique_ptr<BackgroundSum> make_background_sum() override { return nullptr; }
};

TEST(AllReduceOps, EachResultIsAsItsValue) {
  Graph graph;
  const Output a = placeholder(graph, DType::Float, {2, -1}, "a");
  const Output b = placeholder(graph, DType::Float, {3}, "b");
  const std::vector<Output> reduced = all_reduce({a, b}, Reduction::Mean, std::make_shared<NoReducer>(), "grads");
  ASSERT_EQ(reduced.size(), 2U);
  EXPECT_EQ(reduced[0].name(), "grads:0");
  EXPECT_EQ(reduced[0].shape(), a.shape());
  EXPECT_EQ(reduced[1].shape(), b.shape());
  EXPECT_EQ(reduced[1].node().attr<std::string>("reduction"), "mean");
}

TEST(AllReduceOps, GradientsGoBackByTheSameReduction) {
  Graph graph;
  const Output a = placeholder(graph, DType::Double, {2}, "a");
  const Output b = placeholder(graph, DType::Double, {3}, "b");
  const auto reducer = std::make_shared<NoReducer>();
  const std::vector<Output> reduced = all_reduce({a, b}, Reduction::Mean, reducer);
  const std::vector<Output> grads = gradients(multiply(reduced[0], reduced[0]), {a, b});
  for (const Output& grad : grads) {
    EXPECT_EQ(grad.node().type(), "TrainhookAllReduce");
    EXPECT_EQ(grad.node().attr<std::string>("reduction"), "mean");
    EXPECT_EQ(detail::all_reducer_of(grad.node()), reducer);
  }
  EXPECT_EQ(grads[0].shape(), a.shape());
  EXPECT_EQ(grads[1].shape(), b.shape());
}

TEST(AllReduceOps, AGraphKnowsEachReducerOnce) {
  Graph graph;
  const Output a = placeholder(graph, DType::Int32, {}, "a");
  const auto one = std::make_shared<NoReducer>();
  const auto other = std::make_shared<NoReducer>();
  const auto place = [&](const std::shared_ptr<AllReducer>& reducer) {
    return all_reduce({a}, Reduction::Sum, reducer)[0].node().attr<std::int64_t>("reducer");
  };
  EXPECT_EQ(place(one), 0);
  EXPECT_EQ(place(other), 1);
  EXPECT_EQ(place(one), 0);
}

TEST(AllReduceOps, AReductionInTwoHalvesHasOneOrderOfBoth) {
  Graph graph;
  const Output a = placeholder(graph, DType::Float, {2, -1}, "a");
  const Output b = placeholder(graph, DType::Float, {3}, "b");
  const auto reducer = std::make_shared<NoReducer>();
  const auto first = detail::split_all_reduce({a, b}, Reduction::Mean, reducer, std::nullopt);
  const auto second = detail::split_all_reduce({b}, Reduction::Sum, reducer, first);
  EXPECT_EQ(first.finish.output(0).shape(), a.shape());
  EXPECT_EQ(first.finish.output(1).shape(), b.shape());
  EXPECT_EQ(first.finish.node().attr<std::string>("reduction"), "mean");
  EXPECT_EQ(second.finish.node().attr<std::string>("reduction"), "sum");
  EXPECT_EQ(detail::all_reducer_of(second.start.node()), reducer);
  EXPECT_TRUE(first.start.node().control_inputs().empty());
  EXPECT_TRUE(first.finish.node().control_inputs().empty());
  ASSERT_EQ(second.start.node().control_inputs().size(), 1U);
  EXPECT_EQ(second.start.node().control_inputs()[0], first.start);
  ASSERT_EQ(second.finish.node().control_inputs().size(), 1U);
  EXPECT_EQ(second.finish.node().control_inputs()[0], first.finish) << "a run of the second one finishes the first";
}

TEST(AllReduceOps, NoGradientPassesTheTwoHalves) {
  Graph graph;
  const Output a = placeholder(graph, DType::Float, {2}, "a");
  const auto split = detail::split_all_reduce({a}, Reduction::Sum, std::make_shared<NoReducer>(), std::nullopt);
  testing::expect_error<NotFoundError>({"TrainhookAllReduceFinish", "gradient"},
                                       [&] { static_cast<void>(gradients(split.finish.output(), {a})); });
}

TEST(AllReduceOps, WhatCannotBeReducedIsAnError) {
  Graph graph;
  const auto reducer = std::make_shared<NoReducer>();
  const Output whole = placeholder(graph, DType::Int32, {}, "whole");
  const Output real = placeholder(graph, DType::Float, {}, "real");
  const Output text = placeholder(graph, DType::String, {}, "text");
  const auto reduce = [&](const std::vector<Output>& values, Reduction reduction) {
    static_cast<void>(all_reduce(values, reduction, reducer));
  };
  testing::expect_error({"all_reduce", "mean", "whole"}, [&] { reduce({whole}, Reduction::Mean); });
  testing::expect_error({"all_reduce", "whole", "real"}, [&] { reduce({whole, real}, Reduction::Sum); });
  testing::expect_error({"AllReduce", "string"}, [&] { reduce({text}, Reduction::Sum); });
  testing::expect_error({"all_reduce", "no values"}, [&] { reduce({}, Reduction::Sum); });
  testing::expect_error({"all_reduce", "no values"}, [&] {
    static_cast<void>(detail::split_all_reduce({}, Reduction::Sum, reducer, std::nullopt));
  });
  testing::expect_error({"all_reduce", "null"},
                        [&] { static_cast<void>(all_reduce({real}, Reduction::Sum, nullptr)); });
}

}  // namespace
}  // namespace trainhook
