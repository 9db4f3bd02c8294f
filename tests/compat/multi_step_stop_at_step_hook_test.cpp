// SPDX-License-Identifier: Apache-2.0
/// @file
/// MultiStepStopAtStepHook: how many steps each run makes. The numbers are those of TensorFlow's.
#include <trainhook/compat/multi_step_stop_at_step_hook.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
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
