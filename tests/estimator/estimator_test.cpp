// SPDX-License-Identifier: Apache-2.0
/// @file
/// Estimator: training over several calls, evaluation, prediction, and what it refuses.
#include <trainhook/estimator/estimator.hpp>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/estimator/in_memory_evaluator_hook.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/recording_writer.hpp>

#include "line_model.hpp"

namespace trainhook {
namespace {

using support::EstimatorTest;
using support::line;
using support::line_model;

TEST_F(EstimatorTest, TrainsOnFromItsNewestCheckpoint) {
  Estimator estimator = make(line_model);
  estimator.train(line().repeat(), {.steps = 3}).train(line().repeat(), {.steps = 4});
  EXPECT_EQ(estimator.latest_checkpoint(), "run/model.ckpt-7");
  EXPECT_EQ(step_of(estimator), 7);
}

TEST_F(EstimatorTest, TrainsInTwoCallsAsInOne) {
  Estimator once = make(line_model, {.model_dir = "once"});
  once.train(line().repeat(), {.steps = 8});
  Estimator twice = make(line_model, {.model_dir = "twice"});
  twice.train(line().repeat(), {.steps = 4}).train(line().repeat(), {.max_steps = 8});  // 4 steps are the whole input
  EXPECT_EQ(weights_of(once), weights_of(twice));
}

TEST_F(EstimatorTest, MaxStepsCountAllCalls) {
  Estimator estimator = make(line_model);
  estimator.train(line().repeat(), {.max_steps = 5});
  const testing::LogLines log;
  estimator.train(line().repeat(), {.max_steps = 5});
  EXPECT_EQ(log.count("Skipping training since max_steps has already saved."), 1U);
  EXPECT_EQ(step_of(estimator), 5);
}

TEST_F(EstimatorTest, TrainsUntilTheInputEnds) {
  Estimator estimator = make(line_model);
  const testing::LogLines log;
  estimator.train(line());
  EXPECT_EQ(step_of(estimator), 4);
  EXPECT_EQ(log.count("Loss for final step: "), 1U);
}

TEST_F(EstimatorTest, SaysThatItMadeNoStep) {
  Estimator estimator = make(line_model);
  const testing::LogLines log;
  estimator.train([] { return line().take(0); });
  EXPECT_EQ(log.count("Training with estimator made no steps."), 1U);
}

TEST_F(EstimatorTest, LogsAndSavesAtItsPeriods) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 4, .log_step_count_steps = 5});
  const testing::LogLines log;
  estimator.train(line().repeat(), {.steps = 10});
  EXPECT_EQ(log.count("Saving checkpoints for"), 4U);  // 0, 4, 8, and 10 at the end
  EXPECT_EQ(log.count("loss = "), 2U);
  EXPECT_EQ(log.count(", step = 5"), 1U);
}

TEST_F(EstimatorTest, LeavesTheCommandLineOutOfItsRecordIfItIsTold) {
  Estimator estimator = make(line_model, {.save_command_line = false});
  estimator.train(line());
  EXPECT_EQ(disk_.contents(estimator.model_dir() + "/run.pbtxt").find("command_line"), std::string::npos);
}

TEST_F(EstimatorTest, ListenersAreToldOfItsSaves) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const auto heard = std::make_shared<testing::Trace>();
  const auto listener = std::make_shared<testing::RecordingListener>(heard);
  estimator.train(line().repeat(), {.steps = 2, .saving_listeners = {listener}});
  EXPECT_EQ(heard->lines(),
            "listener.begin\nlistener.before_save 0\nlistener.after_save 0\nlistener.before_save 2\n"
            "listener.after_save 2\nlistener.end 2\n");
  Estimator without = make(line_model, {.save_checkpoints_steps = 0});
  EXPECT_THROW(without.train(line(), {.saving_listeners = {listener}}), InvalidArgumentError);
}

TEST_F(EstimatorTest, ListenersAreToldOfTheSavesOfAGivenHook) {
  const auto save = [](auto hook, const Estimator& estimator) {
    return hook(CheckpointSaverOptions{.checkpoint_dir = estimator.model_dir(), .save_steps = 2});
  };
  const auto at_once = [](auto options) -> HookList { return CheckpointSaverHook(options); };
  const auto later = [](auto options) -> HookList { return AsyncCheckpointSaverHook(options); };
  Estimator estimator = make(line_model);
  const auto heard = std::make_shared<testing::Trace>();
  const auto listener = std::make_shared<testing::RecordingListener>(heard);
  const HookList shared = save(at_once, estimator);
  estimator.train(line().repeat(), {.hooks = shared, .steps = 2, .saving_listeners = {listener}});
  EXPECT_EQ(heard->lines(),
            "listener.begin\nlistener.before_save 0\nlistener.after_save 0\nlistener.before_save 2\n"
            "listener.after_save 2\nlistener.end 2\n");
  estimator.train(line().repeat(), {.hooks = shared, .steps = 2});
  EXPECT_EQ(heard->lines().find("listener.begin", 1), std::string::npos) << "the hook does not keep it";
  estimator.train(line().repeat(), {.hooks = save(later, estimator), .steps = 2, .saving_listeners = {listener}});
  EXPECT_NE(heard->lines().find("listener.after_save 6"), std::string::npos);
}

class InterruptedEstimator : public EstimatorTest {
 protected:
  ~InterruptedEstimator() override { forget_interruption(); }

  /// A SignalHook, and a signal after that step.
  static HookList signal_after(std::int64_t step) {
    return {SignalHook({.save_signals = {}, .deadline = {}}),
            LambdaHook({.after_run = [step](SessionRunContext& context, const SessionRunValues&) {
              if (context.global_step() == step) std::raise(SIGTERM);
            }})};
  }
  testing::LogLines log_;
};

TEST_F(InterruptedEstimator, TrainReturnsAndSaysWhyAndTheNextOneThrows) {
  Estimator estimator = make(line_model);
  estimator.train(line().repeat(), {.hooks = signal_after(3), .max_steps = 10});
  EXPECT_EQ(step_of(estimator), 3);
  EXPECT_EQ(log_.count("I Training was interrupted: SIGTERM"), 1U);
  const auto files = disk_.files();
  for (const std::int64_t max_steps : {10, 2})
    EXPECT_THROW(estimator.train(line().repeat(), {.hooks = signal_after(5), .max_steps = max_steps}), CancelledError);
  EXPECT_EQ(disk_.files(), files);
  EXPECT_EQ(estimator.evaluate(line()).at("global_step").scalar<std::int64_t>(), 3);
  forget_interruption();
  estimator.train(line().repeat(), {.hooks = signal_after(-1), .max_steps = 10});
  EXPECT_EQ(step_of(estimator), 10);
  EXPECT_EQ(log_.count("I Training was interrupted"), 1U);
}

TEST_F(InterruptedEstimator, ASignalHookOfTheModelDoesTheSame) {
  Estimator estimator = make([](const ModelInput& input) {
    EstimatorSpec spec = line_model(input);
    if (input.mode == ModeKeys::Train) spec.training_hooks = signal_after(3);
    return spec;
  });
  int trained = 0;
  while (!interruption() && trained < 5) {
    estimator.train(line().repeat(), {.steps = 2});
    estimator.evaluate(line());
    ++trained;
  }
  EXPECT_EQ(trained, 2);
  EXPECT_EQ(step_of(estimator), 3);
  EXPECT_THROW(estimator.train(line().repeat(), {.steps = 2}), CancelledError);
}

TEST_F(InterruptedEstimator, InMemoryEvaluationsAreNotMadeAtItsEnd) {
  for (const bool interrupted : {false, true}) {
    const std::string directory = interrupted ? "interrupted" : "whole";
    Estimator estimator = make(line_model, {.model_dir = directory});
    for (const std::int64_t step : {3, -1}) {
      if (!interrupted && step == 3) continue;
      HookList hooks = signal_after(step);
      hooks.emplace_back(InMemoryEvaluatorHook(estimator, line(), {.every_n_iter = 4}));
      hooks.emplace_back(CheckpointInputPipelineHook(estimator));
      estimator.train(line().repeat(), {.hooks = hooks, .max_steps = 10});
      forget_interruption();
    }
  }
  EXPECT_EQ(scalars_in("interrupted/eval"), scalars_in("whole/eval"));
}

TEST_F(EstimatorTest, EvaluatesItsNewestCheckpoint) {
  Estimator estimator = make(line_model);
  estimator.train(line().repeat(), {.steps = 6});
  const testing::LogLines log;
  const EvalMetrics metrics = estimator.evaluate(line());
  EXPECT_EQ(metrics.at("global_step").scalar<std::int64_t>(), 6);
  EXPECT_EQ(metrics.at("mean x").scalar<float>(), 3.5F);
  EXPECT_GT(metrics.at("loss").scalar<float>(), 0.0F);
  const auto written = scalars_in("run/eval");
  EXPECT_EQ(written.at({6, "mean x"}), 3.5F);
  EXPECT_EQ(written.at({6, "loss"}), metrics.at("loss").scalar<float>());
  EXPECT_EQ(written.size(), 2U);
  EXPECT_EQ(log.count("W "), 0U) << "it does not miss the hooks of training";
}

TEST_F(EstimatorTest, EvaluatesSomeBatchesUnderAName) {
  Estimator estimator = make(line_model);
  estimator.train(line().repeat(), {.steps = 1});
  const EvalMetrics metrics = estimator.evaluate(line(), {.steps = 1, .name = "short"});
  EXPECT_EQ(metrics.at("mean x").scalar<float>(), 0.5F);
  EXPECT_EQ(estimator.eval_dir("short"), "run/eval_short");
  EXPECT_EQ(scalars_in("run/eval_short").size(), 2U);
}

TEST_F(EstimatorTest, EvaluatesAnOlderCheckpoint) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  estimator.train(line().repeat(), {.steps = 4});
  const EvalMetrics metrics = estimator.evaluate(line(), {.checkpoint_path = "run/model.ckpt-2"});
  EXPECT_EQ(metrics.at("global_step").scalar<std::int64_t>(), 2);
}

TEST_F(EstimatorTest, AnEvaluationTakesBackWhatWasMeasuredOfItsCheckpointBefore) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  estimator.train(line().repeat(), {.steps = 4});
  estimator.evaluate(line());
  estimator.evaluate(line(), {.checkpoint_path = "run/model.ckpt-2"});
  estimator.evaluate(line());
  std::vector<std::string> lines = testing::event_lines(disk_, "run/eval");
  std::erase_if(lines,
                [](const std::string& line) { return line.find("mean x") == std::string::npos && line[2] != 'S'; });
  EXPECT_EQ(lines, (std::vector<std::string>{"4 START", "4 mean x=3.5", "2 mean x=3.5", "4 START", "4 mean x=3.5"}))
      << "an older checkpoint leaves what comes after it";
}

TEST_F(EstimatorTest, EvaluatesInitialValuesIfThereIsNoCheckpoint) {
  const Estimator estimator = make(line_model);
  const testing::LogLines log;
  EXPECT_EQ(estimator.evaluate(line()).at("global_step").scalar<std::int64_t>(), 0);
  EXPECT_EQ(log.count("Could not find trained model in model_dir: run, running initialization to evaluate."), 1U);
}

TEST_F(EstimatorTest, PredictsEachElement) {
  Estimator estimator = make(line_model);
  estimator.train(line().repeat(), {.steps = 1});
  std::vector<float> doubled;
  for (const Prediction& each : estimator.predict(line())) {
    EXPECT_EQ(each.size(), 2U);
    EXPECT_EQ(each.at("prediction").shape(), Shape{});
    doubled.push_back(each.at("twice").scalar<float>());
  }
  EXPECT_EQ(doubled, (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14}));
}

TEST_F(EstimatorTest, PredictsWholeBatchesOfSomeKeys) {
  const Estimator estimator = make(line_model);
  Predictions predictions = estimator.predict(line(), {.predict_keys = {"twice"}, .yield_single_examples = false});
  const Prediction* first = predictions.next();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->size(), 1U);
  EXPECT_EQ(first->at("twice").shape(), Shape{2});
  EXPECT_THROW(static_cast<void>(estimator.predict(line(), {.predict_keys = {"half"}})), InvalidArgumentError);
}

TEST_F(EstimatorTest, TakesAnInputThatMakesItsIterator) {
  Estimator estimator = make(line_model);
  estimator.train([](Graph& graph) { return make_iterator(graph, line()).get_next<2>(); }, {.steps = 2});
  EXPECT_EQ(step_of(estimator), 2);
}

/// Remembers the feature that it took last.
EstimatorSpec remembering_model(const ModelInput& input) {
  const Variable latest = make_variable("latest_feature", constant(input.graph, Tensor(std::int64_t{-1})));
  const Output taken = assign(latest, input.components.at(0));
  const Operation step = increment(*get_global_step(input.graph)).operation();
  return {.loss = cast(input.components.at(0), DType::Float),
          .train_op = group(input.graph, {taken.operation(), step})};
}

TEST_F(EstimatorTest, I01_ADatasetContinuesFromItsPosition) {
  Estimator estimator = make(remembering_model);
  for (std::int64_t call = 1; call <= 3; ++call) {
    estimator.train(Dataset::range(10), {.hooks = {CheckpointInputPipelineHook(estimator)}, .steps = 2});
    EXPECT_EQ(step_of(estimator), 2 * call);
    EXPECT_EQ(load_variable(disk_, "run", "latest_feature").scalar<std::int64_t>(), 2 * call - 1);
    static_cast<void>(estimator.evaluate(Dataset::range(3)));
  }
}

TEST_F(EstimatorTest, I02_AnIteratorOfTheInputFunctionContinuesFromItsPosition) {
  Estimator estimator = make(remembering_model);
  const auto numbers = [](Graph& graph) { return make_iterator(graph, Dataset::range(10)).get_next(); };
  for (std::int64_t call = 1; call <= 2; ++call) {
    estimator.train(numbers, {.hooks = {CheckpointInputPipelineHook(estimator)}, .steps = 2});
    EXPECT_EQ(load_variable(disk_, "run", "latest_feature").scalar<std::int64_t>(), 2 * call - 1);
  }
}

TEST_F(EstimatorTest, WorksOnAnotherEngineWithItsOwnArguments) {
  const GraphSessionOptions options{.kernels = {kernels::array(), kernels::data(), kernels::math(),
                                                kernels::reduction(), kernels::state(), kernels::training(),
                                                kernels::random(), kernels::movement(), kernels::summary()}};
  Estimator estimator = make_estimator<GraphSession>(
      line_model, {.model_dir = "other", .file_system = &disk_, .clock = &clock_}, options);
  Estimator usual = make(line_model);
  estimator.train(line().repeat(), {.steps = 4});
  usual.train(line().repeat(), {.steps = 4});
  EXPECT_EQ(weights_of(estimator), weights_of(usual));
  EXPECT_EQ(estimator.evaluate(line()).at("mean x").scalar<float>(), 3.5F);
  int predicted = 0;
  for (const Prediction& each : estimator.predict(line())) predicted += each.contains("twice") ? 1 : 0;
  EXPECT_EQ(predicted, 8);
  Estimator without = make_estimator<GraphSession>(
      line_model, {.model_dir = "none", .file_system = &disk_, .clock = &clock_}, GraphSessionOptions{});
  EXPECT_THROW(without.train(line(), {.steps = 1}), UnimplementedError);
}

TEST_F(EstimatorTest, KeepsAsManyCheckpointsAsItIsTold) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 1, .keep_checkpoint_max = 2});
  estimator.train(line().repeat(), {.steps = 5});
  EXPECT_TRUE(disk_.exists("run/model.ckpt-4.index"));
  EXPECT_FALSE(disk_.exists("run/model.ckpt-3.index"));
}

TEST_F(EstimatorTest, WithoutADirectoryTrainsInATemporaryOneAndLogsIt) {
  const testing::LogLines log;
  Estimator estimator = make_estimator<EigenSession>(line_model, {.file_system = &disk_, .clock = &clock_});
  EXPECT_EQ(log.count("Using temporary folder as model directory: " + estimator.model_dir()), 1U);
  const Estimator other = make_estimator<EigenSession>(line_model, {.file_system = &disk_, .clock = &clock_});
  EXPECT_NE(estimator.model_dir(), other.model_dir());
  estimator.train(line().repeat(), {.steps = 2});
  EXPECT_EQ(step_of(estimator), 2);
}

TEST_F(EstimatorTest, RefusesWhatContradictsItself) {
  EXPECT_THROW(make(line_model, {.save_checkpoints_secs = std::chrono::seconds(1), .save_checkpoints_steps = 1}),
               InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(make_estimator<EigenSession>(line_model, {.num_worker_replicas = 2})),
               InvalidArgumentError);
  Estimator estimator = make(line_model);
  EXPECT_THROW(estimator.train(line(), {.steps = 1, .max_steps = 1}), InvalidArgumentError);
  EXPECT_THROW(estimator.train(line(), {.steps = 0}), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(estimator.evaluate(line(), {.steps = 0})), InvalidArgumentError);
  Estimator worker = make(line_model, {.task_type = "worker", .task_id = 1, .num_worker_replicas = 2});
  EXPECT_THROW(worker.train(line()), UnimplementedError);
}

}  // namespace
}  // namespace trainhook
