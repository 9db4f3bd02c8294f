// SPDX-License-Identifier: Apache-2.0
/// @file
/// BestCheckpointHook: which checkpoints are kept, and that none of them is lost.
#include <trainhook/hooks/best_checkpoint_hook.hpp>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/testing/faulty_file_system.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::LogLines;
using support::Outside;
using support::TrainingDouble;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Options = BestCheckpointHook::Options;

/// A process with a hook that keeps the best in `best`, and a metric that is published before each turn of the hook.
struct Training : TrainingDouble {
  explicit Training(Outside& outside, Options options = {.directory = "best"})
      : TrainingDouble(outside), best(&add(BestCheckpointHook(std::move(options)))) {
    start();
  }
  void train(const std::vector<double>& values) {
    for (const double value : values) {
      services.publish("eval/loss", {step() + 1, value});
      run();
    }
  }
  /// Steps and values, best first.
  [[nodiscard]] std::vector<std::string> kept() const {
    std::vector<std::string> lines;
    for (const BestCheckpoint& one : best->best()) lines.push_back(fmt::format("{} {}", one.step, one.value));
    return lines;
  }
  BestCheckpointHook* best;
};

std::vector<std::string> on_disk(FileSystem& disk) { return checkpoints_on_disk(disk, "best"); }

TEST(BestCheckpointHook, KeepsTheCheckpointWithTheBestValue) {
  Outside outside;
  Training training(outside);
  training.train({3, 1, 2});
  EXPECT_THAT(training.kept(), ElementsAre("2 1"));
  EXPECT_THAT(on_disk(outside.disk), ElementsAre("best/model.ckpt-2"));
  EXPECT_EQ(support::newest_saved_step(outside.disk, "best"), 2);
  training.end();
}

TEST(BestCheckpointHook, KeepsSoManyOfThem) {
  Outside outside;
  Training training(outside, {.better = Better::Higher, .keep = 2, .directory = "best"});
  training.train({0.5, 0.9, 0.7, 0.6, 0.8});
  EXPECT_THAT(training.kept(), ElementsAre("2 0.9", "5 0.8"));
  EXPECT_THAT(on_disk(outside.disk), ElementsAre("best/model.ckpt-2", "best/model.ckpt-5"));
}

TEST(BestCheckpointHook, CallsOnBestWithEachNewBestOnceItIsOnDisk) {
  Outside outside;
  std::vector<std::string> told;
  Training training(outside, {.keep = 2, .directory = "best", .on_best = [&](const BestCheckpoint& best) {
                                told.push_back(fmt::format("{} {} {}", best.step, best.value, best.prefix));
                                EXPECT_EQ(on_disk(outside.disk).back(), best.prefix);
                              }});
  training.train({3, 1, 2, 1, 0.5});
  EXPECT_THAT(told, ElementsAre("1 3 best/model.ckpt-1", "2 1 best/model.ckpt-2", "5 0.5 best/model.ckpt-5"));
}

TEST(BestCheckpointHook, SaysWhatItSavesAndRemoves) {
  LogLines log;
  Outside outside;
  Training training(outside, {.keep = 2, .directory = "best"});
  training.train({1, 3, 2});
  EXPECT_THAT(
      log.lines,
      ElementsAre("I BestCheckpointHook: eval/loss = 1 at step 1 is the best so far; saved as best/model.ckpt-1: 8 "
                  "bytes written in 0.000 s, synced in 0.000 s; the loop waited 0.000 s.",
                  "I BestCheckpointHook: eval/loss = 3 at step 2 is among the best 2; saved as "
                  "best/model.ckpt-2: 8 bytes written in 0.000 s, synced in 0.000 s; the loop waited 0.000 s.",
                  "I BestCheckpointHook: removed best/model.ckpt-2, whose eval/loss of 3 is no longer among "
                  "the best 2.",
                  "I BestCheckpointHook: eval/loss = 2 at step 3 is among the best 2; saved as "
                  "best/model.ckpt-3: 8 bytes written in 0.000 s, synced in 0.000 s; the loop waited 0.000 s."));
}

TEST(BestCheckpointHook, TheStateFileListsTheBestAsTheNewest) {
  Outside outside;
  Training training(outside, {.keep = 3, .directory = "best"});
  training.train({3, 1, 2});
  const auto state = get_checkpoint_state(outside.disk, "best");
  EXPECT_EQ(state->model_checkpoint_path, "best/model.ckpt-2");
  EXPECT_THAT(state->all_model_checkpoint_paths,
              ElementsAre("best/model.ckpt-1", "best/model.ckpt-3", "best/model.ckpt-2"));
}

TEST(BestCheckpointHook, NanIsNeverBestAndOfEqualValuesTheEarlierStepIsKept) {
  Outside outside;
  Training training(outside);
  training.train({kNan, 2, 2, kNan});
  EXPECT_THAT(training.kept(), ElementsAre("2 2"));
}

TEST(BestCheckpointHook, ValuesBeforeAStepDoNotCount) {
  Outside outside;
  Training training(outside, {.from_step = 3, .directory = "best"});
  training.train({1, 2, 4, 3});
  EXPECT_THAT(training.kept(), ElementsAre("4 3"));
}

TEST(BestCheckpointHook, TakesAValueThatIsPublishedAfterItsTurn) {
  Outside outside;
  Training training(outside);
  training.run();
  training.services.publish("eval/loss", {1, 5});
  training.run();  // saves the model of step 1 before this run
  EXPECT_THAT(training.kept(), ElementsAre("1 5"));
  EXPECT_EQ(support::newest_saved_step(outside.disk, "best"), 1);
  training.services.publish("eval/loss", {2, 4});
  training.end();
  EXPECT_EQ(support::newest_saved_step(outside.disk, "best"), 2);
}

TEST(BestCheckpointHook, SaysThatAValueCameTooLate) {
  LogLines log;
  Outside outside;
  Training training(outside);
  training.run(2);
  training.services.publish("eval/loss", {1, 5});
  training.run();
  EXPECT_THAT(training.kept(), IsEmpty());
  EXPECT_EQ(log.count("W BestCheckpointHook: eval/loss of step 1 was published when the model was at step 2"), 1U);
}

TEST(BestCheckpointHook, SaysNothingOfAnEarlierValueThatARunIsResumedWith) {
  LogLines log;
  Outside outside;
  Training training(outside);
  training.services.publish("eval/loss", {1, 5});
  training.set_step(3);
  training.create();
  training.run();
  EXPECT_EQ(log.count("was published when the model was at step"), 0U);
}

TEST(BestCheckpointHook, SaysThatItsMetricWasNeverPublished) {
  LogLines log;
  Outside outside;
  Training training(outside, {.metric = "eval/acuracy", .directory = "best"});
  training.train({1});
  training.end();
  EXPECT_EQ(log.count("W BestCheckpointHook: no value of 'eval/acuracy' was published in this run"), 1U);
}

TEST(BestCheckpointHook, ContinuesAfterARestartWithTheCheckpointsInItsDirectory) {
  Outside outside;
  Training first(outside, {.keep = 2, .directory = "best"});
  first.train({3, 1, 2});
  first.end();
  Training second(outside, {.keep = 2, .directory = "best"});
  EXPECT_THAT(second.kept(), ElementsAre("2 1", "3 2"));
  second.set_step(3);
  second.train({2.5, 1.5});
  EXPECT_THAT(second.kept(), ElementsAre("2 1", "5 1.5"));
}

TEST(BestCheckpointHook, KeepsABestOfAStepThatTheModelHasGoneBackFrom) {
  Outside outside;
  Training(outside).train({3, 2, 1});
  Training second(outside);  // killed and restored at step 0
  second.train({3, 2});
  EXPECT_THAT(second.kept(), ElementsAre("3 1"));
  EXPECT_THAT(on_disk(outside.disk), ElementsAre("best/model.ckpt-3"));
}

TEST(BestCheckpointHook, KeepsFewerIfToldSoAfterARestart) {
  LogLines log;
  Outside outside;
  {
    Training first(outside, {.keep = 3, .directory = "best"});
    first.train({3, 1, 2});
    first.end();
  }
  const Training second(outside, {.keep = 1, .directory = "best"});
  EXPECT_THAT(on_disk(outside.disk), ElementsAre("best/model.ckpt-2"));
  EXPECT_EQ(log.count("I BestCheckpointHook: removed best/model.ckpt-1, whose eval/loss of 3"), 1U);
}

TEST(BestCheckpointHook, LeavesCheckpointsAloneThatHaveNoSuchValue) {
  LogLines log;
  Outside outside;
  {
    Training first(outside, {.metric = "eval/loss", .directory = "best"});
    first.train({1});
    first.end();
  }
  Training second(outside, {.metric = "eval/error", .directory = "best"});
  EXPECT_THAT(second.kept(), IsEmpty());
  EXPECT_EQ(log.count("W BestCheckpointHook: checkpoint best/model.ckpt-1 has no value of 'eval/error' and is left"),
            1U);
}

TEST(BestCheckpointHook, LeavesAUsersCopyAlone) {
  LogLines log;
  Outside outside;
  {
    Training first(outside);
    first.train({3, 1});
    first.end();
  }
  for (const char* const part : {".index", ".data-00000-of-00001"})  // a copy of the best, which is kept for later
    outside.disk.write_file(std::string("best/model.ckpt-900") + part,
                            outside.disk.contents(std::string("best/model.ckpt-2") + part));
  {
    Training second(outside);
    EXPECT_THAT(second.kept(), ElementsAre("2 1"));
    second.set_step(2);
    second.train({0.5});
    second.end();
  }
  EXPECT_THAT(on_disk(outside.disk), ElementsAre("best/model.ckpt-3", "best/model.ckpt-900"));
  EXPECT_EQ(latest_checkpoint(outside.disk, "best"), "best/model.ckpt-3");
  EXPECT_EQ(log.count("I BestCheckpointHook: checkpoint best/model.ckpt-900 is not listed"), 1U);
}

TEST(BestCheckpointHook, SavesBesideTheCheckpointsOfTheSaverHook) {
  Outside outside;
  TrainingDouble training(outside);
  training.add(CheckpointSaverHook(
      {.checkpoint_dir = "run", .save_steps = 100, .saver = std::make_shared<Saver>(), .checkpoint_basename = "net"}));
  training.add(BestCheckpointHook());
  training.start();
  training.services.publish("eval/loss", {1, 5});
  training.run();
  training.end();
  EXPECT_EQ(latest_checkpoint(outside.disk, "run/best"), "run/best/net-1");
}

TEST(BestCheckpointHook, SavesBelowTheDirectoryOfTheSessionIfNoneOrSeveralHooksSaveTheModel) {
  for (const bool several : {false, true}) {
    Outside outside;
    TrainingDouble training(outside);
    training.services.set_checkpoint_dir("run");
    for (const char* directory : {"copies", "run"}) {
      if (several)
        training.add(
            CheckpointSaverHook({.checkpoint_dir = directory, .save_steps = 100, .saver = std::make_shared<Saver>()}));
    }
    training.add(BestCheckpointHook());
    training.start();
    training.services.publish("eval/loss", {1, 5});
    training.run();
    training.end();
    EXPECT_EQ(latest_checkpoint(outside.disk, "run/best"), "run/best/model.ckpt-1") << several;
  }
}

TEST(BestCheckpointHook, AsksForADirectoryIfNoHookSavesTheModel) {
  Outside outside;
  TrainingDouble training(outside);
  training.add(BestCheckpointHook());
  training.begin();
  EXPECT_THROW(training.create(), FailedPreconditionError);
}

TEST(BestCheckpointHook, RefusesTheDirectoryOfTheModelAndOneThatAnotherHookUses) {
  Outside outside;
  TrainingDouble same(outside);
  same.add(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 100, .saver = std::make_shared<Saver>()}));
  same.add(BestCheckpointHook({.directory = "./run"}));
  same.begin();
  EXPECT_THROW(same.create(), InvalidArgumentError);
  TrainingDouble twice(outside);
  twice.add(BestCheckpointHook({.metric = "a", .directory = "best"}));
  twice.add(BestCheckpointHook({.metric = "b", .directory = "best"}));
  twice.begin();
  EXPECT_THROW(twice.create(), FailedPreconditionError);
}

TEST(BestCheckpointHook, AVetoedModelIsNotSaved) {
  LogLines log;
  Outside outside;
  Training training(outside);
  training.services.set_save_veto([] { return std::optional<std::string>("the loss is NaN"); });
  training.train({1});
  EXPECT_THAT(training.kept(), IsEmpty());
  EXPECT_EQ(log.count("W BestCheckpointHook: the model of step 1, with eval/loss = 1, is not saved: the loss is NaN"),
            1U);
}

TEST(BestCheckpointHook, ASaveThatFailsLeavesTheListAsItWas) {
  Outside outside;
  testing::FaultyFileSystem faulty(outside.disk);
  TrainingDouble training(outside);
  auto& best = training.add(BestCheckpointHook({.directory = "best"}));
  training.use_disk(faulty);
  training.start();
  training.services.publish("eval/loss", {1, 5});
  training.run();
  faulty.fail_at(testing::FileOperation::Append, 1);
  training.services.publish("eval/loss", {2, 4});
  EXPECT_THROW(training.run(), ResourceExhaustedError);
  ASSERT_EQ(best.best().size(), 1U);
  EXPECT_EQ(best.best()[0].step, 1);
  EXPECT_EQ(support::newest_saved_step(outside.disk, "best"), 1);
}

TEST(BestCheckpointHook, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(BestCheckpointHook({.keep = 0}), InvalidArgumentError);
  EXPECT_THROW(BestCheckpointHook({.metric = ""}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
