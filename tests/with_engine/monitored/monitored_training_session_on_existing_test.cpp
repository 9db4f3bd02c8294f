// SPDX-License-Identifier: Apache-2.0
/// @file
/// Training into a directory that holds a run: going on, starting fresh, refusing; and what a resume says.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <small_engine.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

class OnExistingTest : public ::testing::Test {
 protected:
  ~OnExistingTest() override { set_log_sink(previous_sink); }

  struct Run {
    OnExisting on_existing = OnExisting::Resume;
    std::string directory = "runs/line";
    std::int64_t seed = 0;
    bool with_more = false;  ///< another graph
  };

  /// Trains three steps; returns the step that it began with.
  std::int64_t train(const Run& run) {
    Graph graph;
    if (run.seed != 0) graph.set_random_seed(run.seed);
    const Operation step = increment(create_global_step(graph)).operation();
    if (run.with_more) static_cast<void>(constant(graph, Tensor(1.0F), "more"));
    auto session = monitored_training_session<support::SmallEngine>(graph, {.checkpoint_dir = run.directory,
                                                                            .on_existing = run.on_existing,
                                                                            .save_checkpoint_steps = 100,
                                                                            .hooks = {StopAtStepHook({.num_steps = 3})},
                                                                            .file_system = &disk,
                                                                            .clock = &clock});
    const std::int64_t begin = session.global_step();
    run_until_stop(session, step);
    return begin;
  }
  std::string newest(const std::string& directory) { return latest_checkpoint(disk, directory).value_or("none"); }
  std::string last_line_with(const std::string& words) const {
    const std::size_t at = log.rfind(words);
    return at == std::string::npos ? "" : log.substr(at, log.find('\n', at) - at);
  }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

TEST_F(OnExistingTest, ResumesByDefault) {
  EXPECT_EQ(train({}), 0);
  EXPECT_EQ(train({}), 3);
  EXPECT_EQ(newest("runs/line"), "runs/line/model.ckpt-6");
  EXPECT_EQ(disk.list_directory("runs"), std::vector<std::string>{"line"});
}

TEST_F(OnExistingTest, AFreshStartKeepsTheEarlierRunsUnderNumbers) {
  EXPECT_EQ(train({.on_existing = OnExisting::StartFresh}), 0);
  EXPECT_EQ(disk.list_directory("runs"), std::vector<std::string>{"line"});  // there was nothing to keep
  EXPECT_EQ(train({}), 3);
  EXPECT_EQ(train({.on_existing = OnExisting::StartFresh, .directory = "runs/line/"}), 0);
  EXPECT_EQ(train({.on_existing = OnExisting::StartFresh}), 0);
  EXPECT_EQ(disk.list_directory("runs"), (std::vector<std::string>{"line", "line.1", "line.2"}));
  EXPECT_EQ(newest("runs/line"), "runs/line/model.ckpt-3");
  EXPECT_EQ(newest("runs/line.1"), "runs/line.1/model.ckpt-6");  // whole, and restored from there
  EXPECT_EQ(last_line_with("The earlier run"),
            "The earlier run in runs/line is in runs/line.2 now; this one starts fresh.");
  EXPECT_EQ(train({.directory = "runs/line.1"}), 6);
}

TEST_F(OnExistingTest, AFreshStartRenamesWhatALinkLeadsTo) {
  disk.make_directories("disk7/line");
  disk.make_link("runs/line", "/disk7/line");
  EXPECT_EQ(train({}), 0);
  EXPECT_EQ(train({.on_existing = OnExisting::StartFresh}), 0);
  EXPECT_EQ(disk.list_directory("disk7"), (std::vector<std::string>{"line", "line.1"}));
  EXPECT_EQ(disk.list_directory("runs"), std::vector<std::string>{"line"});
  EXPECT_EQ(newest("runs/line"), "runs/line/model.ckpt-3");
  EXPECT_EQ(newest("disk7/line.1"), "disk7/line.1/model.ckpt-3");
}

TEST_F(OnExistingTest, AFreshStartLeavesTheCurrentDirectoryAlone) {
  EXPECT_EQ(train({.directory = "."}), 0);
  try {
    train({.on_existing = OnExisting::StartFresh, .directory = "."});
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_STREQ(error.what(),
                 "on_existing = StartFresh renames the directory of the earlier run, and '.' is the current directory; "
                 "train into a directory below it");
  }
}

TEST_F(OnExistingTest, FailRefusesOnlyWhatHoldsARun) {
  EXPECT_EQ(train({.on_existing = OnExisting::Fail}), 0);
  try {
    train({.on_existing = OnExisting::Fail});
    FAIL();
  } catch (const AlreadyExistsError& error) {
    EXPECT_STREQ(error.what(),
                 "runs/line holds a run already, with checkpoint runs/line/model.ckpt-3: train into another directory, "
                 "or set on_existing to Resume or StartFresh");
  }
  EXPECT_EQ(train({}), 3);
}

TEST_F(OnExistingTest, AFreshStartDoesNotTakeTheDirectoryOfAnActiveRun) {
  Graph graph;
  create_global_step(graph);
  const auto going_on = monitored_training_session<support::SmallEngine>(
      graph, {.checkpoint_dir = "runs/line", .file_system = &disk, .clock = &clock});
  EXPECT_THROW(train({.on_existing = OnExisting::StartFresh}), FailedPreconditionError);
  EXPECT_EQ(disk.list_directory("runs"), std::vector<std::string>{"line"});
}

TEST_F(OnExistingTest, AResumeSaysWhenTheCheckpointWasWrittenAndWhatDiffers) {
  train({});
  train({});
  const std::string restored = "Restored runs/line/model.ckpt-3.";
  EXPECT_TRUE(last_line_with("Restored").starts_with(restored)) << log;
  EXPECT_EQ(log.find("differs"), std::string::npos) << log;
  disk.set_time(clock.wall_seconds());
  train({});
  clock.advance(std::chrono::minutes(2));
  train({.seed = 5, .with_more = true});
  EXPECT_EQ(
      last_line_with("Restored"),
      "Restored runs/line/model.ckpt-9. It was written 2 min 00 s ago by a run that differs: the seed was 87654321 and "
      "is 5, the graph is another one.");
}

TEST_F(OnExistingTest, ARunWithoutARecordOrWithADamagedOneIsResumed) {
  train({});
  disk.remove_file("runs/line/run.pbtxt");
  EXPECT_EQ(train({}), 3);
  EXPECT_EQ(log.find("differs"), std::string::npos) << log;
  write_file_atomically(disk, "runs/line/run.pbtxt", "command_line: {");
  EXPECT_EQ(train({}), 6);
  EXPECT_NE(last_line_with("Restored").find("What wrote it cannot be read"), std::string::npos) << log;
  EXPECT_EQ(train({}), 9);  // it has been written again
  EXPECT_EQ(last_line_with("Restored").find("cannot be read"), std::string::npos) << log;
}

}  // namespace
}  // namespace trainhook
