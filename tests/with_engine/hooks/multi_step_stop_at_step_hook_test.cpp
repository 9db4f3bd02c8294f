// SPDX-License-Identifier: Apache-2.0
/// @file
/// MultiStepStopAtStepHook: how many steps each run makes. The numbers are those of TensorFlow's.
#include <trainhook/hooks/multi_step_stop_at_step_hook.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

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
