// SPDX-License-Identifier: Apache-2.0
/// @file
/// Training programs that change their current directory, or train where other programs have files.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LogLines;
using testing::MemoryFileSystem;

/// Trains from the directory `home` to step `last` with everything that writes files; before step 3 the program changes
/// its directory to `goes_to`. Returns the step at which it began.
std::int64_t train(MemoryFileSystem& disk, std::int64_t last, const std::string& goes_to) {
  testing::ManualClock clock;
  disk.change_directory("home");
  double loss = 8;
  LoopSession loop;
  loop.variable("loss", loss);
  auto session = monitored_training_session(
      loop, {.checkpoint_dir = "run",
             .save_checkpoint_steps = 2,
             .save_summaries_steps = 1,
             .hooks = {StopAtStepHook({.last_step = last}),
                       LambdaHook({.before_run = [&](SessionRunContext& context) -> SessionRunArgs {
                         if (context.global_step() == 2) disk.change_directory(goes_to);
                         return {};
                       }}),
                       EvaluationHook(
                           [&] {
                             return Metrics{{"loss", loss}};
                           },
                           {.every_n_steps = 1, .name = "test", .output_dir = "evaluations"}),
                       BestCheckpointHook({.metric = "test/loss", .directory = "best"}),
                       CsvLoggerHook({"loss"}, {.path = "rows/log.csv", .every_n_steps = 1}),
                       SignalHook({.stop_signals = {}, .save_signals = {}, .deadline = {}, .directory = "run"})},
             .file_system = &disk,
             .clock = &clock});
  const std::int64_t begin = session.global_step();
  run_until_stop(session, [&] { session.run([&] { loss /= 2; }); });
  return begin;
}

/// The files and their contents; those of events by their directory, since each process gives them other names.
std::map<std::string, std::string> contents_of(MemoryFileSystem& disk) {
  std::map<std::string, std::string> all;
  for (const std::string& path : disk.files()) {
    const std::size_t events = path.find("events.out");
    if (events == std::string::npos) {
      all[path] = disk.contents(path);
    } else {
      all[path.substr(0, events)] += "x";
    }
  }
  return all;
}

TEST(TrainingDirectories, AProgramThatChangesItsDirectoryWritesTheSameFiles) {
  const LogLines quiet;
  MemoryFileSystem stays;
  MemoryFileSystem moves;
  for (MemoryFileSystem* disk : {&stays, &moves}) {
    disk->make_directories("home");
    disk->make_directories("elsewhere");
    for (const std::int64_t last : {5, 8})
      EXPECT_EQ(train(*disk, last, disk == &moves ? "elsewhere" : "home"), last == 5 ? 0 : 5) << "restored";
  }
  EXPECT_EQ(contents_of(moves), contents_of(stays));
  EXPECT_THAT(moves.list_directory("/elsewhere"), IsEmpty());
  EXPECT_THAT(moves.contents("home/run/checkpoint"), HasSubstr("model_checkpoint_path: \"model.ckpt-8\""));
  EXPECT_THAT(moves.contents("home/rows/log.csv"), HasSubstr("\n8,"));
}

TEST(TrainingDirectories, WritersKeepTheDirectoryInWhichTheyWereMade) {
  MemoryFileSystem disk;
  testing::ManualClock clock;
  disk.make_directories("home");
  disk.make_directories("elsewhere");
  disk.change_directory("home");
  FileWriter events("events", {.file_system = &disk, .clock = &clock});
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  disk.change_directory("elsewhere");
  events.add_scalar("loss", 1, 1);
  events.close();
  writers.at("cached").add_scalar("loss", 1, 1);
  writers.close();
  EXPECT_THAT(disk.list_directory("/elsewhere"), IsEmpty());
  EXPECT_THAT(disk.list_directory("/home"), ::testing::ElementsAre("cached", "events"));
}

TEST(TrainingDirectories, AFileOfAnotherProgramIsAnErrorAndStays) {
  const LogLines quiet;
  for (const char* path : {"home/run/checkpoint", "home/rows/log.csv", "home/best/checkpoint"}) {
    MemoryFileSystem disk;
    disk.write_file(path, "of another program\n");
    try {
      train(disk, 5, "home");
      ADD_FAILURE() << path;
    } catch (const FailedPreconditionError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(path).substr(std::string("home/").size())));
    }
    EXPECT_EQ(disk.contents(path), "of another program\n") << path;
  }
}

}  // namespace
}  // namespace trainhook
