// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sessions with RestoreRules: where they begin, and that they go on from their own checkpoints.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using Floats = std::vector<float>;

/// A program with a model of two variables.
struct Program {
  explicit Program(testing::MemoryFileSystem& file_system) : disk(file_system) {
    loop.variable("net/encoder", encoder);
    loop.variable("net/head", head);
  }
  void train(MonitoredTrainingSessionOptions options, int steps) {
    options.checkpoint_dir = "run";
    if (!options.save_checkpoint_steps) options.save_checkpoint_steps = 1;
    options.file_system = &disk;
    options.clock = &clock;
    auto session = monitored_training_session(loop, options);
    began_at = loop.global_step();
    for (int i = 0; i < steps; ++i) session.run([this] { ++head[0]; });
    session.close();
  }

  testing::MemoryFileSystem& disk;
  testing::ManualClock clock;
  Floats encoder{-1, -1}, head{-2};
  LoopSession loop;
  std::int64_t began_at = 0;
};

struct RestoringSession : ::testing::Test {
  void write(const std::string& prefix, const std::string& encoder) {
    BundleWriter writer(prefix, {.file_system = &disk});
    writer.add("global_step", Tensor(std::int64_t{9}));
    writer.add(encoder, Tensor::of<float>({1, 2}));
    writer.finish();
  }
  testing::MemoryFileSystem disk;
};

TEST_F(RestoringSession, BeginsFromAnotherCheckpointAndGoesOnFromItsOwn) {
  write("pretrained/m-9", "encoder");
  const MonitoredTrainingSessionOptions options{.restore = RestoreRules{.from = "pretrained/m-9",
                                                                        .rename = {{"encoder", "net/encoder"}},
                                                                        .missing = Missing::KeepInitial}};
  {
    Program first(disk);
    first.train(options, 1);
    EXPECT_EQ(first.began_at, 9);
    EXPECT_EQ(first.encoder, (Floats{1, 2}));
    EXPECT_EQ(first.head, Floats{-1});
  }
  Program second(disk);  // for which the rules do not count
  second.train(options, 1);
  EXPECT_EQ(second.began_at, 10);
  EXPECT_EQ(second.head, Floats{0});
}

TEST_F(RestoringSession, ResumesInAModelThatHasChanged) {
  write("run/model.ckpt-9", "encoder");
  const MonitoredTrainingSessionOptions options{
      .restore = RestoreRules{.rename = {{"encoder", "net/encoder"}}, .missing = Missing::KeepInitial}};
  for (const float steps : {1.F, 2.F}) {
    Program program(disk);
    program.train(options, 1);
    EXPECT_EQ(program.encoder, (Floats{1, 2}));
    EXPECT_EQ(program.head, Floats{-2 + steps});
  }
}

TEST_F(RestoringSession, IsStrictWithoutRulesAndNamesThem) {
  write("run/model.ckpt-9", "encoder");
  Program program(disk);
  try {
    program.train({}, 1);
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "checkpoint run/model.ckpt-9 has no variable 'net/encoder'; it was written by another model, so restore it "
        "into that one, train into another directory, or say by `restore` = RestoreRules what may differ: `rename`, or "
        "`missing` = Missing::KeepInitial; names like it are: encoder");
  }
}

TEST_F(RestoringSession, WritesWhatWasNotPlainToTheRecordOfTheRun) {
  write("pretrained/m-9", "net/encoder");
  Program program(disk);
  program.train({.restore = RestoreRules{.from = "pretrained/m-9", .missing = Missing::KeepInitial}}, 1);
  Program again(disk);  // which does not forget it
  again.train({}, 1);
  EXPECT_EQ(detail::read_run_record(disk, "run")->restored,
            "from pretrained/m-9: 'net/head' is not in it and keeps its initial value");
}

/// A program whose state other than variables has these names.
struct StateProgram : Program {
  StateProgram(testing::MemoryFileSystem& file_system, const std::string& generator, const std::string& count)
      : Program(file_system) {
    if (!generator.empty()) loop.state(generator, noise);
    if (!count.empty()) loop.state(count, seen);
  }
  std::mt19937 noise{5};
  std::int64_t seen = 0;
};

TEST_F(RestoringSession, AResumeThatLacksStateIsAnErrorThatNamesTheWayOut) {
  StateProgram(disk, "noise", "seen").train({}, 1);
  for (const auto& [generator, count, missing] : {std::tuple("sound", "seen", "generator '_trainhook/state/sound'"),
                                                  std::tuple("noise", "heard", "state '_trainhook/state/heard'")}) {
    StateProgram program(disk, generator, count);
    testing::expect_error<NotFoundError>(
        {std::string("checkpoint run/model.ckpt-1 has no ") + missing,
         "give it the name that it had, or say by `restore` = RestoreRules{.missing = Missing::KeepInitial}"},
        [&] { program.train({}, 1); });
    EXPECT_EQ(program.head, Floats{-2});
  }
}

TEST_F(RestoringSession, AResumeThatLacksStateGoesOnIfARuleSaysSo) {
  StateProgram(disk, "noise", "").train({}, 1);
  testing::LogLines log;
  StateProgram program(disk, "sound", "");
  program.train({.restore = RestoreRules{.missing = Missing::KeepInitial}}, 1);
  EXPECT_EQ(program.began_at, 1);
  EXPECT_EQ(log.count("I Followed the rules of `restore` for run/model.ckpt-1: names restored: 3, kept at the initial "
                      "value: 1 ('_trainhook/state/sound'), left over: 1 ('_trainhook/state/noise')."),
            1U);
  EXPECT_EQ(log.count("leaves out"), 0U) << "it is said once";
}

TEST_F(RestoringSession, WhatTheProgramLacksIsNamedBeforeTheFirstSaveThatLeavesItOut) {
  {
    Program adam(disk);
    Floats first{1, 1}, second{2, 2};
    adam.loop.variable("net/encoder/Adam", first);
    adam.loop.variable("net/encoder/Adam_1", second);
    adam.train({}, 1);
  }
  const std::string line =
      "W checkpoint run/model.ckpt-1 has 2 names that nothing here takes, and the next save leaves out: "
      "'net/encoder/Adam', 'net/encoder/Adam_1'";
  const auto lines_of = [&](int steps, bool saves) {
    testing::LogLines log;
    Program sgd(disk);
    sgd.train({.save_checkpoint_steps = saves ? 1 : 0}, steps);
    return log.lines;
  };
  EXPECT_EQ(std::ranges::count(lines_of(1, false), line), 0);
  const std::vector<std::string> lines = lines_of(1, true);
  const auto is_save = [](const std::string& each) {
    return each.find("Saving checkpoints for 2") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count(lines, line), 1);
  EXPECT_LT(std::ranges::find(lines, line), std::ranges::find_if(lines, is_save));
  EXPECT_NE(std::ranges::find_if(lines, is_save), lines.end());
  EXPECT_EQ(std::ranges::count_if(lines_of(1, true), [](const auto& each) { return each.find("leaves out") < 200; }),
            0);
}

TEST_F(RestoringSession, RulesApplyAtEachStartThoughTheCheckpointFits) {
  for (const float steps : {1.F, 2.F}) {
    Program program(disk);
    program.train({.restore = RestoreRules{.rename = {{"net/head", ""}}}}, steps > 1 ? 1 : 3);
    EXPECT_EQ(program.head, Floats{steps > 1 ? -1.F : 1.F});
    EXPECT_EQ(program.began_at, steps > 1 ? 3 : 0);
  }
}

TEST_F(RestoringSession, KeepsAsManyCheckpointsAsIsSaid) {
  Program program(disk);
  program.train({.max_to_keep = 2}, 4);
  EXPECT_FALSE(checkpoint_exists(disk, "run/model.ckpt-2"));
  EXPECT_TRUE(checkpoint_exists(disk, "run/model.ckpt-3") && checkpoint_exists(disk, "run/model.ckpt-4"));
}

TEST_F(RestoringSession, RefusesMaxToKeepBesideAScaffold) {
  Program program(disk);
  EXPECT_THROW(program.train({.scaffold = std::make_shared<Scaffold>(), .max_to_keep = 2}, 1), InvalidArgumentError);
}

/// What a function of the program throws is not about the checkpoint, whatever it is.
TEST_F(RestoringSession, AFunctionThatThrowsEndsTheStartAndNoOlderCheckpointIsTaken) {
  testing::LogLines log;
  const auto train = [&](bool fails) {
    testing::ManualClock clock;
    Floats weights{1};
    LoopSession loop;
    loop.variable("weights", weights);
    loop.state(
        "queue", [] { return std::string("2 jobs"); },
        [&](const std::string&) {
          if (std::exchange(fails, false)) throw std::runtime_error("the job server does not answer");
        });
    auto session = monitored_training_session(
        loop, {.checkpoint_dir = "run", .save_checkpoint_steps = 1, .file_system = &disk, .clock = &clock});
    const std::int64_t began_at = loop.global_step();
    for (int i = 0; i < 2; ++i) session.run([&] { ++weights[0]; });
    session.close();
    return began_at;
  };
  EXPECT_EQ(train(false), 0);
  try {
    train(true);
    ADD_FAILURE() << "it began";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(
        error.what(),
        "restoring run/model.ckpt-2: the load function of state '_trainhook/state/queue' threw: the job server "
        "does not answer");
  }
  EXPECT_EQ(log.count("is skipped"), 0U);
  EXPECT_EQ(log.count("E checkpoint run/model.ckpt-2 was not restored, and no other one is tried: "), 1U);
  EXPECT_EQ(log.count("E the load function of state '_trainhook/state/queue' threw: "), 1U);
  EXPECT_EQ(train(false), 2);
}

TEST_F(RestoringSession, AnInitFunctionThatReadsADamagedFileEndsTheStart) {
  testing::LogLines log;
  write("run/model.ckpt-8", "net/encoder");
  write("run/model.ckpt-9", "net/encoder");
  MonitoredTrainingSessionOptions options{.restore = RestoreRules{.missing = Missing::KeepInitial}};
  options.scaffold = std::make_shared<Scaffold>(ScaffoldOptions{
      .init_fn = [](const Scaffold&, SessionRef) { throw DataLossError("vocabulary.txt is damaged"); }});
  try {
    Program(disk).train(options, 2);
    ADD_FAILURE() << "it began with an older checkpoint";
  } catch (const DataLossError& error) {
    EXPECT_STREQ(error.what(), "init_fn of the scaffold threw: vocabulary.txt is damaged");
  }
  EXPECT_EQ(log.count("is skipped"), 0U);
}

}  // namespace
}  // namespace trainhook
