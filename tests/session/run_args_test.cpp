// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of what a run is asked for: fetches, feeds, options.
#include <trainhook/session/run_args.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

#include "allocations.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;

class RunArgs : public ::testing::Test {
 protected:
  Graph graph;
  Output loss = constant(graph, Tensor(1.0F), "loss");
  Output step = constant(graph, Tensor(std::int64_t{3}), "step");
  Operation train = graph.add({.type = "NoOp", .name = "train"});
  Variable weights = make_variable("weights", loss);
};

TEST_F(RunArgs, ReadsAsTheProgramsWriteIt) {
  const SessionRunArgs nothing = {};
  EXPECT_TRUE(nothing.fetches.empty());
  EXPECT_TRUE(nothing.feed_dict.empty());
  EXPECT_FALSE(nothing.options);

  const auto one = [&]() -> SessionRunArgs { return {loss}; }();
  ASSERT_EQ(one.fetches.size(), 1U);
  EXPECT_EQ(one.fetches[0], Fetch(loss));

  const auto two = [&]() -> SessionRunArgs { return {{loss, train}}; }();
  ASSERT_EQ(two.fetches.size(), 2U);
  EXPECT_EQ(two.fetches[0], Fetch(loss));
  EXPECT_EQ(two.fetches[1], Fetch(train));

  const SessionRunArgs more = {.fetches = {loss}, .feed_dict = {{step, 0.1F}}};
  ASSERT_EQ(more.feed_dict.size(), 1U);
  EXPECT_EQ(more.feed_dict[0].key, step);
  EXPECT_EQ(more.feed_dict[0].value.scalar<float>(), 0.1F);
}

TEST_F(RunArgs, AFewFetchesAndFeedsAllocateNothing) {
  const support::AllocationCount count;
  for (int i = 0; i < 3; ++i) {
    const SessionRunArgs args = {.fetches = {loss, step, train, weights}, .feed_dict = {{loss, 1.0F}, {step, 2.0F}}};
    SessionRunArgs copy = args;
    const SessionRunArgs moved = std::move(copy);
    ASSERT_EQ(moved.fetches.size(), 4U);
  }
  EXPECT_EQ(count.so_far(), 0U);
}

TEST(RunOptions, MergeTakesTheLarger) {
  RunOptions a{.trace_level = TraceLevel::Hardware, .timeout = 60s};
  a.merge({.trace_level = TraceLevel::Full, .timeout = 30s});
  EXPECT_EQ(a.trace_level, TraceLevel::Full);
  EXPECT_EQ(a.timeout, 60s);
}

TEST(RunRequest, IsTracedAtEveryLevelAboveNone) {
  RunMetadata metadata;
  for (const TraceLevel level : {TraceLevel::None, TraceLevel::Software, TraceLevel::Hardware, TraceLevel::Full}) {
    const RunOptions options{.trace_level = level};
    const RunRequest request{.options = &options, .metadata = &metadata};
    EXPECT_EQ(request.is_traced(), level != TraceLevel::None);
  }
}

TEST(RunOptions, MergeKeepsWhatTheOtherDoesNotAskFor) {
  RunOptions a{.trace_level = TraceLevel::Full, .timeout = 60s};
  a.merge({});
  EXPECT_EQ(a.trace_level, TraceLevel::Full);
  EXPECT_EQ(a.timeout, 60s);
}

TEST(RunResults, AreReadInOrderAndNotBeyondWhatWasAskedFor) {
  const std::vector<Tensor> tensors{Tensor(1.0F), Tensor(2.0F)};
  const RunResults results{tensors};
  EXPECT_EQ(results.size(), 2U);
  EXPECT_EQ(results[1].scalar<float>(), 2);
  EXPECT_EQ(std::distance(results.begin(), results.end()), 2);
  try {
    static_cast<void>(RunResults()[0]);
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "a hook reads result 0 of a run for which it has asked for 0: return what it wants from "
                 "before_run");
  }
  EXPECT_THROW(static_cast<void>(results[2]), InvalidArgumentError);
}

TEST_F(RunArgs, ResultsOfNamedFetchesAreReadByTheirTag) {
  const std::vector<Tensor> tensors{Tensor(1.0F), Tensor(2.0F), Tensor(3.0F)};
  const FetchRefs named{{"the step", step}, {"the loss", "loss:0"}};
  const RunResults results(tensors, &named);
  EXPECT_EQ(results["the loss"].scalar<float>(), 2);  // sorted by tag, behind those without one
  EXPECT_EQ(results["the step"].scalar<float>(), 3);
  try {
    static_cast<void>(results["loss"]);
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_STREQ(error.what(),
                 "a hook reads the result 'loss' of a run for which it has not asked: return it in named_fetches from "
                 "before_run");
  }
  EXPECT_THROW(static_cast<void>(RunResults(tensors)["the loss"]), NotFoundError);
}

}  // namespace
}  // namespace trainhook
