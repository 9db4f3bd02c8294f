// SPDX-License-Identifier: Apache-2.0
/// @file
/// EvaluationHook: when it measures, on what, and where the figures go.
#include <trainhook/hooks/evaluation_hook.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <expect_error.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::LogLines;
using support::Process;
using Steps = std::vector<std::int64_t>;

/// A process whose metric is its step.
struct Training : Process {
  explicit Training(EvaluationHook::Options options) {
    hook = &add(EvaluationHook(
        [this] {
          steps.push_back(step());
          return Metrics{{"loss", 0.5 * static_cast<double>(step())}, {"size", 3}};
        },
        std::move(options)));
  }
  EvaluationHook* hook;
  Steps steps;  // at which it was measured
};

TEST(EvaluationHook, MeasuresAtMultiplesOfItsPeriodAndAtTheEnd) {
  Training training({.every_n_steps = 4});
  training.start().run(10);
  training.end();
  EXPECT_EQ(training.steps, (Steps{4, 8, 10}));
}

TEST(EvaluationHook, MeasuresTheLastStepOnce) {
  Training training({.every_n_steps = 4});
  training.start().run(8);
  training.end();
  EXPECT_EQ(training.steps, (Steps{4, 8}));
}

TEST(EvaluationHook, MeasuresAtTheEndOnlyOrNotThen) {
  Training last({});
  last.start().run(3);
  last.end();
  EXPECT_EQ(last.steps, (Steps{3}));
  Training periodic({.every_n_steps = 2, .at_end = false});
  periodic.start().run(3);
  periodic.end();
  EXPECT_EQ(periodic.steps, (Steps{2}));
}

/// Ends a run of so many steps as a signal does.
LambdaHook interrupts_at(std::int64_t step) {
  return LambdaHook({.after_run = [step](SessionRunContext& context, const SessionRunValues&) {
    if (context.global_step() == step) context.interrupt("a signal");
  }});
}

TEST(EvaluationHook, DoesNotMeasureAtTheEndOfAnInterruptedRun) {
  for (const auto& [options, steps] : std::vector<std::pair<EvaluationHook::Options, Steps>>{
           {{.every_n_steps = 2}, {2}}, {{.every_n_steps = 3}, {3}}, {{}, {}}}) {
    LogLines log;
    Training training(options);
    training.add(interrupts_at(3));
    training.add(EarlyStoppingHook({}));
    training.start().run(3);
    training.end();
    EXPECT_EQ(training.steps, steps);
    EXPECT_EQ(log.count("W "), 0U);
  }
}

TEST(EvaluationHook, WhatItMeasuresAtTheEndIsExtraBesideAPeriod) {
  const auto is_extra = [](EvaluationHook::Options options, int runs) {
    Training training(std::move(options));
    training.start().run(runs);
    if (const PublishedMetric* metric = training.services.metric("eval/loss")) { EXPECT_FALSE(metric->is_extra); }
    training.end();
    return training.services.metric("eval/loss")->is_extra;
  };
  EXPECT_TRUE(is_extra({.every_n_steps = 4}, 6));
  EXPECT_TRUE(is_extra({.every_n_steps = 4}, 3)) << "before the first period ends";
  EXPECT_TRUE(is_extra({.every_n_steps = 4}, 0));
  EXPECT_TRUE(is_extra({.every_n_secs = 10s}, 6));
  EXPECT_FALSE(is_extra({.every_n_steps = 4}, 8)) << "the period's";
  EXPECT_FALSE(is_extra({}, 6)) << "there is no period";
}

TEST(EvaluationHook, APeriodInSecondsBeginsWithTheSession) {
  Training training({.every_n_secs = 10s, .at_end = false});
  training.start();
  for (int i = 0; i < 6; ++i) {
    training.advance_clock(4);
    training.run();
  }
  EXPECT_EQ(training.steps, (Steps{3, 6}));
}

TEST(EvaluationHook, SaysThatItsPeriodWasNeverOver) {
  const auto lines = [](EvaluationHook::Options options, int runs) {
    LogLines log;
    Training training(std::move(options));
    training.start().run(runs);
    training.end();
    return log.count("W EvaluationHook: nothing was measured, since the training ended before the first period did");
  };
  EXPECT_EQ(lines({.every_n_steps = 4, .at_end = false}, 3), 1U);
  EXPECT_EQ(lines({.every_n_secs = 10s, .at_end = false}, 3), 1U);
  EXPECT_EQ(lines({.every_n_steps = 4, .at_end = false}, 5), 0U);
  EXPECT_EQ(lines({.every_n_steps = 4, .at_end = false}, 0), 0U) << "there was nothing to train";
  EXPECT_EQ(lines({.every_n_steps = 4}, 3), 0U) << "the end was measured";
}

TEST(EvaluationHook, DoesNotWarnAboutItsPeriodInAResumedRun) {
  LogLines log;
  Training first({.every_n_steps = 4, .at_end = false});
  first.start().run(5);
  Training second({.every_n_steps = 4, .at_end = false});
  second.begin();
  *detail::HookAccess::timers(*second.hook)[0] = {.step = detail::HookAccess::timers(*first.hook)[0]->step,
                                                  .restored = true};
  second.set_step(5);
  second.create();
  second.run();
  second.end();
  EXPECT_EQ(log.count("nothing was measured"), 0U);
}

TEST(EvaluationHook, LogsWritesAndPublishesItsFigures) {
  LogLines log;
  Training training({.every_n_steps = 2, .name = "validation", .output_dir = "run"});
  training.start().run(3);
  EXPECT_EQ(training.services.metric("validation/loss")->step, 2);
  EXPECT_EQ(training.services.metric("validation/loss")->value, 1);
  EXPECT_EQ(training.services.metric("validation/size")->value, 3);
  EXPECT_EQ(training.services.metric("loss"), nullptr);
  training.end();
  EXPECT_EQ(log.count("I validation at step 2: loss = 1, size = 3"), 1U);
  EXPECT_EQ(support::event_lines(training, "run/validation"),
            (std::vector<std::string>{"1 START", "2 loss=1", "2 size=3", "3 loss=1.5", "3 size=3"}));
  EXPECT_EQ(training.hook->metrics().at(0).value, 1.5);
}

TEST(EvaluationHook, AResumedRunTakesBackWhatALostOneMeasuredOrWhatItMeasuresAgain) {
  const auto events_after = [](int runs) {
    Training training({.every_n_steps = 2, .output_dir = "run"});
    training.begin();
    training.set_step(4);
    training.create();
    training.run(runs);
    training.end();
    return support::event_lines(training, "run/eval");
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(events_after(2), (Lines{"5 START", "6 loss=3", "6 size=3"}));
  EXPECT_EQ(events_after(0), (Lines{"4 START", "4 loss=2", "4 size=3"})) << "a finished run was started again";
}

TEST(EvaluationHook, TakesEveryNumberAndRefusesOtherValuesBeforeTheFirstStep) {
  Process process;
  const Output done = process.script.value(
      "done", [] { return Tensor(true); }, DType::Bool);
  const Output hits = process.script.value(
      "hits", [] { return Tensor(std::uint8_t{200}); }, DType::UInt8);
  process.add(EvaluationHook({{done, hits}, FeedDict(), {.every_n_steps = 1}}));
  process.start().run();
  EXPECT_EQ(process.services.metric("eval/done")->value, 1);
  EXPECT_EQ(process.services.metric("eval/hits")->value, 200);
  Process other;
  const Output text = other.script.value(
      "text", [] { return Tensor("a"); }, DType::String);
  other.add(EvaluationHook({{text}, FeedDict(), {.every_n_steps = 1}}));
  testing::expect_error({"EvaluationHook", "'text:0'", "string"}, [&] { other.begin(); });
}

TEST(EvaluationHook, NeedsAPeriodOrTheEnd) {
  EXPECT_THROW(Training({.at_end = false}), InvalidArgumentError);
  EXPECT_THROW(Training({.every_n_steps = 1, .every_n_secs = 1s}), InvalidArgumentError);
  EXPECT_THROW(Training({.every_n_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(Training({.name = ""}), InvalidArgumentError);
  EXPECT_THROW(EvaluationHook(std::function<Metrics()>(), {}), InvalidArgumentError);
}

TEST(EvaluationHook, HasANameOfItsOwn) {
  Training training({.every_n_steps = 4});
  training.add(EvaluationHook([] { return Metrics{{"loss", 1}}; }, {.every_n_steps = 2}));
  EXPECT_THROW(training.start(), InvalidArgumentError);
  Training apart({.every_n_steps = 4});
  apart.add(EvaluationHook([] { return Metrics{{"loss", 1}}; }, {.every_n_steps = 2, .name = "test"}));
  EXPECT_NO_THROW(apart.start());
}

TEST(EvaluationHook, SaysWhoseFunctionThrew) {
  LogLines log;
  Process training;
  training.add(EvaluationHook([]() -> Metrics { throw std::range_error("too far"); }, {.name = "test"}));
  training.start();
  EXPECT_THROW(training.end(), std::range_error);
  EXPECT_EQ(log.count("E the function of evaluation 'test' threw: too far"), 1U);
}

}  // namespace
}  // namespace trainhook
