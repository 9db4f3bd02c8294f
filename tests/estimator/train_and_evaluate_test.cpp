// SPDX-License-Identifier: Apache-2.0
/// @file
/// train_and_evaluate: which checkpoints it evaluates, and what it returns.
#include <trainhook/estimator/train_and_evaluate.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "line_model.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::EstimatorTest;
using support::line;
using support::line_model;
using Steps = std::set<std::int64_t>;

class TrainAndEvaluate : public EstimatorTest {
 protected:
  Steps evaluated(const std::string& directory = "run/eval") {
    Steps steps;
    for (const auto& [key, value] : scalars_in(directory)) steps.insert(key.first);
    return steps;
  }
};

TEST_F(TrainAndEvaluate, EvaluatesEachCheckpointWithoutThrottle) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const auto metrics = train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 5},
                                          {.input_fn = line(), .throttle_secs = 0s});
  ASSERT_TRUE(metrics.has_value());
  EXPECT_EQ(metrics->at("global_step").scalar<std::int64_t>(), 5);
  EXPECT_EQ(evaluated(), (Steps{2, 4, 5}));
}

TEST_F(TrainAndEvaluate, SkipsWhatComesTooSoonButTheLast) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const testing::LogLines log;
  train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 7},
                     {.input_fn = line(), .steps = 1, .name = "test"});
  EXPECT_EQ(evaluated("run/eval_test"), (Steps{2, 7}));
  EXPECT_EQ(log.count("Skip the current checkpoint eval due to throttle secs (600 secs)."), 3U);  // 4, 6, 7
}

TEST_F(TrainAndEvaluate, ContinuesFromItsPosition) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const TrainSpec half{.input_fn = line().repeat(), .max_steps = 3};
  const EvalSpec eval{.input_fn = line(), .throttle_secs = 0s};
  train_and_evaluate(estimator, half, eval);
  train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 6}, eval);
  EXPECT_EQ(evaluated(), (Steps{2, 3, 5, 6}));
  EXPECT_FALSE(train_and_evaluate(estimator, half, eval).has_value()) << "training was over";
}

/// What is published as `eval/loss` before its first run.
class SeesTheLoss final : public SessionRunHook {
 public:
  SessionRunArgs before_run(SessionRunContext&) override {
    if (!std::exchange(asked_, true)) {
      if (const PublishedMetric* loss = services().metric("eval/loss")) seen = *loss;
    }
    return {};
  }
  std::optional<PublishedMetric> seen;

 private:
  bool asked_ = false;
};

TEST_F(TrainAndEvaluate, HooksSeeTheEvaluationOfTheRestoredCheckpoint) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const EvalSpec eval{.input_fn = line(), .throttle_secs = 0s};
  const auto metrics = train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 3}, eval);
  const auto hook = std::make_shared<SeesTheLoss>();
  train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 4, .hooks = hook}, eval);
  ASSERT_TRUE(hook->seen);
  EXPECT_EQ(hook->seen->step, 3);  // it came after the checkpoint, which has that of step 2
  EXPECT_EQ(hook->seen->value, metrics->at("loss").scalar<float>());
}

TEST_F(TrainAndEvaluate, WithoutThrottleAnEvaluationThatAKillPreventedIsMadeFirst) {
  for (const auto& [throttle, steps] : {std::pair(0s, Steps{3, 5, 6}), std::pair(600s, Steps{5, 6})}) {
    const std::string directory = throttle == 0s ? "every one" : "some";
    Estimator estimator = make(line_model, {.model_dir = directory, .save_checkpoints_steps = 2});
    estimator.train(line().repeat(), {.max_steps = 3});
    train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 6},
                       {.input_fn = line(), .throttle_secs = throttle});
    EXPECT_EQ(evaluated(directory + "/eval"), steps);
  }
}

/// Ends a run after that step as a signal does.
LambdaHook interrupts_after(std::int64_t step) {
  return LambdaHook({.after_run = [step](SessionRunContext& context, const SessionRunValues&) {
    if (context.global_step() == step) context.interrupt("a signal");
  }});
}

TEST_F(TrainAndEvaluate, ARunThatIsInterruptedAnywhereMakesTheSameEvaluationsAndDecisions) {
  const testing::LogLines quiet;
  const auto trained = [&](std::int64_t interrupted_after) {
    const std::string directory = fmt::format("interrupted after {}", interrupted_after);
    Estimator estimator = make(line_model, {.model_dir = directory, .save_checkpoints_steps = 3});
    std::optional<EvalMetrics> metrics;
    for (const std::int64_t step : {interrupted_after, std::int64_t{-1}}) {
      if (step == 0) continue;
      metrics = train_and_evaluate(
          estimator,
          {.input_fn = line().repeat(),
           .max_steps = 20,
           .hooks = {EarlyStoppingHook({.metric = "eval/mean x", .patience = 3}), interrupts_after(step)}},
          {.input_fn = line(), .throttle_secs = 0s});
    }
    EXPECT_EQ(step_of(estimator), metrics->at("global_step").scalar<std::int64_t>());
    return evaluated(directory + "/eval");
  };
  const Steps whole = trained(0);
  EXPECT_EQ(whole, (Steps{3, 6, 9, 12, 13})) << "it stops in the step after the evaluation";
  for (std::int64_t step = 1; step < 13; ++step) EXPECT_EQ(trained(step), whole) << "interrupted after " << step;
}

TEST_F(TrainAndEvaluate, ACheckpointThatASignalAsksForIsEvaluatedButNotCounted) {
  const testing::LogLines quiet;
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 3});
  train_and_evaluate(estimator,
                     {.input_fn = line().repeat(),
                      .max_steps = 20,
                      .hooks = {EarlyStoppingHook({.metric = "eval/mean x", .patience = 3}),
                                SignalHook({.stop_signals = {}, .deadline = {}}),
                                LambdaHook({.after_run =
                                                [](SessionRunContext& context, const SessionRunValues&) {
                                                  if (context.global_step() == 4) std::raise(SIGUSR1);
                                                }})}},
                     {.input_fn = line(), .throttle_secs = 0s});
  EXPECT_EQ(evaluated(), (Steps{3, 5, 8, 11, 14, 15})) << "those of 3, 8, 11 and 14 count";
}

TEST_F(TrainAndEvaluate, DoesNotEvaluateAtTheEndOfAnInterruptedRun) {
  const testing::LogLines quiet;
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 4});
  for (const auto throttle : {0s, 600s}) {
    const EvalSpec eval{.input_fn = line(), .throttle_secs = throttle};
    const TrainSpec train{
        .input_fn = line().repeat(), .max_steps = 9, .hooks = interrupts_after(throttle == 0s ? 2 : 3)};
    EXPECT_FALSE(train_and_evaluate(estimator, train, eval).has_value());
  }
  EXPECT_EQ(evaluated(), Steps{});
}

TEST_F(TrainAndEvaluate, AnInterruptedOneReturnsAndTheNextOneThrows) {
  const testing::LogLines quiet;
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const EvalSpec eval{.input_fn = line(), .throttle_secs = 0s};
  const auto train = [&](std::int64_t signal_after) -> TrainSpec {
    return {.input_fn = line().repeat(),
            .max_steps = 5,
            .hooks = {SignalHook({.save_signals = {}, .deadline = {}}),
                      LambdaHook({.after_run = [signal_after](SessionRunContext& context, const SessionRunValues&) {
                        if (context.global_step() == signal_after) std::raise(SIGTERM);
                      }})}};
  };
  train_and_evaluate(estimator, train(3), eval);
  EXPECT_EQ(evaluated(), Steps{2});
  EXPECT_THROW(train_and_evaluate(estimator, train(-1), eval), CancelledError);
  forget_interruption();
  train_and_evaluate(estimator, train(-1), eval);
  EXPECT_EQ(evaluated(), (Steps{2, 4, 5}));
}

TEST_F(TrainAndEvaluate, ASignalDuringAnEvaluationLeavesItToTheNextRun) {
  const testing::LogLines quiet;
  const SignalHook::Options both{.save_signals = {}, .deadline = {}};
  for (const bool evaluation_has_signals : {true, false}) {
    const std::string directory = evaluation_has_signals ? "both" : "training";
    Estimator estimator = make(line_model, {.model_dir = directory, .save_checkpoints_steps = 2});
    int batches = 0;
    const TrainSpec train{.input_fn = line().repeat(), .max_steps = 5, .hooks = SignalHook(both)};
    EvalSpec eval{.input_fn = line(), .throttle_secs = 0s};
    eval.hooks = LambdaHook({.after_run = [&](SessionRunContext&, const SessionRunValues&) {
      if (++batches == 2) std::raise(SIGTERM);
    }});
    if (evaluation_has_signals) eval.hooks.emplace_back(SignalHook(both));
    EXPECT_NO_THROW(train_and_evaluate(estimator, train, eval));
    EXPECT_EQ(evaluated(directory + "/eval"), evaluation_has_signals ? Steps{} : Steps{2});
    EXPECT_THROW(train_and_evaluate(estimator, train, eval), CancelledError);
    forget_interruption();
    train_and_evaluate(estimator, train, eval);
    EXPECT_EQ(evaluated(directory + "/eval"), (Steps{2, 4, 5}));
  }
}

TEST_F(TrainAndEvaluate, IsRefusedAfterAnInterruptionIfOnlyItsEvaluationsHaveASignalHook) {
  const testing::LogLines quiet;
  const SignalHook::Options options{.save_signals = {}, .deadline = {}};
  Estimator first = make(line_model, {.model_dir = "first"});
  first.train(line().repeat(), {.hooks = {SignalHook(options), LambdaHook({.begin = [](Graph&) { std::raise(SIGTERM); },
                                                                           .phase = HookPhase::Report})},
                                .max_steps = 5});
  Estimator second = make(line_model, {.model_dir = "second"});
  EXPECT_THROW(train_and_evaluate(second, {.input_fn = line().repeat(), .max_steps = 5},
                                  {.input_fn = line(), .hooks = SignalHook(options)}),
               CancelledError);
  for (const std::string& path : disk_.files()) EXPECT_FALSE(path.starts_with("second")) << path;
  forget_interruption();
}

TEST_F(TrainAndEvaluate, ASaverHookOfTheUserEvaluatesAtTheSameStepsAfterAnInterruption) {
  const testing::LogLines quiet;
  for (const std::int64_t interrupted_after : {0, 7, 8, 9}) {
    const std::string directory = fmt::format("interrupted after {}", interrupted_after);
    Estimator estimator = make(line_model, {.model_dir = directory});
    for (const std::int64_t step : {interrupted_after, std::int64_t{-1}}) {
      train_and_evaluate(
          estimator,
          {.input_fn = line().repeat(),
           .max_steps = 14,
           .hooks = {CheckpointSaverHook({.checkpoint_dir = directory, .save_steps = 3}), interrupts_after(step)}},
          {.input_fn = line(), .throttle_secs = 0s});
    }
    EXPECT_EQ(evaluated(directory + "/eval"), (Steps{3, 6, 9, 12, 14})) << "interrupted after " << interrupted_after;
  }
}

TEST_F(TrainAndEvaluate, ARestartEvaluatesAndExportsTheLastCheckpointIfThatWasPrevented) {
  const testing::LogLines quiet;
  struct Killed {};
  for (const auto throttle : {0s, 600s}) {
    const std::string directory = throttle == 0s ? "every one" : "some";
    Estimator estimator = make(line_model, {.model_dir = directory, .save_checkpoints_steps = 2});
    const TrainSpec train{.input_fn = line().repeat(), .max_steps = 3};
    EvalSpec eval{.input_fn = line(), .exporters = {FinalExporter{.name = "final"}}, .throttle_secs = throttle};
    eval.hooks = LambdaHook({.end = [](SessionRef session) {
      if (read_global_step(session, *get_global_step(session.graph())) == 3) throw Killed();
    }});
    EXPECT_THROW(train_and_evaluate(estimator, train, eval), Killed);
    EXPECT_EQ(evaluated(directory + "/eval"), Steps{2});
    eval.hooks.clear();
    const auto metrics = train_and_evaluate(estimator, train, eval);
    ASSERT_TRUE(metrics.has_value());
    EXPECT_EQ(metrics->at("global_step").scalar<std::int64_t>(), 3);
    EXPECT_EQ(evaluated(directory + "/eval"), (Steps{2, 3}));
    EXPECT_TRUE(disk_.exists(directory + "/export/final/model.ckpt-3.index"));
    EXPECT_FALSE(train_and_evaluate(estimator, train, eval).has_value()) << "nothing is left to do";
  }
}

TEST_F(TrainAndEvaluate, ARestartExportsWhatWasEvaluatedAndNotExported) {
  const testing::LogLines log;
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const TrainSpec train{.input_fn = line().repeat(), .max_steps = 3};
  train_and_evaluate(estimator, train, {.input_fn = line(), .throttle_secs = 0s});
  const EvalSpec exporting{
      .input_fn = line(), .exporters = {BestExporter{}, LatestExporter{.name = "latest"}}, .throttle_secs = 0s};
  EXPECT_FALSE(train_and_evaluate(estimator, train, exporting).has_value());
  EXPECT_TRUE(disk_.exists("run/export/best_exporter/model.ckpt-3.index"));
  EXPECT_TRUE(disk_.exists("run/export/latest/model.ckpt-3.index"));
  EXPECT_EQ(log.count("made no steps"), 0U);
}

TEST_F(TrainAndEvaluate, EvaluatesTheCheckpointsOfASaverHookOfTheUser) {
  const testing::LogLines quiet;
  Estimator estimator = make(line_model);
  const CheckpointSaverOptions options{.checkpoint_dir = "run", .save_steps = 2, .overlap = SaveOverlap::Wait};
  const EvalSpec eval{.input_fn = line(), .exporters = {LatestExporter{.name = "latest"}}, .throttle_secs = 0s};
  train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 5, .hooks = CheckpointSaverHook(options)},
                     eval);
  EXPECT_EQ(evaluated(), (Steps{2, 4, 5}));
  EXPECT_TRUE(disk_.exists("run/export/latest/model.ckpt-4.index"));
  train_and_evaluate(estimator,
                     {.input_fn = line().repeat(), .max_steps = 9, .hooks = AsyncCheckpointSaverHook(options)}, eval);
  EXPECT_EQ(evaluated(), (Steps{2, 4, 5, 7, 9}));
}

class Exporters : public TrainAndEvaluate {
 protected:
  /// Trains; the metric `judged` of step N is `losses_[N]`.
  std::optional<EvalMetrics> train(std::int64_t max_steps, std::vector<Exporter> exporters) {
    const ModelFn model = [this](const ModelInput& input) {
      EstimatorSpec spec = line_model(input);
      if (input.mode != ModeKeys::Eval) return spec;
      const Output losses = constant(input.graph, Tensor::copy_of<float>(losses_, {std::ssize(losses_)}));
      spec.eval_metric_ops = {{"judged", metrics::mean(gather(losses, get_global_step(input.graph)->read))}};
      return spec;
    };
    Estimator estimator = make(model, {.save_checkpoints_steps = 2});
    return train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = max_steps},
                              {.input_fn = line(), .exporters = std::move(exporters), .throttle_secs = 0s});
  }
  std::vector<std::string> exported(const std::string& name) {
    return get_checkpoint_state(disk_, "run/export/" + name).value().all_model_checkpoint_paths;
  }

  const testing::LogLines log_;
  std::vector<float> losses_ = {0, 0, 5, 0, 3, 0, 4, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0};
};

TEST_F(Exporters, KeepTheBestOfAllEvaluations) {
  train(10, {BestExporter{.metric = "judged", .exports_to_keep = 2},
             BestExporter{.name = "highest", .metric = "judged", .better = Better::Higher, .exports_to_keep = 1}});
  EXPECT_EQ(exported("best_exporter"), (std::vector<std::string>{"run/export/best_exporter/model.ckpt-10",
                                                                 "run/export/best_exporter/model.ckpt-8"}));
  EXPECT_EQ(exported("highest"), (std::vector<std::string>{"run/export/highest/model.ckpt-2"}));
  EXPECT_EQ(load_variable(disk_, "run/export/best_exporter", "weight"),
            load_variable(disk_, "run/model.ckpt-8", "weight"));
}

TEST_F(Exporters, CallOnBestWithEachNewBest) {
  std::vector<std::string> told;
  const auto on_best = [&](const BestCheckpoint& best) { told.push_back(best.prefix); };
  train(6, {BestExporter{.name = "best", .metric = "judged", .on_best = on_best}});
  train(8, {LatestExporter{.name = "latest", .on_best = on_best}, FinalExporter{.name = "final", .on_best = on_best}});
  EXPECT_EQ(told, (std::vector<std::string>{"run/export/best/model.ckpt-2", "run/export/best/model.ckpt-4",
                                            "run/export/latest/model.ckpt-6", "run/export/latest/model.ckpt-8",
                                            "run/export/final/model.ckpt-8"}));
}

TEST_F(Exporters, KeepTheBestOverRestarts) {
  for (const std::int64_t max_steps : {2, 4, 6, 10})
    train(max_steps, {BestExporter{.metric = "judged", .exports_to_keep = 2}});
  EXPECT_EQ(exported("best_exporter"), (std::vector<std::string>{"run/export/best_exporter/model.ckpt-10",
                                                                 "run/export/best_exporter/model.ckpt-8"}));
}

TEST_F(Exporters, WantNamesAndSomethingToKeep) {
  EXPECT_THROW(train(2, {BestExporter{.metric = "judged"}, BestExporter{.metric = "loss"}}), InvalidArgumentError);
  EXPECT_THROW(train(2, {LatestExporter{.name = "one"}, FinalExporter{.name = "one"}}), InvalidArgumentError);
  EXPECT_THROW(train(2, {BestExporter{.name = ""}}), InvalidArgumentError);
  EXPECT_THROW(train(2, {LatestExporter{}}), InvalidArgumentError);
  EXPECT_THROW(train(2, {FinalExporter{}}), InvalidArgumentError);
  EXPECT_THROW(train(2, {BestExporter{.exports_to_keep = 0}}), InvalidArgumentError);
  EXPECT_THROW(train(2, {LatestExporter{.name = "latest", .exports_to_keep = 0}}), InvalidArgumentError);
}

std::vector<std::string> checkpoints(const std::string& name, std::initializer_list<int> steps) {
  std::vector<std::string> paths;
  for (const int step : steps) paths.push_back(fmt::format("run/export/{}/model.ckpt-{}", name, step));
  return paths;
}

TEST_F(Exporters, KeepTheLatestOfAllEvaluations) {
  train(14, {LatestExporter{.name = "five"}, LatestExporter{.name = "two", .exports_to_keep = 2},
             LatestExporter{.name = "all", .exports_to_keep = std::nullopt}});
  EXPECT_EQ(exported("five"), checkpoints("five", {6, 8, 10, 12, 14}));
  EXPECT_EQ(exported("two"), checkpoints("two", {12, 14}));
  EXPECT_EQ(exported("all"), checkpoints("all", {2, 4, 6, 8, 10, 12, 14}));
  EXPECT_FALSE(disk_.exists("run/export/two/model.ckpt-10.index")) << "older exports are removed";
  EXPECT_EQ(load_variable(disk_, "run/export/two", "weight"), load_variable(disk_, "run/model.ckpt-14", "weight"));
  train(16, {LatestExporter{.name = "two", .exports_to_keep = 2}});
  EXPECT_EQ(exported("two"), checkpoints("two", {14, 16}));
}

TEST_F(Exporters, ExportTheFinalModelOnlyWhenTrainingIsOver) {
  train(7, {FinalExporter{.name = "final"}});
  EXPECT_EQ(exported("final"), checkpoints("final", {7}));
  EXPECT_EQ(load_variable(disk_, "run/export/final", "weight"), load_variable(disk_, "run/model.ckpt-7", "weight"));
  train(10, {FinalExporter{.name = "final"}});
  EXPECT_EQ(exported("final"), checkpoints("final", {7, 10}));
}

TEST_F(Exporters, ExportNoFinalModelIfTrainingStopsBeforeItsLastStepOrHasNone) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const EvalSpec eval{.input_fn = line(), .exporters = {FinalExporter{.name = "final"}}, .throttle_secs = 0s};
  train_and_evaluate(estimator, {.input_fn = line().take(3), .max_steps = 9}, eval);
  train_and_evaluate(estimator, {.input_fn = line().take(2)}, eval);
  EXPECT_EQ(load_variable(disk_, "run", "global_step").scalar<std::int64_t>(), 5);
  EXPECT_FALSE(get_checkpoint_state(disk_, "run/export/final").has_value());
}

TEST_F(TrainAndEvaluate, HooksOfTheTrainingSeeTheMetrics) {
  const testing::LogLines log;
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const TrainSpec train{.input_fn = line().repeat(),
                        .max_steps = 100,
                        .hooks = {EarlyStoppingHook({.metric = "eval/mean x", .patience = 2})}};
  const auto metrics = train_and_evaluate(estimator, train, {.input_fn = line(), .throttle_secs = 0s});
  EXPECT_LT(metrics.value().at("global_step").scalar<std::int64_t>(), 100) << "the mean of x never changes";
}

}  // namespace
}  // namespace trainhook
