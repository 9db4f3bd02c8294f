// SPDX-License-Identifier: Apache-2.0
/// @file
/// evaluate_once: how often the eval ops run, what the final ops see, and which values are measured.
#include <trainhook/estimator/evaluate_once.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/stop_hooks.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/model/layers.hpp>
#include <trainhook/model/metrics.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/optimizers.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

/// 16 points on a line, which are of class 1 beyond its middle.
Dataset points() {
  std::vector<float> x;
  std::vector<std::int64_t> label;
  for (int i = 0; i < 16; ++i) {
    x.push_back(static_cast<float>(i) - 7.5F);
    label.push_back(i < 8 ? 0 : 1);
  }
  return Dataset::from_tensor_slices({Tensor::copy_of<float>(x, {16, 1}), Tensor::copy_of<std::int64_t>(label, {16})});
}

struct Model {
  explicit Model(Graph& graph, const Dataset& data) {
    const auto [x, label] = make_iterator(graph, data).get_next<2>();
    const Output logits = dense(x, 2, "logits");
    loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(label, logits));
    accuracy = metrics::accuracy(label, argmax(logits, 1));
  }
  Output loss;
  StreamingMetric accuracy;
};

class EvaluateOnce : public ::testing::Test {
 protected:
  /// Trains into `run`, and returns the last checkpoint.
  std::string train() {
    Graph graph;
    const Model model(graph, points().repeat().batch(16));
    const Operation step = AdamOptimizer({.learning_rate = 0.1}).minimize(model.loss, get_or_create_global_step(graph));
    auto session = monitored_training_session<EigenSession>(graph, {.checkpoint_dir = "run",
                                                                    .save_checkpoint_steps = 1'000,
                                                                    .hooks = {StopAtStepHook({.num_steps = 300})},
                                                                    .file_system = &disk_,
                                                                    .clock = &clock_});
    run_until_stop(session, step);
    return "run/model.ckpt-300";
  }

  testing::MemoryFileSystem disk_;
  testing::ManualClock clock_;
};

TEST_F(EvaluateOnce, V01_MeasuresTheCheckpoint) {
  const std::string checkpoint = train();
  Graph graph;
  const Model model(graph, points().batch(16));
  get_or_create_global_step(graph);
  const std::vector<Tensor> values =
      evaluate_once<EigenSession>(graph, {.checkpoint_path = checkpoint,
                                          .eval_ops = {model.accuracy.update.operation()},
                                          .final_ops = {model.accuracy.value, "global_step"},
                                          .hooks = {StopAfterNEvalsHook(1)},
                                          .file_system = &disk_,
                                          .clock = &clock_});
  ASSERT_EQ(values.size(), 2U);
  EXPECT_GT(values[0].scalar<float>(), 0.99F);
  EXPECT_EQ(values[1].scalar<std::int64_t>(), 300);
}

TEST_F(EvaluateOnce, V02_EndsWithTheInput) {
  const std::string checkpoint = train();
  Graph graph;
  const Model model(graph, points().batch(6));
  const std::vector<Tensor> values =
      evaluate_once<EigenSession>(graph, {.checkpoint_path = checkpoint,
                                          .eval_ops = {model.accuracy.update.operation()},
                                          .final_ops = {model.accuracy.value, "eval_step"},
                                          .hooks = {StopAfterNEvalsHook(std::nullopt)},
                                          .file_system = &disk_,
                                          .clock = &clock_});
  EXPECT_GT(values[0].scalar<float>(), 0.99F);
  EXPECT_EQ(values[1].scalar<std::int64_t>(), 3);  // TensorFlow's has 4: it counts the run that met the end
}

TEST_F(EvaluateOnce, IsTheParentsAloneIfAHookForks) {
  bool is_child = false;
  int status = -1;
  std::string told;
  Graph graph;
  const Model model(graph, points().batch(16));
  const auto evaluate = [&] {
    const auto fork_in_the_first_run = [&](SessionRunContext&) {
      const pid_t child = ::fork();
      is_child = child == 0;
      if (!is_child) ::waitpid(child, &status, 0);
      return SessionRunArgs{};
    };
    const auto tell = [&](const std::exception_ptr&) { told += "abort"; };
    (void)evaluate_once<EigenSession>(
        graph, {.eval_ops = {model.accuracy.update.operation()},
                .hooks = {StopAfterNEvalsHook(1), LambdaHook({.before_run = fork_in_the_first_run, .abort = tell})},
                .file_system = &disk_,
                .clock = &clock_});
  };
  try {
    evaluate();
  } catch (...) {
    if (!is_child) throw;
    ::_exit(told.empty() ? 0 : 1);
  }
  if (is_child) ::_exit(2);
  EXPECT_EQ(status, 0);
}

TEST_F(EvaluateOnce, V03_RunsFinalOpsAfterTheEvalOps) {
  Graph graph;
  const Variable counter =
      make_variable("counter", constant(graph, Tensor(0.0F)), {.collections = {"local_variables"}});
  const HookList hooks = {StopAfterNEvalsHook(5)};
  const std::vector<Tensor> values =
      evaluate_once<EigenSession>(graph, {.eval_ops = {assign_add(counter, 1).operation()},
                                          .final_ops = {identity(counter.ref()) + 9},
                                          .hooks = hooks,
                                          .file_system = &disk_,
                                          .clock = &clock_});
  EXPECT_EQ(values[0].scalar<float>(), 14.0F);
  EXPECT_EQ(hooks.size(), 1U);
}

TEST_F(EvaluateOnce, V05_RunsFinalOpsAlone) {
  Graph graph;
  const std::vector<Tensor> values = evaluate_once<EigenSession>(
      graph, {.final_ops = {constant(graph, Tensor(4.0F)) + 5.0F}, .file_system = &disk_, .clock = &clock_});
  EXPECT_EQ(values[0].scalar<float>(), 9.0F);
}

TEST_F(EvaluateOnce, FeedsTheEvalOps) {
  Graph graph;
  const Output fed = placeholder(graph, DType::Float, Shape{});
  const StreamingMetric mean = metrics::mean(fed);
  const std::vector<Tensor> values = evaluate_once<EigenSession>(graph, {.eval_ops = {mean.update.operation()},
                                                                         .feed_dict = {{fed, 2.5F}},
                                                                         .final_ops = {mean.value},
                                                                         .hooks = {StopAfterNEvalsHook(3)},
                                                                         .file_system = &disk_,
                                                                         .clock = &clock_});
  EXPECT_EQ(values[0].scalar<float>(), 2.5F);
}

TEST_F(EvaluateOnce, HasNoResultIfASignalEndsIt) {
  Graph graph;
  const StreamingMetric mean = metrics::mean(constant(graph, Tensor(2.5F)));
  const HookList hooks{LambdaHook(
      {.after_run = [](SessionRunContext& context, const SessionRunValues&) { context.interrupt("SIGTERM"); }})};
  EXPECT_THROW(static_cast<void>(evaluate_once<EigenSession>(graph, {.eval_ops = {mean.update.operation()},
                                                                     .final_ops = {mean.value},
                                                                     .hooks = hooks,
                                                                     .file_system = &disk_,
                                                                     .clock = &clock_})),
               CancelledError);
}

TEST_F(EvaluateOnce, RefusesACheckpointThatIsNotThere) {
  Graph graph;
  const Model model(graph, points().batch(16));
  EXPECT_THROW(static_cast<void>(evaluate_once<EigenSession>(graph, {.checkpoint_path = "run/model.ckpt-7",
                                                                     .eval_ops = {model.accuracy.update.operation()},
                                                                     .file_system = &disk_,
                                                                     .clock = &clock_})),
               InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
