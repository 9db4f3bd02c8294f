// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of a session for graphs: runs, state, threads, allocations. graph_session_errors_test.cpp has what goes wrong.
#include <trainhook/engine/graph_session.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <allocations.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/random.hpp>
#include <trainhook/session/session_ref.hpp>

#include "graph_session_fixture.hpp"

namespace trainhook {
namespace {

using test::all_kernels;
using test::contains;
using test::GraphSessionTest;
using test::message_of;

static_assert(SessionLike<GraphSession>);

/// A second passes each time that somebody looks.
class SteppingClock final : public Clock {
 public:
  Duration monotonic_now() override { return now_ += std::chrono::seconds(1); }
  double wall_seconds() override { return std::chrono::duration<double>(now_ += std::chrono::seconds(1)).count(); }
  bool wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, Duration,
                  FunctionRef<bool()> ready) override {
    return ready();
  }

 private:
  Duration now_{};
};

TEST_F(GraphSessionTest, ComputesFetchesInOrderWithFeeds) {
  const Output x = placeholder(graph_, DType::Float, {kUnknownDim}, "x");
  const Output sum = x + vector({1, 2});
  const Output product = sum * x;
  GraphSession session(graph_, all_kernels());
  const auto [p, s] = session.run({product, sum}, {{x, Tensor::of<float>({3, 4})}});
  EXPECT_EQ(p, Tensor::of<float>({12, 24}));
  EXPECT_EQ(s, Tensor::of<float>({4, 6}));
  EXPECT_EQ(session.run(sum, {{x, Tensor::of<float>({1, 1})}}), Tensor::of<float>({2, 3}));
}

TEST_F(GraphSessionTest, TakesAFeedInPlaceOfWhatANodeWouldCompute) {
  const Output sum = vector({1}) + vector({2});
  const Output twice = sum * vector({2});
  GraphSession session(graph_, all_kernels());
  EXPECT_EQ(session.run(twice), Tensor::of<float>({6}));
  EXPECT_EQ(session.run(twice, {{sum, Tensor::of<float>({10})}}), Tensor::of<float>({20}));
  EXPECT_EQ(session.run(sum, {{sum, Tensor::of<float>({7})}}), Tensor::of<float>({7}));
}

TEST_F(GraphSessionTest, GivesTheSameFetchTwice) {
  const Output x = placeholder(graph_, DType::Float, {kUnknownDim});
  const Output sum = x + x;
  GraphSession session(graph_, all_kernels());
  for (float value : {1.0F, 2.0F, 3.0F}) {
    const auto [a, b, fed] = session.run({sum, sum, x}, {{x, Tensor::of<float>({value})}});
    EXPECT_EQ(a, Tensor::of<float>({2 * value}));
    EXPECT_EQ(b, a);
    EXPECT_EQ(fed, Tensor::of<float>({value}));
  }
}

TEST_F(GraphSessionTest, LeavesEarlierResultsAlone) {
  const Output x = placeholder(graph_, DType::Float, {kUnknownDim});
  const Output sum = x + x;
  GraphSession session(graph_, all_kernels());
  std::vector<Tensor> results;
  for (float value : {1.0F, 2.0F, 3.0F, 4.0F}) results.push_back(session.run(sum, {{x, Tensor::of<float>({value})}}));
  EXPECT_EQ(results[0], Tensor::of<float>({2}));
  EXPECT_EQ(results[1], Tensor::of<float>({4}));
  EXPECT_EQ(results[2], Tensor::of<float>({6}));
}

TEST_F(GraphSessionTest, AssignsAndUpdatesVariables) {
  const Variable v = make_variable("v", vector({1, 2}));
  const Output update = assign_add(v, vector({10, 10}));
  GraphSession session(graph_, all_kernels());
  session.run(v.initializer);
  EXPECT_EQ(session.run(update), Tensor::of<float>({11, 12}));
  EXPECT_EQ(session.run(v), Tensor::of<float>({11, 12}));
  session.run(v.initializer);
  EXPECT_EQ(session.run(v), Tensor::of<float>({1, 2}));
}

TEST_F(GraphSessionTest, ReadsBeforeItWritesInOneRun) {
  const Variable v = make_variable("v", vector({1}));
  const Output update = assign_add(v, vector({1}));
  const Output twice = v + v;
  GraphSession session(graph_, all_kernels());
  session.run(v.initializer);
  const auto [after, before, doubled] = session.run({update, v, twice});
  EXPECT_EQ(before, Tensor::of<float>({1}));
  EXPECT_EQ(doubled, Tensor::of<float>({2}));
  EXPECT_EQ(after, Tensor::of<float>({2}));
}

TEST_F(GraphSessionTest, ReadsAfterAWriteThatItDependsOn) {
  const Variable v = make_variable("v", vector({1}));
  const Output update = assign_add(v, vector({1}));
  Output later;
  {
    const Graph::Scope scope = graph_.control_dependencies({update.operation()});
    later = v.ref().named("later");
  }
  const Output again = assign_sub(v, vector({5}));
  GraphSession session(graph_, all_kernels());
  session.run(v.initializer);
  EXPECT_EQ(session.run(later), Tensor::of<float>({2}));
  const auto [held, updated] = session.run({later, update});
  EXPECT_EQ(held, Tensor::of<float>({3}));
  EXPECT_EQ(updated, Tensor::of<float>({3}));
  EXPECT_EQ(session.run(again), Tensor::of<float>({-2}));
}

TEST_F(GraphSessionTest, EndsARunThatTakesTooLong) {
  const Output x = placeholder(graph_, DType::Float, {});
  Output sum = x;
  for (int i = 0; i < 10; ++i) sum = sum + x;
  SteppingClock clock;
  GraphSession session(graph_, all_kernels(&clock));
  const RunOptions tight{.timeout = std::chrono::seconds(5)};
  EXPECT_THROW(session.run(sum, {{x, Tensor(1.0F)}}, &tight), DeadlineExceededError);
  const RunOptions wide{.timeout = std::chrono::seconds(50)};
  EXPECT_EQ(session.run(sum, {{x, Tensor(1.0F)}}, &wide).scalar<float>(), 11.0F);
  const RunOptions endless{.timeout = std::chrono::milliseconds::max()};  // more than the clock can tell
  EXPECT_EQ(session.run(sum, {{x, Tensor(1.0F)}}, &endless).scalar<float>(), 11.0F);
}

TEST_F(GraphSessionTest, WritesDownWhenEachNodeRan) {
  const Output x = placeholder(graph_, DType::Float, {});
  const Output sum = add(x, x, "sum");
  SteppingClock clock;
  GraphSession session(graph_, all_kernels(&clock));
  const RunOptions options{.trace_level = TraceLevel::Full};
  RunMetadata metadata;
  for (int i = 0; i < 2; ++i) session.run(sum, {{x, Tensor(1.0F)}}, &options, &metadata);
  ASSERT_EQ(metadata.node_stats.size(), 1U);
  EXPECT_EQ(metadata.node_stats[0].node_name, "sum");
  EXPECT_EQ(metadata.node_stats[0].op_type, "AddV2");
  EXPECT_EQ(metadata.node_stats[0].end_micros - metadata.node_stats[0].start_micros, 1'000'000);
}

TEST_F(GraphSessionTest, ListsGlobalVariablesAndGenerators) {
  const Variable v = make_variable("v", vector({1}));
  make_variable("local", vector({1}), {.trainable = false, .collections = {std::string(graph_keys::kLocalVariables)}});
  random_uniform(graph_, Shape{2}, {.seed = 5}, "noise");
  GraphSession session(graph_, all_kernels());
  std::vector<StateSpec> state = session.state();
  ASSERT_EQ(state.size(), 2U);
  EXPECT_EQ(state[0].name, "v");
  EXPECT_EQ(state[0].kind, StateKind::Variable);
  EXPECT_FALSE(state[0].initialized);
  EXPECT_EQ(state[1].name, "_trainhook/random/noise/RandomUniform");
  EXPECT_EQ(state[1].kind, StateKind::Auxiliary);
  session.run(v.initializer);
  EXPECT_TRUE(session.state()[0].initialized);
  make_variable("later", vector({1}));
  EXPECT_EQ(session.state().size(), 3U);
}

TEST_F(GraphSessionTest, TakesSnapshotsThatLaterStepsDoNotChange) {
  const Variable v = make_variable("v", vector({1, 2}));
  const Output update = assign_add(v, vector({1, 1}));
  GraphSession session(graph_, all_kernels());
  session.run(v.initializer);
  session.run(update);
  const std::vector<std::string> names{"v"};
  const std::vector<NamedTensor> snapshot = session.snapshot(names);
  session.run(update);
  EXPECT_EQ(snapshot[0].tensor, Tensor::of<float>({2, 3}));
  EXPECT_EQ(session.run(v), Tensor::of<float>({3, 4}));
  const std::vector<std::string> unknown{"w"};
  EXPECT_TRUE(contains(message_of<NotFoundError>([&] { static_cast<void>(session.snapshot(unknown)); }), "'w'"));
}

TEST_F(GraphSessionTest, LoadsEverythingOrNothing) {
  const Variable v = make_variable("v", vector({1, 2}));
  const Variable w = make_variable("w", vector({1}));
  GraphSession session(graph_, all_kernels());
  session.run({v.initializer, w.initializer});
  const auto load = [&](std::vector<NamedTensor> entries) { session.load(entries); };
  const Tensor fresh = Tensor::of<float>({5, 6});
  EXPECT_THROW(load({{"v", fresh}, {"w", Tensor::of<float>({1, 2, 3})}}), InvalidArgumentError);
  EXPECT_THROW(load({{"v", fresh}, {"w", Tensor::of<double>({1})}}), InvalidArgumentError);
  EXPECT_THROW(load({{"v", fresh}, {"unknown", fresh}}), NotFoundError);
  EXPECT_THROW(load({{"v", fresh}, {"v", fresh}}), InvalidArgumentError);
  EXPECT_EQ(session.run(v), Tensor::of<float>({1, 2}));
  load({{"v", fresh}, {"w", Tensor::of<float>({9})}});
  EXPECT_EQ(session.run(v), fresh);
  EXPECT_EQ(session.run(w), Tensor::of<float>({9}));
}

TEST_F(GraphSessionTest, NeverChangesWhatWasLoaded) {
  const Variable v = make_variable("v", vector({1, 2}));
  const Output update = assign_add(v, vector({1, 1}));
  GraphSession session(graph_, all_kernels());
  const std::vector<NamedTensor> entries{{"v", Tensor::of<float>({5, 6})}};
  session.load(entries);
  session.run(update);
  EXPECT_EQ(entries[0].tensor, Tensor::of<float>({5, 6}));
  EXPECT_EQ(session.run(v), Tensor::of<float>({6, 7}));
}

TEST_F(GraphSessionTest, HoldsItsOwnValues) {
  const Variable v = make_variable("v", vector({1}));
  const Output update = assign_add(v, vector({1}));
  GraphSession one(graph_, all_kernels());
  GraphSession two(graph_, all_kernels());
  one.run(v.initializer);
  two.run(v.initializer);
  one.run(update);
  EXPECT_EQ(one.run(v), Tensor::of<float>({2}));
  EXPECT_EQ(two.run(v), Tensor::of<float>({1}));
}

TEST_F(GraphSessionTest, AllocatesNothingOnceARequestIsKnown) {
  const Variable v = make_variable("v", constant(graph_, Tensor(DType::Float, Shape{100})));
  const Output x = placeholder(graph_, DType::Float, {100});
  const Output shifted = x + v;
  const Output update = assign_add(v, shifted * x);
  GraphSession session(graph_, all_kernels());
  session.run(v.initializer);
  const std::array fetches{Fetch(update), Fetch(shifted), Fetch(v)};
  const std::array feeds{Feed{x, Tensor(DType::Float, Shape{100})}};
  std::array<Tensor, 3> results;
  const auto step = [&] { session.execute({.fetches = fetches, .feed_dict = feeds}, results); };
  for (int i = 0; i < 3; ++i) step();
  const auto keeps_no_handles = [&] {
    session.execute({.fetches = std::span(fetches).subspan(1, 1), .feed_dict = feeds},
                    std::span(results).subspan(1, 1));
  };
  for (int i = 0; i < 3; ++i) keeps_no_handles();
  const support::AllocationCount count;
  for (int i = 0; i < 10; ++i) keeps_no_handles();
  EXPECT_EQ(count.so_far(), 0U);
}

TEST_F(GraphSessionTest, ReadsVariablesWithoutAllocation) {
  const Variable step = make_variable("step", constant(graph_, Tensor(std::int64_t{3})));
  GraphSession session(graph_, all_kernels());
  session.run(step.initializer);
  const Fetch fetch(step);
  Tensor result;
  session.execute({.fetches = {&fetch, 1}}, {&result, 1});
  const support::AllocationCount count;
  for (int i = 0; i < 10; ++i) session.execute({.fetches = {&fetch, 1}}, {&result, 1});
  EXPECT_EQ(count.so_far(), 0U);
  EXPECT_EQ(result.scalar<std::int64_t>(), 3);
}

TEST_F(GraphSessionTest, UpdatesInPlaceWhileNothingElseHoldsTheValue) {
  const Variable v = make_variable("v", constant(graph_, Tensor(DType::Float, Shape{1000})));
  const Operation update = assign_add(v, constant(graph_, Tensor(DType::Float, Shape{1000}))).operation();
  GraphSession session(graph_, all_kernels());
  session.run(v.initializer);
  session.run(update);
  const float* before = session.run(v).data<float>().data();
  session.run(update);
  EXPECT_EQ(session.run(v).data<float>().data(), before);
  const Tensor held = session.run(v);
  session.run(update);
  EXPECT_NE(session.run(v).data<float>().data(), before);
}

TEST_F(GraphSessionTest, CountsEveryUpdateOfConcurrentRuns) {
  const Variable v = make_variable("v", constant(graph_, Tensor(DType::Float, Shape{64})));
  const Output x = placeholder(graph_, DType::Float, {64});
  const Output y = x + x;
  const Output update = assign_add(v, y - x);
  GraphSession session(graph_, all_kernels());
  session.run(v.initializer);
  Tensor ones = Tensor::uninitialized(DType::Float, Shape{64});
  std::ranges::fill(ones.overwrite_data<float>(), 1.0F);
  constexpr int kRuns = 500;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kRuns; ++i) {
          session.run(update.operation(), {{x, ones}});
          EXPECT_EQ(session.run(y, {{x, ones}}).data<float>()[63], 2.0F);
          static_cast<void>(session.run(v));
        }
      });
    }
  }
  EXPECT_EQ(session.run(v).data<float>()[63], 3.0F * kRuns);
}

TEST_F(GraphSessionTest, DrawsTheSameNumbersAgainAfterItsStateIsLoaded) {
  const Output noise = random_uniform(graph_, Shape{5}, {.seed = 5});
  GraphSession session(graph_, all_kernels());
  const Tensor first = session.run(noise);
  std::vector<std::string> names;
  for (const StateSpec& spec : session.state()) names.push_back(spec.name);
  const std::vector<NamedTensor> saved = session.snapshot(names);
  const Tensor second = session.run(noise);
  EXPECT_NE(first, second);
  GraphSession resumed(graph_, all_kernels());
  resumed.load(saved);
  EXPECT_EQ(resumed.run(noise), second);
}

TEST_F(GraphSessionTest, IsReachedThroughASessionRef) {
  const Output x = vector({1});
  GraphSession session(graph_, all_kernels());
  const SessionRef ref(session);
  Tensor result;
  const Fetch fetch(x);
  ref.execute({.fetches = {&fetch, 1}}, {&result, 1});
  EXPECT_EQ(result, Tensor::of<float>({1}));
}

TEST_F(GraphSessionTest, AReadThatIsUsedAfterAWriteGivesWhatWasWritten) {
  const Variable v = make_variable("v", vector({1, 1}));
  const Operation init = global_variables_initializer(graph_);
  const Output before = v + vector({0, 0});
  Output first = assign_add(v, vector({1, 2}));
  Output between;
  Output second;
  {
    const Graph::Scope after = graph_.control_dependencies({before.operation(), first.operation()});
    between = v + vector({0, 0});
    second = assign(v, between * vector({10, 10}));
  }
  Output last;
  {
    const Graph::Scope after = graph_.control_dependencies({second.operation()});
    last = v + vector({0, 0});
  }
  GraphSession session(graph_, all_kernels());
  for (int run = 0; run < 3; ++run) {  // by the same plan
    session.run(init);
    const auto [b, m, l] = session.run({before, between, last});
    EXPECT_EQ(b, Tensor::of<float>({1, 1}));
    EXPECT_EQ(m, Tensor::of<float>({2, 3}));
    EXPECT_EQ(l, Tensor::of<float>({20, 30}));
  }
}

}  // namespace
}  // namespace trainhook
