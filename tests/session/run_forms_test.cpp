// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the many ways to say run.
#include <trainhook/session/run_forms.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine_double.hpp"

namespace trainhook {
namespace {

class RunFormsTest : public ::testing::Test {
 protected:
  support::EngineDouble<true> session;
  Output loss = constant(session.graph(), Tensor(1.0F), "loss");
  Output accuracy = constant(session.graph(), Tensor(1.0F), "accuracy");
  Operation train = session.graph().add({.type = "NoOp", .name = "train"});
  Operation pair = session.graph().add(
      {.type = "Pair", .name = "pair", .outputs = {{DType::Float, Shape{}}, {DType::Float, Shape{}}}});
};

TEST_F(RunFormsTest, AnOperationGivesNothing) {
  static_assert(std::is_void_v<decltype(session.run(train))>);
  session.run(train);
  EXPECT_EQ(session.take(), "run train\n");
}

TEST_F(RunFormsTest, AnOutputGivesATensor) {
  const Tensor value = session.run(loss);
  EXPECT_EQ(value.scalar<std::int32_t>(), 0);
  EXPECT_EQ(session.take(), "run loss:\n");
}

TEST_F(RunFormsTest, ANameGivesWhatItNames) {
  EXPECT_TRUE(session.run("loss").has_value());
  EXPECT_TRUE(session.run(std::string("loss:0")).has_value());
  EXPECT_TRUE(session.run("pair:1").has_value());
  EXPECT_FALSE(session.run(std::string_view("train")).has_value());
  EXPECT_EQ(session.take(), "run loss:\nrun loss:\nrun pair:\nrun train\n");
}

TEST_F(RunFormsTest, AWrongNameIsAnErrorThatNamesIt) {
  const auto message = [&](const std::string& name) -> std::string {
    try {
      (void)session.run(name);
    } catch (const Error& error) { return error.what(); }
    return "nothing";
  };
  EXPECT_NE(message("los").find("'los'"), std::string::npos);
  EXPECT_NE(message("pair").find("'pair' has 2 outputs"), std::string::npos);
  EXPECT_NE(message("loss:1").find("loss"), std::string::npos);
  EXPECT_NE(message("loss:").find("'loss:'"), std::string::npos);
  EXPECT_EQ(session.take(), "");
}

TEST_F(RunFormsTest, AListGivesAnArrayWithAnEmptyTensorForAnOperation) {
  const auto [first, nothing, last] = session.run({loss, train, accuracy});
  EXPECT_EQ(first.scalar<std::int32_t>(), 0);
  EXPECT_FALSE(nothing.has_value());
  EXPECT_EQ(last.scalar<std::int32_t>(), 2);
  EXPECT_EQ(session.take(), "run loss: train accuracy:\n");
}

TEST_F(RunFormsTest, AListOfNamesIsAListWhateverItsLength) {
  static_assert(std::same_as<decltype(session.run({"loss", "accuracy"})), std::array<Tensor, 2>>);
  const auto [first, second] = session.run({"loss", "train"});
  EXPECT_TRUE(first.has_value());
  EXPECT_FALSE(second.has_value());
  EXPECT_EQ(session.take(), "run loss: train\n");
}

TEST_F(RunFormsTest, AListMayMixNamesAndHandles) {
  const auto [first, nothing, last] = session.run({"loss:0", train, accuracy}, {{"accuracy", 2.0F}});
  EXPECT_TRUE(first.has_value());
  EXPECT_FALSE(nothing.has_value());
  EXPECT_EQ(last.scalar<std::int32_t>(), 2);
  EXPECT_EQ(session.take(), "run loss: train accuracy: <- accuracy:0\n");
}

TEST_F(RunFormsTest, AListWithTagsOrAMapGivesAMap) {
  const NamedResults listed = session.run({{"the loss", loss}, {"a pair", "pair:1"}, {"train", train}});
  EXPECT_EQ(listed.at("the loss").scalar<std::int32_t>(), 1);  // sorted by tag
  EXPECT_EQ(listed.at("a pair").scalar<std::int32_t>(), 0);
  EXPECT_FALSE(listed.at("train").has_value());
  const std::map<std::string, Output> outputs{{"b", loss}, {"a", accuracy}};
  const NamedResults mapped = session.run(outputs);
  EXPECT_EQ(mapped.at("b").scalar<std::int32_t>(), 1);
  static_cast<void>(session.run({{"b", "loss:0"}, {"a", "accuracy:0"}}));  // two strings are a tag and a name
  EXPECT_EQ(session.take(), "run pair: loss: train\nrun accuracy: loss:\nrun accuracy: loss:\n");
}

TEST_F(RunFormsTest, AVectorOfOutputsOrNamesGivesAVector) {
  EXPECT_EQ(session.run(std::vector<Output>{loss, accuracy}).size(), 2U);
  EXPECT_EQ(session.run(std::vector<Operation>{train}).size(), 1U);
  EXPECT_EQ(session.run(std::vector<std::string>{"loss", "train"}).size(), 2U);
  EXPECT_EQ(session.run(FetchList{loss, train}).size(), 2U);
  EXPECT_EQ(session.take(), "run loss: accuracy:\nrun train\nrun loss: train\nrun loss: train\n");
}

TEST_F(RunFormsTest, AFeedMayBeGivenByName) {
  session.run(train, {{"loss:0", 2.0F}});
  (void)session.run({loss, train}, {{"loss", 2.0F}, {accuracy, 1.0F}});
  EXPECT_EQ(session.take(), "run train <- loss:0\nrun loss: train <- loss:0 <- accuracy:0\n");
  EXPECT_THROW(session.run(train, {{"los:0", 2.0F}}), NotFoundError);
}

TEST_F(RunFormsTest, AListOfAnyLengthGivesAVector) {
  const std::vector<Fetch> fetches = {loss, accuracy, train};
  const std::vector<Tensor> results = session.run(std::span<const Fetch>(fetches));
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[1].scalar<std::int32_t>(), 1);
}

TEST_F(RunFormsTest, EveryFormTakesFeedsOptionsAndMetadata) {
  const RunOptions options{.trace_level = TraceLevel::Full};
  RunMetadata metadata;
  session.run(train, {{loss, 2.0F}}, &options, &metadata);
  (void)session.run(loss, {{accuracy, 2.0F}}, &options, &metadata);
  (void)session.run("loss", {{accuracy, 2.0F}}, &options, &metadata);
  (void)session.run({loss, train}, {{accuracy, 2.0F}}, &options, &metadata);
  (void)session.run({"loss", "train"}, {{accuracy, 2.0F}}, &options, &metadata);
  const std::vector<Fetch> fetches = {loss};
  (void)session.run(std::span<const Fetch>(fetches), {{accuracy, 2.0F}}, &options, &metadata);
  EXPECT_EQ(session.take(),
            "run train <- loss:0 trace 3\nrun loss: <- accuracy:0 trace 3\nrun loss: <- accuracy:0 trace 3\n"
            "run loss: train <- accuracy:0 trace 3\nrun loss: train <- accuracy:0 trace 3\nrun loss: <- accuracy:0 "
            "trace 3\n");
  EXPECT_EQ(metadata.node_stats.size(), 6U);
}

TEST_F(RunFormsTest, ACallableIsOneStepAndGivesItsResult) {
  int calls = 0;
  session.run([&] { ++calls; });
  static_assert(std::is_void_v<decltype(session.run([&] { ++calls; }))>);
  EXPECT_EQ(session.run([&] { return ++calls * 10; }), 20);
  EXPECT_EQ(*session.run([] { return std::make_unique<int>(7); }), 7);  // also what can only be moved
  const auto step = [&] { ++calls; };
  session.run(step);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(session.take(), "run\nrun\nrun\nrun\n");
}

TEST_F(RunFormsTest, AnExceptionOfTheCallableLeavesRun) {
  EXPECT_THROW(session.run([] { throw std::runtime_error("diverged"); }), std::runtime_error);
  EXPECT_THROW((void)session.run([]() -> int { throw std::runtime_error("diverged"); }), std::runtime_error);
}

/// Remembers of the last request whether its step was to give something.
struct Remembering : RunForms<Remembering, true> {
  void run_request(const RunRequest& request, std::span<Tensor>) {
    gives_result = request.step_gives_result;
    request.step();
  }
  bool gives_result = false;
};

TEST(RunForms, ARequestTellsWhetherItsStepGivesSomething) {
  Remembering session;
  (void)session.run([] { return 7; });
  EXPECT_TRUE(session.gives_result);
  session.run([] {});
  EXPECT_FALSE(session.gives_result);
}

template <class Session>
concept RunsCallables = requires(Session& session) { session.run([] {}); };

TEST(RunForms, OnlyEnginesAroundUserCodeTakeACallable) {
  static_assert(RunsCallables<support::EngineDouble<true>>);
  static_assert(!RunsCallables<support::EngineDouble<false>>);
}

}  // namespace
}  // namespace trainhook
