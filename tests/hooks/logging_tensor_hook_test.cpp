// SPDX-License-Identifier: Apache-2.0
/// @file
/// LoggingTensorHook: which runs are logged, and how.
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using detail::tensor_text;

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

struct Logged : support::Process {
  support::LogLines log;
  int evaluations = 0;
  float value = 42;
  Output foo = script.value("foo", [this] {
    ++evaluations;
    return Tensor(value);
  });
};

std::string refusal(LoggingTensorHook::Options options) {
  try {
    const LoggingTensorHook hook("foo", std::move(options));
  } catch (const InvalidArgumentError& error) { return error.what(); }
  return "accepted";
}

TEST(LoggingTensorHook, B010_X31_RefusesIllegalArguments) {
  EXPECT_NE(refusal({.every_n_iter = 0}).find("nvalid every_n_iter"), std::string::npos);
  EXPECT_NE(refusal({.every_n_iter = -10}).find("nvalid every_n_iter=-10"), std::string::npos);
  EXPECT_NE(refusal({.every_n_iter = 5, .every_n_secs = 5s}).find("xactly one of"), std::string::npos);
  EXPECT_NE(refusal({.every_n_iter = 5, .every_n_steps = 5}).find("xactly one of"), std::string::npos);
  EXPECT_NE(refusal({.every_n_iter = 5, .every_n_secs = 5s, .at_end = true}).find("xactly one of"), std::string::npos);
  EXPECT_NE(refusal({}).find("xactly one of"), std::string::npos);
  EXPECT_NE(refusal({.every_n_secs = 0s}).find("every_n_secs is 0 s"), std::string::npos);
  EXPECT_NE(refusal({.every_n_steps = 0}).find("every_n_steps is 0"), std::string::npos);
  EXPECT_EQ(refusal({.at_end = true}), "accepted");
  EXPECT_THROW(LoggingTensorHook(FetchRefs{}, {.at_end = true}), InvalidArgumentError);
}

TEST(LoggingTensorHook, B011_PrintsAtEndOnly) {
  Logged training;
  training.add(LoggingTensorHook("foo", {.at_end = true}));
  training.start();
  training.run(3);
  EXPECT_EQ(training.log.lines, Lines{});
  EXPECT_EQ(training.evaluations, 0);
  training.end();
  EXPECT_EQ(training.log.lines, Lines{"I foo = 42.0"});
}

TEST(LoggingTensorHook, B012_PrintsEverySoManyRuns) {
  for (int life = 0; life < 2; ++life) {
    Logged training;
    training.add(LoggingTensorHook("foo", {.every_n_iter = 10}));
    training.start();
    training.run();
    EXPECT_EQ(training.log.take(), Lines{"I foo = 42.0"});
    for (int i = 0; i < 3; ++i) {
      training.run(9);
      EXPECT_EQ(training.log.take(), Lines{});
      training.advance_clock(1.5);
      training.run();
      EXPECT_EQ(training.log.take(), Lines{"I foo = 42.0 (1.500 sec)"});
    }
    training.run();
    training.end();
    EXPECT_EQ(training.log.take(), Lines{});
    EXPECT_EQ(training.evaluations, 4) << "tensors are fetched with the runs that are logged only";
  }
}

TEST(LoggingTensorHook, B013_PrintsEverySoManyRunsAndAtEnd) {
  Logged training;
  training.add(LoggingTensorHook("foo", {.every_n_iter = 10, .at_end = true}));
  training.start();
  training.run(12);
  (void)training.log.take();
  training.value = 43;
  training.end();
  EXPECT_EQ(training.log.take(), Lines{"I foo = 43.0 (0.000 sec)"});
}

TEST(LoggingTensorHook, S22_DoesNotRepeatAtEndTheLineJustLogged) {
  Logged training;
  training.add(LoggingTensorHook("foo", {.every_n_iter = 10, .at_end = true}));
  training.start();
  training.run(11);
  (void)training.log.take();
  training.end();
  EXPECT_EQ(training.log.take(), Lines{});
}

TEST(LoggingTensorHook, S22_X49_ShowsTheLastFetchedValuesAtEndIfFeedsAreMissing) {
  Logged training;
  const Output fed =
      training.graph.add({.type = "Placeholder", .name = "fed", .outputs = {{DType::Float, Shape{}}}}).output();
  training.add(LoggingTensorHook("fed", {.every_n_iter = 10, .at_end = true}));
  training.start();
  training.run(training.nothing, {{fed, Tensor(7.0F)}});
  training.run(training.nothing, {{fed, Tensor(8.0F)}});
  (void)training.log.take();
  training.end();
  ASSERT_EQ(training.log.lines.size(), 2U);
  EXPECT_NE(training.log.lines[0].find("cannot be evaluated"), std::string::npos);
  EXPECT_EQ(training.log.lines[1], "I fed = 7.0 (0.000 sec)");
}

TEST(LoggingTensorHook, X49_FailsAtEndIfFeedsAreMissingAndNoValueWasEverSeen) {
  Logged training;
  training.graph.add({.type = "Placeholder", .name = "fed", .outputs = {{DType::Float, Shape{}}}});
  training.add(LoggingTensorHook("fed", {.at_end = true}));
  training.start();
  EXPECT_THROW(training.end(), InvalidArgumentError);
}

TEST(LoggingTensorHook, B015_PrintsEverySoManySeconds) {
  Logged training;
  training.add(LoggingTensorHook("foo", {.every_n_secs = 1s}));
  training.start();
  training.run();
  EXPECT_EQ(training.log.take().size(), 1U);
  training.run();
  EXPECT_EQ(training.log.take().size(), 0U);
  training.advance_clock(1);
  training.run();
  EXPECT_EQ(training.log.take(), Lines{"I foo = 42.0 (1.000 sec)"});
  training.end();
  EXPECT_EQ(training.log.take().size(), 0U);
}

TEST(LoggingTensorHook, S22_CountsGlobalStepsIfAsked) {
  Logged training;
  training.script.step_by = 5;
  training.add(LoggingTensorHook("foo", {.every_n_steps = 10}));
  training.start();
  training.run();  // from step 0
  EXPECT_EQ(training.log.take().size(), 1U);
  training.run();  // from step 5
  EXPECT_EQ(training.log.take().size(), 0U);
  training.run(training.nothing);  // from step 10
  EXPECT_EQ(training.log.take().size(), 1U);
  training.run(training.nothing);
  EXPECT_EQ(training.log.take().size(), 0U);
}

TEST(LoggingTensorHook, B017_UsesTheFormatter) {
  Logged training;
  training.add(LoggingTensorHook("foo", {.every_n_iter = 10, .formatter = [](std::span<const NamedTensor> values) {
                                           return "qqq=" + tensor_text(values[0].tensor);
                                         }}));
  training.start();
  training.run();
  EXPECT_EQ(training.log.lines, Lines{"I qqq=42.0"});
}

TEST(LoggingTensorHook, ListsKeepTheirOrderAndTagsAreSorted) {
  Logged training;
  const Output bar = training.script.value(
      "bar", [] { return Tensor(std::int64_t{1}); }, DType::Int64);
  training.add(LoggingTensorHook({training.foo, "bar"}, {.every_n_iter = 10}));
  training.add(LoggingTensorHook({{"z", training.foo}, {"a", "bar:0"}}, {.every_n_iter = 10}));
  training.add(
      LoggingTensorHook(std::map<std::string, FetchRefs::Item>{{"z", bar}, {"b", "foo"}}, {.every_n_iter = 10}));
  training.start();
  training.run();
  EXPECT_EQ(training.log.lines, (Lines{"I foo:0 = 42.0, bar = 1", "I a = 1, z = 42.0", "I b = 42.0, z = 1"}));
}

TEST(LoggingTensorHook, X50_RefusesNamesOfTwoOutputsAndTensorsOfAnotherGraph) {
  Logged training;
  training.graph.add({.type = "Two", .name = "two", .outputs = {{DType::Float, Shape{}}, {DType::Float, Shape{}}}});
  LoggingTensorHook two("two", {.every_n_iter = 1});
  EXPECT_THROW(two.begin(training.graph), InvalidArgumentError);
  support::Process other;
  LoggingTensorHook foreign(other.script.value("x", [] { return Tensor(1.0F); }), {.every_n_iter = 1});
  EXPECT_THROW(foreign.begin(training.graph), InvalidArgumentError);
  LoggingTensorHook operation("train", {.every_n_iter = 1});
  EXPECT_THROW(operation.begin(training.graph), InvalidArgumentError);
}

TEST(LoggingTensorHook, KeepsNoHandleOfAValueThatTheModelWrites) {
  Logged training;
  const Variable weights = training.script.variable("weights", Tensor::of<float>({0, 0}));
  training.model.variable("weights") = Tensor::of<float>({1, 2});
  training.add(LoggingTensorHook(weights, {.every_n_iter = 1}));
  training.start();
  training.run();
  EXPECT_EQ(training.log.lines, Lines{"I weights/read:0 = [1. 2.]"});
  EXPECT_TRUE(training.model.variable("weights").is_unique());
}

}  // namespace
}  // namespace trainhook
