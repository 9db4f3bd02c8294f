// SPDX-License-Identifier: Apache-2.0
/// @file
/// SummarySaverHook: at which steps it writes what, over restarts and recoveries too.
#include <trainhook/hooks/summary_saver_hook.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/hooks/scaffold.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

/// A summary whose value counts how often it was evaluated, and one of twice that.
struct Summarised : support::TrainingDouble {
  explicit Summarised(support::Outside& outside, const std::string& scope = {}) : TrainingDouble(outside, scope) {}
  int evaluations = 0;
  Output one = script.value(
      "one", [this] { return Tensor(scalar_summary("one", static_cast<float>(++evaluations))); }, DType::String);
  Output two = script.value(
      "two", [this] { return Tensor(scalar_summary("two", static_cast<float>(2 * evaluations))); }, DType::String);
};

struct Alone : support::Outside, Summarised {
  Alone() : Summarised(static_cast<support::Outside&>(*this)) {}
  Lines finish() {
    end();
    return support::event_lines(*this, "run");
  }
};

TEST(SummarySaverHook, B048_B049_WantsEitherScaffoldOrSummaryOp) {
  const auto scaffold = std::make_shared<Scaffold>();
  EXPECT_THROW(SummarySaverHook({.save_steps = 10}), InvalidArgumentError);
  EXPECT_THROW(SummarySaverHook({.save_steps = 10, .scaffold = scaffold, .summary_op = "one"}), InvalidArgumentError);
  EXPECT_NO_THROW(SummarySaverHook({.save_steps = 10, .scaffold = scaffold}));
}

TEST(SummarySaverHook, B050_B051_X31_S38_WantsExactlyOnePeriodAboveZero) {
  EXPECT_NO_THROW(SummarySaverHook({.save_steps = 10, .summary_op = "one"}))
      << "so that what follows fails for the period alone";
  EXPECT_THROW(SummarySaverHook({.save_steps = 10, .save_secs = 20s, .summary_op = "one"}), InvalidArgumentError);
  EXPECT_THROW(SummarySaverHook({.summary_op = "one"}), InvalidArgumentError);
  EXPECT_THROW(SummarySaverHook({.save_steps = 0, .summary_op = "one"}), InvalidArgumentError);
  EXPECT_THROW(SummarySaverHook({.save_secs = -1s, .summary_op = "one"}), InvalidArgumentError);
}

TEST(SummarySaverHook, RefusesWhatIsNotASummary) {
  Alone training;
  training.add(SummarySaverHook({.save_steps = 1, .output_dir = "run", .summary_op = "global_step/read"}));
  EXPECT_THROW(training.begin(), InvalidArgumentError);
}

TEST(SummarySaverHook, B062_SavesEverySoManyStepsOfAStepInAScope) {
  support::Outside outside;
  Summarised training(outside, "foo");
  training.add(SummarySaverHook({.save_steps = 8, .output_dir = "run", .summary_op = {"one", training.two}}));
  training.start();
  training.run(30);
  training.end();
  EXPECT_EQ(support::event_lines(outside, "run"), (Lines{"1 START", "1 one=1", "1 two=2", "9 one=2", "9 two=4",
                                                         "17 one=3", "17 two=6", "25 one=4", "25 two=8"}));
}

TEST(SummarySaverHook, B052_SavesEverySoManySteps) {
  Alone training;
  training.add(SummarySaverHook({.save_steps = 8, .output_dir = "run", .summary_op = {"one", training.two}}));
  training.start();
  training.run(30);
  EXPECT_EQ(training.finish(), (Lines{"1 START", "1 one=1", "1 two=2", "9 one=2", "9 two=4", "17 one=3", "17 two=6",
                                      "25 one=4", "25 two=8"}));
  EXPECT_EQ(training.evaluations, 4) << "evaluated only when written";
}

TEST(SummarySaverHook, B054_SavesEverySoManySeconds) {
  Alone training;
  training.add(SummarySaverHook({.save_secs = 500ms, .output_dir = "run", .summary_op = training.one}));
  training.start();
  for (int i = 0; i < 4; ++i) {
    training.run();
    training.advance_clock(0.5);
  }
  EXPECT_EQ(training.finish(), (Lines{"1 START", "1 one=1", "2 one=2", "3 one=3", "4 one=4"}));
}

TEST(SummarySaverHook, TakesTheSummaryOfTheScaffold) {
  Alone training;
  const auto scaffold = std::make_shared<Scaffold>(ScaffoldOptions{.summary_op = training.one});
  training.add(SummarySaverHook({.save_steps = 2, .output_dir = "run", .scaffold = scaffold}));
  training.start();
  training.run(3);
  EXPECT_EQ(training.finish(), (Lines{"1 START", "1 one=1", "3 one=2"}));
}

TEST(SummarySaverHook, X48_WithoutSummariesInTheScaffoldOnlyStartIsWritten) {
  Alone training;
  training.add(SummarySaverHook({.save_steps = 1, .output_dir = "run", .scaffold = std::make_shared<Scaffold>()}));
  training.start();
  training.run(3);
  EXPECT_EQ(training.finish(), Lines{"1 START"});
}

TEST(SummarySaverHook, S21_WithoutAWriterNothingIsEvaluated) {
  Alone training;
  training.add(SummarySaverHook({.save_steps = 1, .summary_op = training.one}));
  training.start();
  training.run(10);
  training.end();
  EXPECT_EQ(training.evaluations, 0);
}

TEST(SummarySaverHook, S21_WritesAStepOnceThoughRunsDoNotAdvanceIt) {
  Alone training;
  const Operation nothing = training.script.operation("nothing", [] {});
  training.add(SummarySaverHook({.save_steps = 1, .output_dir = "run", .summary_op = training.one}));
  training.start();
  training.run();
  for (int i = 0; i < 3; ++i) training.run(nothing);
  training.run();
  const Lines lines = training.finish();
  EXPECT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], "1 one=1");
  EXPECT_TRUE(lines[2].starts_with("2 one="));
}

TEST(SummarySaverHook, S21_X46_EachStartAndEachRecoveryBeginsWithAStartRecord) {
  Alone training;
  training.add(SummarySaverHook({.save_steps = 10, .output_dir = "run", .summary_op = training.one}));
  training.set_step(4);
  training.start();
  training.run(2);
  training.set_step(5);
  training.create();
  training.run(2);
  EXPECT_EQ(training.finish(), (Lines{"5 START", "5 one=1", "6 START", "6 one=2"}));
}

TEST(SummarySaverHook, AnEvaluationThatIsMadeAgainTakesBackWhatItWroteOfItsStep) {
  support::Outside outside;
  for (int life = 0; life < 2; ++life) {
    Summarised evaluation(outside);
    const Operation nothing = evaluation.script.operation("nothing", [] {});
    evaluation.add(SummarySaverHook({.save_steps = 1, .output_dir = "eval", .summary_op = evaluation.one}));
    evaluation.set_step(20);
    evaluation.start();
    evaluation.run(nothing);
    evaluation.end();
  }
  EXPECT_EQ(support::event_lines(outside, "eval"), (Lines{"20 START", "20 one=1", "20 START", "20 one=1"}));
}

TEST(SummarySaverHook, ATrainingThatIsAtItsEndLeavesNoFileBehind) {
  Alone training;
  training.add(SummarySaverHook({.save_steps = 10, .output_dir = "run", .summary_op = training.one}));
  training.start();
  training.end();
  EXPECT_FALSE(training.disk.exists("run"));
}

TEST(SummarySaverHook, AResumedRunWritesTheStepsOfOneThatWasNotInterrupted) {
  support::Outside outside;
  const auto life = [&](std::int64_t from, int runs, std::optional<std::int64_t> last) {
    Summarised training(outside);
    SummarySaverHook& hook =
        training.add(SummarySaverHook({.save_steps = 8, .output_dir = "run", .summary_op = training.one}));
    training.set_step(from);
    training.begin();
    *detail::HookAccess::timers(hook).at(0) = {.step = last, .restored = true};
    training.create();
    training.run(runs);
    const std::optional<std::int64_t> kept = detail::HookAccess::timers(hook).at(0)->step;
    training.end();
    return kept;
  };
  const std::optional<std::int64_t> at_20 = life(0, 20, {});
  life(20, 10, at_20);
  EXPECT_EQ(support::event_lines(outside, "run"),
            (Lines{"1 START", "1 one=1", "9 one=2", "17 one=3", "21 START", "25 one=1"}));
}

TEST(SummarySaverHook, AFailedRunWritesNothing) {
  Alone training;
  training.add(SummarySaverHook({.save_steps = 1, .output_dir = "run", .summary_op = training.one}));
  training.start();
  training.script.before_each_run = [] { throw UnknownError("broken"); };
  EXPECT_THROW(training.run(), UnknownError);
  training.script.before_each_run = nullptr;
  training.run();
  EXPECT_EQ(training.finish(), (Lines{"1 START", "1 one=1"}));
}

TEST(SummarySaverHook, WritesToTheWriterThatWasGivenAndFlushesAtTheEnd) {
  Alone training;
  const auto writer = std::make_shared<FileWriter>(
      "run", FileWriterOptions{.flush_secs = 1h, .file_system = &training.disk, .clock = &training.clock});
  training.add(SummarySaverHook(
      {.save_steps = 1, .output_dir = "ignored", .summary_writer = writer, .summary_op = training.one}));
  training.start();
  training.run();
  EXPECT_EQ(training.finish(), (Lines{"1 START", "1 one=1"}));
  EXPECT_FALSE(training.disk.exists("ignored"));
}

TEST(SummarySaverHook, X45_NeedsAGlobalStep) {
  Graph graph;
  SummarySaverHook hook({.save_steps = 1, .summary_op = "one"});
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

}  // namespace
}  // namespace trainhook
