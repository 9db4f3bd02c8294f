// SPDX-License-Identifier: Apache-2.0
/// @file
/// InMemoryEvaluatorHook: at which steps it measures, on which values, and what it refuses.
#include <trainhook/estimator/in_memory_evaluator_hook.hpp>

#include <csignal>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/recording_writer.hpp>

#include "line_model.hpp"

namespace trainhook {
namespace {

using support::EstimatorTest;
using support::line;
using support::line_model;

/// Ten elements, and a model that learns nothing: its metric is their mean.
Dataset ten() { return Dataset::range(10); }

EstimatorSpec counting_model(const ModelInput& input) {
  const Output x = cast(input.components.at(0), DType::Float);
  const Variable step = *get_global_step(input.graph);
  const Output loss = reduce_sum(x);
  EstimatorSpec spec{.loss = loss};
  if (input.mode == ModeKeys::Train) spec.train_op = group(input.graph, {increment(step).operation(), x.operation()});
  if (input.mode == ModeKeys::Eval) spec.eval_metric_ops = {{"mean_of_features", metrics::mean(x)}};
  return spec;
}

TEST_F(EstimatorTest, EH01_MeasuresAtTheStartEveryPeriodAndAtTheEnd) {
  Estimator estimator = make(counting_model);
  estimator.train(ten(), {.hooks = {InMemoryEvaluatorHook(estimator, ten(), {.every_n_iter = 4})}});
  std::map<std::pair<std::int64_t, std::string>, float> means = scalars_in("run/eval");
  std::erase_if(means, [](const auto& entry) { return entry.first.second != "mean_of_features"; });
  EXPECT_EQ(means, (std::map<std::pair<std::int64_t, std::string>, float>{{{0, "mean_of_features"}, 4.5F},
                                                                          {{4, "mean_of_features"}, 4.5F},
                                                                          {{8, "mean_of_features"}, 4.5F},
                                                                          {{10, "mean_of_features"}, 4.5F}}));
}

TEST_F(EstimatorTest, EH03_MeasuresWhatALaterEvaluationDoes) {
  Estimator estimator = make(line_model);
  const InMemoryEvaluatorHook::Options options{.name = "in-memory"};
  estimator.train(line().take(3), {.hooks = {InMemoryEvaluatorHook(estimator, line(), options)}});
  const auto in_memory = scalars_in("run/eval_in-memory");
  const EvalMetrics later = estimator.evaluate(line());
  EXPECT_EQ(in_memory.at({3, "loss"}), later.at("loss").scalar<float>());
  EXPECT_EQ(in_memory.at({3, "mean x"}), later.at("mean x").scalar<float>());
  EXPECT_EQ(in_memory.size(), 4U);  // and the same of step 0
}

TEST_F(EstimatorTest, S41_MeasuresTheLastStepOnce) {
  Estimator estimator = make(counting_model);
  int evaluations = 0;
  const InputFn counted([&evaluations](Graph& graph) {
    ++evaluations;
    return make_iterator(graph, ten()).get_next();
  });
  estimator.train(ten().take(4), {.hooks = {InMemoryEvaluatorHook(estimator, counted, {.every_n_iter = 4})}});
  EXPECT_EQ(evaluations, 1) << "the graph is built once";
  EXPECT_EQ(scalars_in("run/eval").size(), 4U) << "two metrics of steps 0 and 4";
}

/// Throws once, after so many runs.
LambdaHook fails(std::int64_t runs, std::exception_ptr error) {
  return LambdaHook({.after_run = [runs, error](SessionRunContext&, const SessionRunValues&) mutable {
    if (--runs == 0) std::rethrow_exception(error);
  }});
}

TEST_F(EstimatorTest, S41_ARecoveryRepeatsNoEvaluation) {
  const testing::LogLines quiet;
  Estimator estimator = make(counting_model, {.save_checkpoints_steps = 1});
  estimator.train(ten().repeat(),
                  {.hooks = {fails(3, std::make_exception_ptr(AbortedError("gone"))),
                             InMemoryEvaluatorHook(estimator, ten(), {.name = "lost", .every_n_iter = 2})},
                   .steps = 4});
  std::vector<std::int64_t> steps;
  for (const std::string& path : list_event_files(disk_, "run/eval_lost")) {
    for (const Event& event : read_events(disk_, path).events)
      if (!event.values.empty() && event.values[0].tag == "loss") steps.push_back(event.step);
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 2, 4}));
}

TEST_F(EstimatorTest, AResumedRunTakesBackWhatALostOneMeasured) {
  const auto train = [&](std::int64_t steps) {
    Estimator estimator = make(counting_model, {.save_checkpoints_steps = 3});
    estimator.train(ten().repeat(),
                    {.hooks = {InMemoryEvaluatorHook(estimator, ten(), {.every_n_iter = 4})}, .max_steps = steps});
  };
  train(3);
  train(5);
  std::vector<std::string> starts = testing::event_lines(disk_, "run/eval");
  std::erase_if(starts, [](const std::string& line) { return !line.ends_with("START"); });
  EXPECT_EQ(starts, (std::vector<std::string>{"0 START", "4 START"}));
}

TEST_F(EstimatorTest, ARunThatWasKilledMeasuresAtTheSameIterations) {
  const testing::LogLines quiet;
  struct Killed {};
  const auto steps_of = [&](const std::string& directory, std::int64_t killed_after) {
    const RunConfig config{.model_dir = directory, .save_checkpoints_steps = 3};
    const auto train = [&](std::int64_t runs) {
      Estimator estimator = make(counting_model, config);
      estimator.train(ten().repeat(), {.hooks = {fails(runs, std::make_exception_ptr(Killed())),
                                                 InMemoryEvaluatorHook(estimator, ten(), {.every_n_iter = 4})},
                                       .max_steps = 10});
    };
    if (killed_after > 0) { EXPECT_THROW(train(killed_after), Killed); }
    train(0);
    std::set<std::int64_t> steps;
    for (const auto& [key, value] : scalars_in(directory + "/eval")) steps.insert(key.first);
    return steps;
  };
  EXPECT_EQ(steps_of("whole", 0), (std::set<std::int64_t>{0, 4, 8, 10}));
  for (std::int64_t runs = 1; runs < 10; ++runs)
    EXPECT_EQ(steps_of(fmt::format("killed after {}", runs), runs), steps_of("whole", 0)) << runs;
}

TEST_F(EstimatorTest, ASignalDuringAnInMemoryEvaluationLeavesItToTheNextRun) {
  const testing::LogLines quiet;
  const SignalHook::Options signals{.save_signals = {}, .deadline = {}};
  int evaluations = 0;
  const auto train = [&] {
    Estimator estimator = make(counting_model, {.save_checkpoints_steps = 3});
    const HookList in_evaluation{SignalHook(signals),
                                 LambdaHook({.after_create_session = [&](SessionRef, Coordinator&) {
                                   if (++evaluations == 2) std::raise(SIGTERM);
                                 }})};
    estimator.train(ten().repeat(),
                    {.hooks = {SignalHook(signals),
                               InMemoryEvaluatorHook(estimator, ten(), {.hooks = in_evaluation, .every_n_iter = 4})},
                     .max_steps = 10});
    return scalars_in("run/eval");
  };
  EXPECT_EQ(train().size(), 2U) << "two metrics of step 0";
  forget_interruption();
  std::set<std::int64_t> steps;
  for (const auto& [key, value] : train()) steps.insert(key.first);
  EXPECT_EQ(steps, (std::set<std::int64_t>{0, 4, 8, 10}));
}

TEST_F(EstimatorTest, EarlyStoppingSeesItsMetrics) {
  Estimator estimator = make(counting_model);
  estimator.train(ten(), {.hooks = {InMemoryEvaluatorHook(estimator, ten(), {.every_n_iter = 2}),
                                    EarlyStoppingHook({.metric = "eval/mean_of_features", .patience = 2})}});
  EXPECT_EQ(step_of(estimator), 4) << "the metric was best at step 0";
}

TEST_F(EstimatorTest, EH04_RefusesSeveralWorkers) {
  const Estimator estimator = make(line_model, {.task_type = "chief", .num_worker_replicas = 3});
  EXPECT_THROW(InMemoryEvaluatorHook(estimator, line(), {}), InvalidArgumentError);
  EXPECT_THROW(InMemoryEvaluatorHook(make(line_model), line(), {.every_n_iter = 0}), InvalidArgumentError);
}

EstimatorSpec with_scaffold(const ModelInput& input, const ScaffoldOptions& options) {
  EstimatorSpec spec = line_model(input);
  if (input.mode == ModeKeys::Eval) spec.scaffold = std::make_shared<Scaffold>(options);
  return spec;
}

TEST_F(EstimatorTest, EH06_RefusesASaverOfTheEvaluation) {
  Estimator estimator =
      make([](const ModelInput& input) { return with_scaffold(input, {.saver = std::make_shared<Saver>()}); });
  EXPECT_THROW(estimator.train(line(), {.hooks = {InMemoryEvaluatorHook(estimator, line(), {})}}),
               InvalidArgumentError);
}

TEST_F(EstimatorTest, EH07_RefusesAnInitFnOfTheEvaluation) {
  Estimator estimator = make(
      [](const ModelInput& input) { return with_scaffold(input, {.init_fn = [](const Scaffold&, SessionRef) {}}); });
  EXPECT_THROW(estimator.train(line(), {.hooks = {InMemoryEvaluatorHook(estimator, line(), {})}}),
               InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
