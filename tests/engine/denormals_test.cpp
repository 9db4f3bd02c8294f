// SPDX-License-Identifier: Apache-2.0
/// @file
/// Denormal floats are zero for a session's kernels, and for nothing else.
#include <trainhook/engine/denormals.hpp>

#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook {
namespace {

constexpr float kSmallest = (std::numeric_limits<float>::min)();  // that is not denormal

/// Half of it, computed when the program runs.
float halved(float value) {
  volatile float half = 0.5F;
  return value * half;
}

Kernel make_failing(const Node&) {
  return [](KernelContext&) { throw InvalidArgumentError("mine"); };
}

class ScopedDenormals : public ::testing::Test {
 protected:
  void SetUp() override {
#if !defined(__SSE2__)
    GTEST_SKIP() << "the processor has no SSE";
#endif
    ASSERT_GT(halved(kSmallest), 0);
  }
};

TEST_F(ScopedDenormals, FlushesUntilTheEndOfTheScopeAndCanBeUndoneWithin) {
  {
    const detail::ScopedDenormals flushed(detail::Denormals::Flush);
    EXPECT_EQ(halved(kSmallest), 0);
    {
      const detail::ScopedDenormals kept(detail::Denormals::Keep);
      EXPECT_GT(halved(kSmallest), 0);
    }
    EXPECT_EQ(halved(kSmallest), 0);
  }
  EXPECT_GT(halved(kSmallest), 0);
}

TEST_F(ScopedDenormals, AreZeroForKernelsOnly) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {}, "x");
  GraphSession session(graph, {.kernels = {kernels::math()}});
  EXPECT_EQ(session.run(x * 0.5F, {{x, Tensor(kSmallest)}}).scalar<float>(), 0);
  EXPECT_EQ(session.run(x * 8.0F, {{x, Tensor(halved(kSmallest))}}).scalar<float>(), 0);
  EXPECT_GT(halved(kSmallest), 0);
}

TEST_F(ScopedDenormals, AreZeroInPartsOfTheGraphThatAreComputedOnce) {
  Graph graph;
  const Output folded = constant(graph, kSmallest) * constant(graph, 0.5F);
  GraphSession session(graph, {.kernels = {kernels::math()}});
  EXPECT_EQ(session.run(folded).scalar<float>(), 0);
}

TEST_F(ScopedDenormals, AreBackAfterARunThatFailed) {
  Graph graph;
  const Operation failing = graph.add({.type = "Failing"});
  const KernelDef def[] = {{.type = "Failing", .make = make_failing}};
  GraphSession session(graph, {.kernels = {def}});
  EXPECT_THROW(session.run(failing), InvalidArgumentError);
  EXPECT_GT(halved(kSmallest), 0);
}

TEST_F(ScopedDenormals, AreKeptInInputPipelinesWhicheverThreadRunsThem) {
  const Dataset halves =
      Dataset::from_tensor_slices({Tensor::of<float>({kSmallest, kSmallest})}).map([](Element element) {
        element[0] = Tensor(halved(element[0].scalar<float>()));
        return element;
      });
  for (const Dataset& dataset : {halves, halves.prefetch(2)}) {
    Graph graph;
    const Output next = make_iterator(graph, dataset).get_next<1>()[0];
    GraphSession session(graph, {.kernels = {kernels::data()}});
    for (int i = 0; i < 2; ++i) EXPECT_GT(session.run(next).scalar<float>(), 0);
  }
}

TEST_F(ScopedDenormals, AreKeptWhereAPipelineBegins) {
  const Dataset made = Dataset::from_generator({{DType::Float, Shape{}}}, [] {
    return Generator{.next = [first = halved(kSmallest), given = false](Element& element) mutable {
      element.assign(1, Tensor(first));
      return !std::exchange(given, true);
    }};
  });
  Graph graph;
  const Output next = make_iterator(graph, made).get_next<1>()[0];
  GraphSession session(graph, {.kernels = {kernels::data()}});
  EXPECT_GT(session.run(next).scalar<float>(), 0);
}

}  // namespace
}  // namespace trainhook
