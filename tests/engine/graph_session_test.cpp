// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of a session for graphs: runs, state, errors, threads, allocations.
#include <trainhook/engine/graph_session.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <allocations.hpp>
#include <trainhook/engine/kernels/math.hpp>
#include <trainhook/engine/kernels/random.hpp>
#include <trainhook/engine/kernels/state.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/math.hpp>
#include <trainhook/graph/ops/random.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {
namespace {

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

struct OwnError : InvalidArgumentError {
  OwnError() : InvalidArgumentError("mine") {}
};

Kernel make_throw_own(const Node&) {
  return [](KernelContext&) { throw OwnError(); };
}
Kernel make_throw_foreign(const Node&) {
  return [](KernelContext&) { throw std::logic_error("foreign"); };
}
Kernel make_end(const Node&) {
  return [](KernelContext&) { throw OutOfRangeError("End of sequence"); };
}
Kernel make_nothing(const Node&) {
  return [](KernelContext&) {};
}
Kernel make_double(const Node&) {
  return [](KernelContext& context) { context.output<double>(0, Shape{1})[0] = 1; };
}
Kernel make_second(const Node&) {
  return [](KernelContext& context) { context.output<float>(1, Shape{1})[0] = 1; };
}
constexpr std::array kOwn{
    KernelDef{.type = "ThrowOwn", .make = make_throw_own, .stateful = true},
    KernelDef{.type = "ThrowForeign", .make = make_throw_foreign, .stateful = true},
    KernelDef{.type = "End", .make = make_end, .stateful = true},
    KernelDef{.type = "Nothing", .make = make_nothing},
    KernelDef{.type = "Double", .make = make_double},
    KernelDef{.type = "Second", .make = make_second},
};

GraphSessionOptions all_kernels(Clock* clock = nullptr) {
  return {.kernels = {kernels::math(), kernels::state(), kernels::random(), kOwn}, .seed = 0, .clock = clock};
}

template <class ErrorType, class Code>
std::string message_of(Code code) {
  try {
    code();
  } catch (const ErrorType& error) { return error.what(); }
  return "no such error";
}

bool contains(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

class GraphSessionTest : public ::testing::Test {
 protected:
  Output vector(std::initializer_list<float> values) { return constant(graph_, Tensor::of<float>(values)); }

  Graph graph_;
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

TEST_F(GraphSessionTest, NamesAVariableWithoutValue) {
  const Variable v = make_variable("v", vector({1}));
  const Output update = assign_add(v, vector({1}));
  const Output twice = v + v;
  GraphSession session(graph_, all_kernels());
  for (const Output fetch : {v.read, update, twice, v.ref()}) {
    EXPECT_TRUE(contains(message_of<FailedPreconditionError>([&] { session.run(fetch); }),
                         "Attempting to use uninitialized value v"))
        << fetch.name();
  }
  const Output ready = is_variable_initialized(v);
  EXPECT_FALSE(session.run(ready).scalar<bool>());
  session.run(v.initializer);
  EXPECT_TRUE(session.run(ready).scalar<bool>());
}

TEST_F(GraphSessionTest, SaysWhatIsWrongWithAFeed) {
  const Output x = placeholder(graph_, DType::Float, {kUnknownDim, 2}, "x");
  const Output sum = x + x;
  GraphSession session(graph_, all_kernels());
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] { session.run(sum); }),
                       "You must feed a value for placeholder 'x'"));
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] {
                         session.run(sum, {{x, Tensor(std::int32_t{1})}});
                       }),
                       "'x:0' takes float32 and was fed int32[]"));
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] {
                         session.run(sum, {{x, Tensor::of<float>({1, 2, 3})}});
                       }),
                       "Cannot feed value of shape [3] for 'x:0', which has shape [?,2]"));
  EXPECT_EQ(session.run(sum, {{x, Tensor::of<float>({1, 2}, {1, 2})}}), Tensor::of<float>({2, 4}, {1, 2}));
}

TEST_F(GraphSessionTest, RefusesAnotherGraphsNodes) {
  Graph other;
  const Output foreign = constant(other, Tensor(1.0F), "foreign");
  const Output mine = vector({1});
  GraphSession session(graph_, all_kernels());
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] { session.run(foreign); }), "'foreign'"));
  EXPECT_THROW(session.run(mine, {{foreign, Tensor(1.0F)}}), InvalidArgumentError);
}

TEST_F(GraphSessionTest, PutsNodeTypeAndShapesBeforeAKernelsError) {
  const Output x = placeholder(graph_, DType::Float, {}, "x");
  const Output sum = add(x, vector({1, 2}), "sum");
  GraphSession session(graph_, all_kernels());
  EXPECT_TRUE(contains(message_of<InvalidArgumentError>([&] {
                         session.run(sum, {{x, Tensor::of<float>({1, 2, 3})}});
                       }),
                       "sum (AddV2) of float32[3], float32[2]: Incompatible shapes"));
}

TEST_F(GraphSessionTest, SaysWhatAKernelOfOnesOwnDoesWrong) {
  const auto op = [&](const char* type) {
    return graph_.add({.type = type, .outputs = {{DType::Float, Shape{1}}}}).output();
  };
  const Output nothing = op("Nothing");
  const Output twice = op("Double");
  const Output second = op("Second");
  GraphSession session(graph_, all_kernels());
  EXPECT_EQ(message_of<InternalError>([&] { session.run(nothing); }),
            "Nothing (Nothing): the kernel gave nothing as output 0, where the node says float32");
  EXPECT_EQ(message_of<InternalError>([&] { session.run(twice); }),
            "Double (Double): the kernel gave float64 as output 0, where the node says float32");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(second); }),
            "Second (Second): the kernel asks for output 1, and the node has 1 of them");
}

TEST_F(GraphSessionTest, SaysWhatANodeMadeByHandLacks) {
  const auto op = [&](const char* type, std::vector<Output> inputs, std::vector<OutputSpec> outputs) {
    return graph_.add(
        {.type = type, .inputs = std::move(inputs), .attrs = {{"T", DType::Float}}, .outputs = std::move(outputs)});
  };
  const OutputSpec scalar{DType::Float, Shape{}};
  const Operation add = op("AddV2", {vector({1})}, {scalar});
  const Operation no_output = op("Neg", {vector({1})}, {});
  const Operation identity = op("Identity", {}, {scalar});
  const Operation assign = op("Assign", {}, {scalar});
  const Operation variable = op("VariableV2", {}, {});
  GraphSession session(graph_, all_kernels());
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(add); }),
            "AddV2 (AddV2) of float32[1]: the kernel asks for input 1, and the node has 1 of them");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(no_output); }),
            "Neg (Neg) of float32[1]: the kernel asks for output 0, and the node has 0 of them");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(identity); }),
            "node 'Identity' (Identity) cannot have 0 inputs");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(assign); }),
            "node 'Assign' (Assign) cannot have 0 inputs");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { session.run(variable); }),
            "node 'VariableV2' (VariableV2) cannot have 0 outputs");
}

TEST_F(GraphSessionTest, KeepsTheTypeOfAnError) {
  const auto op = [&](const char* type) { return graph_.add({.type = type}); };
  const Operation own = op("ThrowOwn");
  const Operation foreign = op("ThrowForeign");
  const Operation end = op("End");
  GraphSession session(graph_, all_kernels());
  EXPECT_EQ(message_of<OwnError>([&] { session.run(own); }), "mine");
  EXPECT_EQ(message_of<std::logic_error>([&] { session.run(foreign); }), "foreign");
  EXPECT_EQ(message_of<OutOfRangeError>([&] { session.run(end); }), "End (End): End of sequence");
}

TEST_F(GraphSessionTest, StaysUsableAfterAnError) {
  const Variable v = make_variable("v", vector({1}));
  const Output update = assign_add(v, placeholder(graph_, DType::Float, {}, "x"));
  const Output x = graph_.output("x");
  GraphSession session(graph_, all_kernels());
  session.run(v.initializer);
  EXPECT_THROW(session.run(update, {{x, Tensor::of<float>({1, 2})}}), InvalidArgumentError);
  EXPECT_EQ(session.run(update, {{x, Tensor::of<float>({2})}}), Tensor::of<float>({3}));
}

TEST_F(GraphSessionTest, RunsNothingOnceClosed) {
  const Output x = vector({1});
  GraphSession session(graph_, all_kernels());
  session.run(x);
  session.close();
  session.close();
  EXPECT_THROW(session.run(x), FailedPreconditionError);
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

TEST_F(GraphSessionTest, UpdatesInPlaceWhileNobodyHoldsTheValue) {
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
