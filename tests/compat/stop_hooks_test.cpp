// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopAfterNEvalsHook: what it logs, and what it refuses; StopAtCheckpointStepHook: what it waits for, and when it
/// stops; MultiStepStopAtStepHook: how many steps each run makes: the numbers are those of TensorFlow's.
#include <trainhook/compat/stop_hooks.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using Lines = std::vector<std::string>;

/// The lines of its progress.
Lines progress_of(std::optional<std::int64_t> num_evals, bool log_progress, std::int64_t batches = 100) {
  const support::LogLines log;
  Graph graph;
  const Output number = make_iterator(graph, Dataset::range(batches)).get_next()[0];
  const Variable step = make_variable("eval_step", constant(graph, Tensor(std::int64_t{0})), {.trainable = false});
  const Output counted = with_dependencies({number.operation()}, assign_add(step, 1));
  graph.add_to_collection(graph_keys::kEvalStep, counted);
  MonitoredSession<EigenSession> session(graph, {.hooks = {StopAfterNEvalsHook(num_evals, log_progress)}});
  run_until_stop(session, counted.operation());
  Lines lines;
  for (const std::string& line : log.lines)
    if (line.find("Evaluation [") != std::string::npos) lines.push_back(line.substr(line.find("Evaluation [")));
  return lines;
}

TEST(StopAfterNEvalsHook, LogsEachBatchOfFew) {
  EXPECT_EQ(progress_of(3, true), (Lines{"Evaluation [1/3]", "Evaluation [2/3]", "Evaluation [3/3]"}));
  EXPECT_EQ(progress_of(std::nullopt, true, 2), (Lines{"Evaluation [1]", "Evaluation [2]"}));
  EXPECT_EQ(progress_of(3, false), Lines{});
}

TEST(StopAfterNEvalsHook, LogsTenthsOfManyAndTheLast) {
  const Lines lines = progress_of(25, true);
  ASSERT_EQ(lines.size(), 13U);
  EXPECT_EQ(lines.front(), "Evaluation [2/25]");
  EXPECT_EQ(lines[11], "Evaluation [24/25]");
  EXPECT_EQ(lines.back(), "Evaluation [25/25]");
}

TEST(StopAfterNEvalsHook, RefusesWhatItCannotCount) {
  EXPECT_THROW(StopAfterNEvalsHook(0), InvalidArgumentError);
  Graph graph;
  StopAfterNEvalsHook hook(1);
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

using namespace std::chrono_literals;
using support::Process;

/// A worker at step 10, beside a chief that saves.
struct Worker : Process {
  explicit Worker(std::int64_t last_step) {
    clock.auto_advance(true);
    add(StopAtCheckpointStepHook({.model_dir = "run", .last_step = last_step}));
    set_step(10);
    start();
  }
  void chief_saves(std::int64_t step) {
    const std::string prefix = "run/model.ckpt-" + std::to_string(step);
    BundleWriter writer(prefix, {.file_system = &disk});
    writer.add("global_step", Tensor(step));
    writer.finish();
    update_checkpoint_state(disk, "run", {.model_checkpoint_path = prefix});
  }
  /// How long one run took by the clock.
  Duration run_time() {
    const Duration began = clock.monotonic_now();
    run(nothing);
    return clock.monotonic_now() - began;
  }
};

TEST(StopAtCheckpointStepHook, EH09_WaitsWhileThereIsNoCheckpoint) {
  Worker worker(10);
  EXPECT_EQ(worker.run_time(), 30s);
  EXPECT_FALSE(worker.should_stop());
}

TEST(StopAtCheckpointStepHook, WaitsForTheLastStep) {
  Worker worker(10);
  worker.chief_saves(9);
  EXPECT_EQ(worker.run_time(), 30s);
  EXPECT_FALSE(worker.should_stop());
}

TEST(StopAtCheckpointStepHook, EH11_StopsIfTheLastStepIsSaved) {
  Worker worker(10);
  worker.chief_saves(10);
  EXPECT_EQ(worker.run_time(), 0s);
  EXPECT_TRUE(worker.should_stop());
}

TEST(StopAtCheckpointStepHook, StopsAfterARecoveryToAnEarlierStepToo) {
  Worker worker(10);
  worker.chief_saves(10);
  worker.run(worker.nothing);
  worker.set_step(5);
  worker.create();
  EXPECT_TRUE(worker.should_stop());
  EXPECT_EQ(worker.services.stop_reason(), "step 10 is saved in 'run'");
}

TEST(StopAtCheckpointStepHook, S41_ARequestToStopEndsTheWait) {
  Worker worker(10);
  worker.coordinator->request_stop();
  EXPECT_EQ(worker.run_time(), 0s);
}

TEST(StopAtCheckpointStepHook, DoesNotLookBeforeTheLastStep) {
  Worker worker(11);
  worker.chief_saves(11);
  EXPECT_EQ(worker.run_time(), 0s);
  EXPECT_FALSE(worker.should_stop());
}

TEST(StopAtCheckpointStepHook, RefusesToLookForNothing) {
  EXPECT_THROW(StopAtCheckpointStepHook({.last_step = 1}), InvalidArgumentError);
  EXPECT_THROW(StopAtCheckpointStepHook({.model_dir = "run"}), InvalidArgumentError);
}

using Steps = std::vector<std::int64_t>;

/// The step after each run of a graph that makes as many steps in a run as the hook says.
Steps trained(const MultiStepStopAtStepHook::Options& options, FileSystem& disk) {
  const testing::LogLines log;
  Graph graph;
  const Variable step = create_global_step(graph);
  const Output train = increment(step, cast(get_or_create_steps_per_run_variable(graph), DType::Int64));
  auto session = monitored_training_session<GraphSession>(
      graph, {.checkpoint_dir = "run", .hooks = {MultiStepStopAtStepHook(options)}, .file_system = &disk},
      GraphSessionOptions{.kernels = {kernels::state(), kernels::math(), kernels::array()}});
  Steps steps;
  while (!session.should_stop()) steps.push_back(session.run(train).scalar<std::int64_t>());
  session.close();
  return steps;
}

TEST(MultiStepStopAtStepHook, ShortensTheLastRun) {
  testing::MemoryFileSystem disk;
  EXPECT_EQ(trained({.last_step = 10, .steps_per_run = 4}, disk), (Steps{4, 8, 10}));
  EXPECT_EQ(trained({.num_steps = 10, .steps_per_run = 4}, disk), (Steps{14, 18, 20}));
  EXPECT_EQ(trained({.num_steps = 8, .steps_per_run = 4}, disk), (Steps{24, 28}));
  EXPECT_EQ(trained({.num_steps = 3}, disk), (Steps{29, 30, 31}));
  EXPECT_EQ(trained({.last_step = 33, .steps_per_run = 100}, disk), (Steps{33}));
  EXPECT_EQ(trained({.last_step = 33, .steps_per_run = 4}, disk), Steps{});
}

TEST(MultiStepStopAtStepHook, TellsALoopOfYourOwn) {
  const testing::LogLines log;
  testing::MemoryFileSystem disk;
  LoopSession loop;
  const auto stop = make_hook<MultiStepStopAtStepHook>({.last_step = 3, .steps_per_run = 4});
  auto session = monitored_training_session(loop, {.hooks = {stop}, .file_system = &disk});
  std::vector<std::int32_t> made;
  run_until_stop(session, [&] { session.run([&] { made.push_back(stop->steps_per_run()); }); });
  EXPECT_EQ(made, (std::vector<std::int32_t>{3, 2, 1}));  // a loop counts each run as one step
}

TEST(MultiStepStopAtStepHook, RunsOfATrainingThatGoesOnAfterAnEndHaveTheSameLengths) {
  const testing::LogLines log;
  struct Killed {};
  for (const bool is_killed : {true, false}) {
    std::vector<std::set<std::string>> done(25);
    for (int ends_after = 0; ends_after <= 24; ++ends_after) {
      testing::MemoryFileSystem memory;
      for (const int last_run : {ends_after, 0}) {  // 0: there is none; the second time it goes on to the end
        LoopSession loop;
        const auto stop = make_hook<MultiStepStopAtStepHook>({.last_step = 22, .steps_per_run = 3});
        testing::FaultyFileSystem disk(memory);
        try {
          auto session = monitored_training_session(
              loop, {.checkpoint_dir = "run", .save_checkpoint_steps = 4, .hooks = {stop}, .file_system = &disk});
          for (int run = 1; !session.should_stop(); ++run) {
            session.run([&] {
              done[static_cast<std::size_t>(ends_after)].insert(
                  fmt::format("{} steps from step {}", stop->steps_per_run(), loop.global_step()));
            });
            if (run != last_run) continue;
            if (!is_killed) break;
            disk.fail_from(1);
            throw Killed();
          }
          session.close();
        } catch (const Killed&) {}
      }
      EXPECT_EQ(done[static_cast<std::size_t>(ends_after)], done[0]) << ends_after;
    }
    for (const char* line : {"3 steps from step 0", "2 steps from step 20", "1 steps from step 21"})
      EXPECT_TRUE(done[0].contains(line)) << line;
    EXPECT_EQ(done[0].size(), 22U);
  }
}

TEST(MultiStepStopAtStepHook, WantsOneTargetAndAtLeastOneStep) {
  EXPECT_THROW(MultiStepStopAtStepHook({.last_step = 1, .steps_per_run = 0}), InvalidArgumentError);
  EXPECT_THROW(MultiStepStopAtStepHook({}), InvalidArgumentError);
  EXPECT_THROW(MultiStepStopAtStepHook({.num_steps = 1, .last_step = 1}), InvalidArgumentError);
}

TEST(StepsPerRunVariable, IsMadeOnce) {
  Graph graph;
  const Variable steps = get_or_create_steps_per_run_variable(graph);
  EXPECT_EQ(steps.name(), "hooks/steps_per_run");
  EXPECT_EQ(get_or_create_steps_per_run_variable(graph), steps);
  EXPECT_EQ(local_variables(graph), std::vector<Variable>{steps});
  graph.add_to_collection("hooks_steps_per_run", create_global_step(graph));
  EXPECT_THROW(get_or_create_steps_per_run_variable(graph), FailedPreconditionError);
}

}  // namespace
}  // namespace trainhook
