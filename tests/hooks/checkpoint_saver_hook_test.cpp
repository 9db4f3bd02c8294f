// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointSaverHook: when it saves, what it tells whom, and what it does if saving fails.
#include <trainhook/hooks/checkpoint_saver_hook.hpp>

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <expect_error.hpp>
#include <temporary_folder.hpp>

#include <trainhook/checkpoint/lock_lease.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/recording_writer.hpp>

#include "graph_export_double.hpp"
#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;
using Options = CheckpointSaverHook::Options;

struct Saved : support::TrainingDouble {
  explicit Saved(support::Outside& outside, const std::string& scope = {})
      : TrainingDouble(outside, scope), saved_on(outside.disk) {}

  CheckpointSaverHook& add_saver(Options options) {
    if (options.checkpoint_dir.empty()) options.checkpoint_dir = "run";
    if (options.saver == nullptr && options.scaffold == nullptr) options.saver = std::make_shared<Saver>();
    return add(CheckpointSaverHook(std::move(options)));
  }
  // As a session without `after_create_session`, which is how TensorFlow's own tests drive the hook.
  void start_without_creation() {
    begin();
    coordinator = std::make_unique<Coordinator>();
    make_session();
  }
  void restore_and_create(const std::string& prefix) {
    begin();
    Saver saver;
    saver.use(services.file_system(), services.clock());
    saver.restore(model, prefix);
    services.start_session(prefix);
    create();
  }
  [[nodiscard]] std::int64_t saved() { return support::newest_saved_step(saved_on, "run"); }
  [[nodiscard]] Lines checkpoints() { return checkpoints_on_disk(saved_on, "run"); }

  testing::MemoryFileSystem& saved_on;
  std::shared_ptr<testing::Trace> told = std::make_shared<testing::Trace>();
};

struct Alone : support::Outside, Saved {
  Alone() : Saved(static_cast<support::Outside&>(*this)) {}
};

std::string refusal(Options options) {
  try {
    const CheckpointSaverHook hook(std::move(options));
  } catch (const InvalidArgumentError& error) { return error.what(); }
  return "accepted";
}

TEST(CheckpointSaverHook, B019_S38_RefusesSaverAndScaffoldAtOnce) {
  const auto saver = std::make_shared<Saver>();
  EXPECT_EQ(refusal({.checkpoint_dir = "run", .save_steps = 1, .saver = saver}), "accepted");
  EXPECT_EQ(
      refusal({.checkpoint_dir = "run", .save_steps = 1, .saver = saver, .scaffold = std::make_shared<Scaffold>()}),
      "CheckpointSaverHook: saver and scaffold are both given; give one of them");
}

TEST(CheckpointSaverHook, B020_B021_X31_WantsExactlyOnePeriodAboveZero) {
  EXPECT_NE(refusal({.checkpoint_dir = "run", .save_secs = 10s, .save_steps = 20}).find("not both"), std::string::npos);
  EXPECT_NE(refusal({.checkpoint_dir = "run"}).find("not neither"), std::string::npos);
  EXPECT_NE(refusal({.checkpoint_dir = "run", .save_steps = 0}).find("save_steps is 0"), std::string::npos);
  EXPECT_NE(refusal({.checkpoint_dir = "run", .save_secs = -1s}).find("save_secs is -1 s"), std::string::npos);
}

TEST(CheckpointSaverHook, RefusesOtherBadOptions) {
  EXPECT_NE(refusal({.checkpoint_dir = "run", .save_steps = 1, .checkpoint_basename = "a/b"})
                .find("checkpoint_basename is 'a/b'"),
            std::string::npos);
  EXPECT_NE(refusal({.checkpoint_dir = "run", .save_steps = 1, .listeners = {nullptr}}).find("listener is null"),
            std::string::npos);
  EXPECT_NE(refusal({.checkpoint_dir = "run", .save_steps = 1, .tolerated_save_failures = -1}).find("is -1"),
            std::string::npos);
}

TEST(CheckpointSaverHook, SavesIntoTheDirectoryOfTheSessionIfItIsGivenNone) {
  support::Outside outside;
  const auto hook = make_hook<CheckpointSaverHook>({.save_steps = 2});
  for (const std::string directory : {"run", "other"}) {  // the same hook in two sessions
    LoopSession loop;
    auto session = monitored_training_session(
        loop, {.checkpoint_dir = directory, .hooks = {hook}, .file_system = &outside.disk, .clock = &outside.clock});
    for (int i = 0; i < 3; ++i) session.run([] {});
    session.close();
    EXPECT_EQ(support::files_with(outside.disk, directory, ".index"),
              (Lines{"model.ckpt-0.index", "model.ckpt-2.index", "model.ckpt-3.index"}));
    EXPECT_EQ(hook->writes_to(), directory);
  }
}

TEST(CheckpointSaverHook, WithoutADirectoryInASessionWithoutOneIsRefused) {
  LoopSession loop;
  const support::LogLines log;
  testing::expect_error({"CheckpointSaverHook: checkpoint_dir is empty, and the session has none"}, [&] {
    monitored_training_session(loop, {.hooks = {CheckpointSaverHook({.save_steps = 1})}}).close();
  });
}

TEST(CheckpointSaverHook, ABasenameTooLongForTemporaryFilesIsRefusedBeforeTheFirstSave) {
  const support::TemporaryFolder folder;
  Alone training;
  training.use_disk(posix_file_system());
  training.add_saver({.checkpoint_dir = folder.path(), .save_steps = 1, .checkpoint_basename = std::string(200, 'm')});
  testing::expect_error({"CheckpointSaverHook", "checkpoint_basename 'mmm", "too long", "give a shorter one"},
                        [&] { training.begin(); });
}

TEST(CheckpointSaverHook, ADirectoryInWhichNoFileReplacesAnotherIsRefusedBeforeTheFirstSave) {
  Alone training;
  testing::FaultyFileSystem faulty(training.disk);
  faulty.fail_from(testing::FileOperation::Rename, 1, ErrorCode::PermissionDenied);
  training.use_disk(faulty);
  training.add_saver({.save_steps = 1});
  testing::expect_error<FailedPreconditionError>({"'run'", "renamed over another one"}, [&] { training.begin(); });
}

TEST(CheckpointSaverHook, B018_FindsTheSaverInTheCollectionIfNeitherIsGiven) {
  Alone training;
  training.add(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1}));
  training.begin();
  training.graph.unfinalize();
  Scaffold scaffold;
  scaffold.finalize(training.graph);
  training.create();
  training.run();
  EXPECT_EQ(training.saved(), 1);
}

std::string failure_at_start(Alone& training) {
  try {
    training.start();
  } catch (const FailedPreconditionError& error) { return error.what(); }
  return "started";
}

TEST(CheckpointSaverHook, X44_WantsExactlyOneSaverInTheCollection) {
  Alone none;
  none.add(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1}));
  EXPECT_EQ(failure_at_start(none),
            "No items in the collection 'savers'; give the CheckpointSaverHook a saver or a scaffold");
  Alone two;
  for (int i = 0; i < 2; ++i) two.graph.add_to_collection(graph_keys::kSavers, std::make_shared<Saver>());
  two.add(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1}));
  EXPECT_EQ(failure_at_start(two),
            "More than one item in the collection 'savers'; give the CheckpointSaverHook a saver or a scaffold");
}

TEST(CheckpointSaverHook, B022_B030_SavesInTheFirstStep) {
  for (const bool seconds : {false, true}) {
    Alone training;
    training.add_saver(seconds ? Options{.save_secs = 2s} : Options{.save_steps = 2});
    training.start_without_creation();
    training.run();
    EXPECT_EQ(training.saved(), 1);
  }
}

TEST(CheckpointSaverHook, B023_CallsListenersAtBeginAndEnd) {
  Alone training;
  training.add_saver(
      {.save_secs = 2s, .listeners = {std::make_shared<support::RecordingListener>(training.told, "a")}});
  training.start_without_creation();
  training.run(2);
  training.end();
  EXPECT_EQ(training.told->lines(),
            "a.begin\na.before_save 1\na.after_save 1\na.before_save 2\na.after_save 2\na.end 2\n");
}

/// A loop whose step is its number, in a session without recovery.
MonitoredSession<LoopSession> unrecovered(LoopSession& loop, support::Outside& outside, HookList hooks,
                                          std::shared_ptr<Scaffold> scaffold = nullptr,
                                          const std::string& checkpoint_dir = {}) {
  return monitored_training_session(loop, {.checkpoint_dir = checkpoint_dir,
                                           .scaffold = std::move(scaffold),
                                           .save_checkpoint_steps = 0,
                                           .save_summaries_steps = 0,
                                           .log_step_count_steps = 0,
                                           .hooks = std::move(hooks),
                                           .retry = {.max_attempts = 0},
                                           .file_system = &outside.disk,
                                           .clock = &outside.clock});
}

TEST(CheckpointSaverHook, B024_ListenersInAMonitoredSession) {
  support::Outside outside;
  const auto told = std::make_shared<testing::Trace>();
  const auto scaffold = std::make_shared<Scaffold>();
  LoopSession loop;
  auto session =
      unrecovered(loop, outside,
                  {CheckpointSaverHook({.checkpoint_dir = "run",
                                        .save_steps = 1,
                                        .scaffold = scaffold,
                                        .listeners = {std::make_shared<support::RecordingListener>(told, "a")}})},
                  scaffold);
  for (int i = 0; i < 2; ++i) session.run([] {});
  session.close();
  EXPECT_EQ(support::newest_saved_step(outside.disk, "run"), 2);
  EXPECT_EQ(told->lines(),
            "a.begin\na.before_save 0\na.after_save 0\na.before_save 1\na.after_save 1\na.before_save 2\na.after_save "
            "2\na.end 2\n");
}

TEST(CheckpointSaverHook, B026_ListenersInAMonitoredSessionWithTheDefaultSaver) {
  support::Outside outside;
  const auto told = std::make_shared<testing::Trace>();
  {
    LoopSession loop;
    auto session =
        unrecovered(loop, outside,
                    {CheckpointSaverHook({.checkpoint_dir = "run",
                                          .save_steps = 1,
                                          .listeners = {std::make_shared<support::RecordingListener>(told, "a")}})});
    for (int i = 0; i < 2; ++i) session.run([] {});
    session.close();
  }
  EXPECT_EQ(told->lines(),
            "a.begin\na.before_save 0\na.after_save 0\na.before_save 1\na.after_save 1\na.before_save 2\na.after_save "
            "2\na.end 2\n");
  LoopSession loop;
  auto session = unrecovered(loop, outside, {}, nullptr, "run");
  EXPECT_EQ(session.run(get_global_step(loop.graph())->read).scalar<std::int64_t>(), 2);
}

TEST(CheckpointSaverHook, SavesAtTheStartAndEveryStepAndNothingMoreAtTheEnd) {
  support::Outside outside;
  {
    Saved training(outside);
    training.add_saver(
        {.save_steps = 1, .listeners = {std::make_shared<support::RecordingListener>(training.told, "a")}});
    training.start();
    training.run(2);
    training.end();
    EXPECT_EQ(training.told->lines(),
              "a.begin\na.before_save 0\na.after_save 0\na.before_save 1\na.after_save 1\na.before_save "
              "2\na.after_save 2\na.end 2\n");
  }
  Saved again(outside);
  again.add_saver({.save_steps = 1});
  again.restore_and_create(latest_checkpoint(outside.disk, "run").value());
  EXPECT_EQ(again.step(), 2);
}

TEST(CheckpointSaverHook, B028_SavesEverySoManySeconds) {
  Alone training;
  training.add_saver({.save_secs = 2s});
  training.start_without_creation();
  const auto saved_after = [&](double seconds) {
    training.advance_clock(seconds);
    training.run();
    return training.saved();
  };
  EXPECT_EQ(saved_after(0), 1);
  EXPECT_EQ(saved_after(0.5), 1);
  EXPECT_EQ(saved_after(2.0), 3);
  EXPECT_EQ(saved_after(0.1), 3);
  EXPECT_EQ(saved_after(0.1), 3);
  EXPECT_EQ(saved_after(7.3), 6);
}

TEST(CheckpointSaverHook, B040_SavesEverySoManyStepsOfAStepInAScope) {
  support::Outside outside;
  Saved training(outside, "foo");
  training.add_saver({.save_steps = 2});
  training.start_without_creation();
  Lines saved;
  for (int i = 0; i < 5; ++i) {
    training.run();
    saved.push_back(fmt::format(
        "{}", support::saved_step(outside.disk, latest_checkpoint(outside.disk, "run").value(), "foo/step")));
  }
  EXPECT_EQ(saved, (Lines{"1", "1", "3", "3", "5"}));
}

TEST(CheckpointSaverHook, B031_SavesEverySoManySteps) {
  Alone training;
  training.add_saver({.save_steps = 2});
  training.start_without_creation();
  Lines saved;
  for (int i = 0; i < 5; ++i) {
    training.run();
    saved.push_back(fmt::format("{}", training.saved()));
  }
  EXPECT_EQ(saved, (Lines{"1", "1", "3", "3", "5"}));
}

TEST(CheckpointSaverHook, B032_SavesAtTheEnd) {
  Alone training;
  training.add_saver({.save_secs = 2s});
  training.start();
  training.run(2);
  EXPECT_EQ(training.saved(), 0);
  training.end();
  EXPECT_EQ(training.saved(), 2);
}

TEST(CheckpointSaverHook, B037_B039_CountsStepsNotRuns) {
  Alone training;
  training.script.step_by = 5;
  training.add_saver({.save_steps = 10});
  training.start_without_creation();
  training.run();
  EXPECT_EQ(training.saved(), 5);
  training.run();
  EXPECT_EQ(training.saved(), 5);
  training.end();
  EXPECT_EQ(training.saved(), 10);
}

TEST(CheckpointSaverHook, B033_X40_WritesTheGraphOnceAndACheckpointRecordForEachSave) {
  Alone training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.run(5);
  training.create();  // a recovery without a step lost
  training.run();
  training.end();
  EXPECT_EQ(support::event_lines(training, "run"),
            (Lines{"graph", "meta_graph", "0 CHECKPOINT run/model.ckpt-0", "2 CHECKPOINT run/model.ckpt-2",
                   "4 CHECKPOINT run/model.ckpt-4", "5 CHECKPOINT run/model.ckpt-5", "6 CHECKPOINT run/model.ckpt-6"}))
      << "S17: the path is that of the checkpoint";
  EXPECT_EQ(support::files_with(training.disk, "run", "graph"), Lines{"graph.pbtxt"});
  EXPECT_NE(training.disk.contents("run/graph.pbtxt").find("global_step"), std::string::npos);
  EXPECT_EQ(support::files_with(training.disk, "run", ".meta").size(), 5U);
  const std::string meta = support::meta_graph_double(training.graph);
  EXPECT_EQ(training.disk.contents("run/model.ckpt-6.meta"), meta);
  for (const std::string& path : list_event_files(training.disk, "run")) {
    for (const Event& event : read_events(training.disk, path).events) {
      if (!event.meta_graph_def.empty()) { EXPECT_EQ(event.meta_graph_def, meta); }
    }
  }
}

TEST(CheckpointSaverHook, B036_WithoutSaveGraphDefThereIsNoGraphFileAndNoMeta) {
  Alone training;
  training.add_saver({.save_steps = 1, .save_graph_def = false});
  training.start();
  training.run();
  EXPECT_EQ(training.saved(), 1);
  EXPECT_EQ(support::files_with(training.disk, "run", "graph"), Lines{});
  EXPECT_EQ(support::files_with(training.disk, "run", ".meta"), Lines{});
}

TEST(CheckpointSaverHook, WritesTheCommandLineUnlessItIsToldNotTo) {
  for (const bool save_command_line : {true, false}) {
    Alone training;
    training.add_saver({.save_steps = 1, .save_command_line = save_command_line});
    training.start();
    training.run();
    const std::string record = training.disk.contents("run/run.pbtxt");
    EXPECT_EQ(record.find("command_line") != std::string::npos, save_command_line) << record;
    EXPECT_NE(record.find("graph_fingerprint"), std::string::npos);
  }
}

TEST(CheckpointSaverHook, X41_CallsAllListenersInOrderAndStopsIfOneAsks) {
  Alone training;
  const auto first = std::make_shared<support::RecordingListener>(training.told, "a");
  const auto second = std::make_shared<support::RecordingListener>(training.told, "b");
  first->stop_after = 3;
  training.add_saver({.save_steps = 3, .listeners = {first, second}});
  training.start();
  training.run(3);
  EXPECT_TRUE(training.should_stop());
  training.end();
  EXPECT_EQ(training.told->lines(),
            "a.begin\nb.begin\na.before_save 0\nb.before_save 0\na.after_save 0\nb.after_save 0\na.before_save "
            "3\nb.before_save "
            "3\na.after_save 3\nb.after_save 3\na.end 3\nb.end 3\n");
}

TEST(CheckpointSaverHook, S17_AListenersStopAtTheFirstSaveCounts) {
  Alone training;
  const auto listener = std::make_shared<support::RecordingListener>(training.told, "a");
  listener->stop_after = 0;
  training.add_saver({.save_steps = 3, .listeners = {listener}});
  training.start();
  EXPECT_TRUE(training.should_stop());
  training.services.start_session("run/model.ckpt-0");
  training.create();
  EXPECT_TRUE(training.should_stop()) << "a recovery does not save it again";
}

TEST(CheckpointSaverHook, X43_S17_DoesNotSaveAgainWhatWasRestored) {
  support::Outside outside;
  {
    Saved training(outside);
    training.add_saver({.save_steps = 5});
    training.start();
    training.run(7);
    training.end();
  }
  const std::string before = outside.disk.contents("run/model.ckpt-7.index");
  Saved resumed(outside);
  CheckpointSaverHook& hook = resumed.add_saver(
      {.save_steps = 5, .listeners = {std::make_shared<support::RecordingListener>(resumed.told, "a")}});
  resumed.restore_and_create("run/model.ckpt-7");
  EXPECT_EQ(hook.last_saved_step(), 7);
  EXPECT_EQ(resumed.told->lines(), "a.begin\n");
  resumed.run(5);
  EXPECT_EQ(resumed.told->lines(), "a.begin\na.before_save 12\na.after_save 12\n");
  EXPECT_EQ(resumed.checkpoints(),
            (Lines{"run/model.ckpt-0", "run/model.ckpt-5", "run/model.ckpt-7", "run/model.ckpt-12"}));
}

TEST(CheckpointSaverHook, ARestoredTrainingThatRunsNoStepLeavesEveryFileAsItIs) {
  support::Outside outside;
  {
    Saved training(outside);
    training.add_saver({.save_steps = 5});
    training.start();
    training.run(7);
    training.end();
  }
  const Lines files = outside.disk.list_directory("run");
  outside.advance_clock(100);
  Saved again(outside);
  again.add_saver({.save_steps = 5});
  again.restore_and_create("run/model.ckpt-7");
  again.end();
  EXPECT_EQ(outside.disk.list_directory("run"), files);
}

TEST(CheckpointSaverHook, S19_AlignedSavesAtMultiplesAfterAnInterruption) {
  support::Outside outside;
  {
    Saved training(outside);
    training.add_saver({.save_steps = 5});
    training.start();
    training.run(7);
    training.end();
  }
  Saved resumed(outside);
  resumed.add_saver({.save_steps = 5, .align_steps = true});
  resumed.restore_and_create("run/model.ckpt-7");
  resumed.run(9);
  EXPECT_EQ(resumed.checkpoints(), (Lines{"run/model.ckpt-0", "run/model.ckpt-5", "run/model.ckpt-7",
                                          "run/model.ckpt-10", "run/model.ckpt-15"}));
}

TEST(CheckpointSaverHook, S13_DoesNotSaveWhatACheckVetoesNotEvenAtTheEnd) {
  support::LogLines log;
  Alone training;
  float loss = 1;
  training.script.value("loss", [&] { return Tensor(loss); });
  training.add_saver({.save_steps = 2});
  training.add(NanTensorHook("loss", {.fail_on_nan_loss = false}));
  training.start();
  training.run();
  loss = std::numeric_limits<float>::quiet_NaN();
  training.run();
  EXPECT_TRUE(training.should_stop());
  training.end();
  EXPECT_EQ(training.saved(), 0);
  EXPECT_EQ(log.count("the model of step 2 is not saved: tensor 'loss' is NaN or infinite"), 1U);
  EXPECT_EQ(
      log.count("the newest checkpoint is that of step 0: hooks vetoed every save since (2), the last one because: "
                "tensor 'loss' is NaN or infinite"),
      1U);
}

TEST(CheckpointSaverHook, ARunWhoseEverySaveWasVetoedSaysSoAtItsEnd) {
  for (const bool by_error : {false, true}) {
    support::LogLines log;
    Alone training;
    training.services.set_save_veto([] { return std::optional<std::string>("not now"); });
    CheckpointSaverHook& hook = training.add_saver({.save_steps = 2});
    training.start();
    for (int i = 0; i < 4; ++i) training.run();
    EXPECT_EQ(log.count("vetoed"), 0U);
    if (by_error) {
      hook.abort(nullptr);
    } else {
      training.end();
    }
    EXPECT_EQ(log.count("W CheckpointSaverHook: this run has no checkpoint: hooks vetoed every save"), 1U);
    EXPECT_EQ(log.count(", the last one because: not now"), 1U);
  }
}

TEST(CheckpointSaverHook, VetoesBeforeTheLastCheckpointAreNoNews) {
  support::LogLines log;
  Alone training;
  bool vetoes = true;
  training.services.set_save_veto(
      [&] { return vetoes ? std::optional<std::string>("not now") : std::optional<std::string>(); });
  training.add_saver({.save_steps = 2});
  training.start();
  training.run();
  vetoes = false;
  training.run();
  training.end();
  EXPECT_EQ(log.count("vetoed"), 0U);
}

TEST(CheckpointSaverHook, S13_SavesAVetoedModelAsSoonAsItIsGoodAgain) {
  support::LogLines log;
  Alone training;
  float loss = 1;
  training.script.value("loss", [&] { return Tensor(loss); });
  training.add_saver({.save_steps = 2});
  training.add(NanTensorHook("loss"));
  training.start();
  loss = std::numeric_limits<float>::infinity();
  for (int i = 0; i < 3; ++i) EXPECT_THROW(training.run(), NanLossDuringTrainingError);
  loss = 1;
  training.run();
  EXPECT_EQ(training.saved(), 4);
}

TEST(CheckpointSaverHook, S18_AFailedSaveFailsTheRunAndIsTriedAgainAtTheEnd) {
  support::LogLines log;
  Alone training;
  FileWriterCache writers({.on_error = EventErrors::Throw, .file_system = &training.disk, .clock = &training.clock});
  training.services = detail::SessionServices(training.disk, training.clock, writers);
  const auto listener = std::make_shared<support::RecordingListener>(training.told, "a");
  CheckpointSaverHook& hook = training.add_saver({.save_steps = 2, .listeners = {listener}});
  training.start();
  training.run();
  (void)training.told->take();
  training.disk.set_capacity(100);
  EXPECT_THROW(training.run(), ResourceExhaustedError);
  EXPECT_EQ(hook.last_saved_step(), 0);
  EXPECT_EQ(training.saved(), 0) << "what was committed is untouched";
  training.disk.set_capacity(1'000'000);
  EXPECT_THROW(training.end(), ResourceExhaustedError) << "an event found no place either, and is told of last";
  EXPECT_EQ(training.saved(), 2);
  EXPECT_EQ(training.told->lines(),
            "a.before_save 2\na.save_failed 2: ResourceExhausted\na.before_save 2\na.after_save 2\na.end 2\n");
}

TEST(CheckpointSaverHook, S18_ToleratesAsManyFailuresInARowAsAllowed) {
  support::LogLines log;
  Alone training;
  training.add_saver({.save_steps = 1, .tolerated_save_failures = 2});
  training.start();
  training.disk.set_capacity(100);
  training.run(2);
  EXPECT_EQ(log.count("E CheckpointSaverHook: the checkpoint of step"), 2U);
  training.disk.set_capacity(1'000'000);
  training.run();
  EXPECT_EQ(training.saved(), 3);
  training.disk.set_capacity(100);
  training.run(2);
  EXPECT_THROW(training.run(), ResourceExhaustedError);
}

TEST(CheckpointSaverHook, TheFailureOfTheLastSaveIsThrownHoweverManyAreTolerated) {
  support::LogLines log;
  Alone training;
  const auto listener = std::make_shared<support::RecordingListener>(training.told, "a");
  CheckpointSaverHook& hook =
      training.add_saver({.save_steps = 100, .listeners = {listener}, .tolerated_save_failures = 5});
  training.start();
  training.run(5);
  training.disk.set_capacity(100);
  EXPECT_THROW(training.end(), ResourceExhaustedError);
  EXPECT_EQ(hook.last_saved_step(), 0);
  EXPECT_TRUE(training.told->lines().ends_with("a.before_save 5\na.save_failed 5: ResourceExhausted\na.end 5\n"));
  Saved next(static_cast<support::Outside&>(training));
  next.add_saver({.save_steps = 2});
  EXPECT_NO_THROW(next.begin()) << "the directory is free";
}

TEST(CheckpointSaverHook, CloseThrowsTheFailureOfTheLastSaveHoweverManyAreTolerated) {
  support::LogLines log;
  support::Outside outside;
  LoopSession loop;
  auto session = monitored_training_session(
      loop, {.checkpoint_dir = "run",
             .save_summaries_steps = 0,
             .log_step_count_steps = 0,
             .hooks = {CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .tolerated_save_failures = 5})},
             .file_system = &outside.disk,
             .clock = &outside.clock});
  outside.disk.set_capacity(100);
  for (int i = 0; i < 5; ++i) session.run([] {});
  EXPECT_THROW(session.close(), ResourceExhaustedError);
  EXPECT_EQ(support::newest_saved_step(outside.disk, "run"), 0);
}

TEST(CheckpointSaverHook, AFullDiskDoesNotEndARunThatToleratesFailedSaves) {
  support::LogLines log;
  support::Outside outside;
  LoopSession loop;
  auto session = monitored_training_session(
      loop, {.checkpoint_dir = "run",
             .save_summaries_steps = 1,
             .log_step_count_steps = 1,
             .hooks = {CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .tolerated_save_failures = 50})},
             .file_system = &outside.disk,
             .clock = &outside.clock});
  outside.disk.set_capacity(100);
  for (int i = 0; i < 9; ++i) session.run([&] { outside.advance_clock(1); });
  outside.disk.set_capacity(1'000'000);
  session.close();
  EXPECT_EQ(support::newest_saved_step(outside.disk, "run"), 9);
  EXPECT_EQ(log.count("The run continues"), 1U);
  EXPECT_EQ(log.count("events were lost, because"), 1U);
}

TEST(CheckpointSaverHook, S18_TheFailedSaveIsTheErrorWhateverListenersThrowAboutIt) {
  support::LogLines log;
  Alone training;
  const auto listener = std::make_shared<support::RecordingListener>(training.told, "a");
  listener->act["save_failed 1"] = [] { throw UnknownError("the listener fails"); };
  training.add_saver({.save_steps = 1, .listeners = {listener}});
  training.start();
  training.disk.set_capacity(100);
  EXPECT_THROW(training.run(), ResourceExhaustedError);
  EXPECT_EQ(log.count("E save_failed of listener 'RecordingListener' threw: Unknown: the listener fails"), 1U);
}

TEST(CheckpointSaverHook, EveryListenerEndsAndTheDirectoryIsFreeWhateverOneOfThemThrows) {
  support::LogLines log;
  support::Outside outside;
  Saved training(outside);
  const auto first = std::make_shared<support::RecordingListener>(training.told, "a");
  const auto second = std::make_shared<support::RecordingListener>(training.told, "b");
  first->act["end 0"] = [] { throw UnknownError("the listener fails"); };
  training.add_saver({.save_steps = 2, .listeners = {first, second}});
  training.start();
  (void)training.told->take();
  EXPECT_THROW(training.end(), UnknownError);
  EXPECT_EQ(training.told->lines(), "a.end 0\nb.end 0\n");
  Saved next(outside);
  next.add_saver({.save_steps = 2});
  EXPECT_NO_THROW(next.begin());
}

TEST(CheckpointSaverHook, EventsThatCouldNotBeWrittenAreTheErrorOfTheEnd) {
  support::LogLines log;
  Alone training;
  testing::FaultyFileSystem events_disk(training.disk);
  FileWriterCache writers({.on_error = EventErrors::Throw, .file_system = &events_disk, .clock = &training.clock});
  training.services = detail::SessionServices(training.disk, training.clock, writers);
  training.add_saver({.save_steps = 2});
  training.start();
  events_disk.fail_at(testing::FileOperation::Append, 1);
  writers.at("logs").add_scalar("loss", 1.0F, 1);
  training.run(2);
  EXPECT_EQ(training.saved(), 2) << "the checkpoint is committed all the same";
  EXPECT_THROW(training.end(), Error);
}

TEST(CheckpointSaverHook, AListenerThatFailsBeforeTheSaveFailsTheRun) {
  support::LogLines log;
  Alone training;
  const auto listener = std::make_shared<support::RecordingListener>(training.told, "a");
  listener->act["before_save 2"] = [] { throw UnknownError("the listener fails"); };
  training.add_saver({.save_steps = 2, .listeners = {listener}});
  training.start();
  training.run();
  EXPECT_THROW(training.run(), UnknownError);
  EXPECT_EQ(training.saved(), 0);
}

TEST(CheckpointSaverHook, S14_RefusesASecondSaverForOneDirectory) {
  Alone training;
  training.add_saver({.save_steps = 1});
  training.add_saver({.checkpoint_dir = "run/", .save_steps = 1, .checkpoint_basename = "other.ckpt"});
  try {
    training.begin();
    FAIL();
  } catch (const InvalidArgumentError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("model.ckpt"), std::string::npos) << message;
    EXPECT_NE(message.find("other.ckpt"), std::string::npos) << message;
  }
  Alone elsewhere;
  elsewhere.add_saver({.save_steps = 1});
  elsewhere.add_saver({.checkpoint_dir = "other", .save_steps = 1});
  elsewhere.start();
}

TEST(CheckpointSaverHook, S14_TheDirectoryIsFreeAgainWhenTheSessionHasEnded) {
  Alone training;
  const auto saver = std::make_shared<Saver>();
  CheckpointSaverHook first({.checkpoint_dir = "run", .save_steps = 1, .saver = saver});
  CheckpointSaverHook second({.checkpoint_dir = "run", .save_steps = 1, .saver = saver});
  detail::HookAccess::attach(first, training.services);
  detail::HookAccess::attach(second, training.services);
  first.begin(training.graph);
  EXPECT_THROW(second.begin(training.graph), InvalidArgumentError);
  first.abort(nullptr);
  EXPECT_NO_THROW(second.begin(training.graph));
}

/// A training whose disk has no locks.
struct Unlockable : support::Outside, Saved {
  Unlockable() : Saved(static_cast<support::Outside&>(*this)) {
    no_locks.set_callback([](testing::FileOperation operation, const std::string& path) {
      if (operation == testing::FileOperation::LockFile) throw UnimplementedError("cannot lock {}: no locks", path);
    });
    use_disk(no_locks);
  }
  void let_pass(double seconds) {
    advance_clock(seconds);
    disk.set_time(time += seconds);
  }
  [[nodiscard]] double refreshed() { return disk.modification_time("run/.checkpoint_lease"); }

  testing::LogLines log;
  testing::FaultyFileSystem no_locks{disk};
  double time = 0;
};

TEST(CheckpointSaverHook, OnADiskWithoutLocksALeaseIsRefreshedAtEachSaveAndEachMinute) {
  Unlockable training;
  training.add_saver({.save_steps = 4});
  training.start();
  std::vector<double> refreshed;
  for (int i = 0; i < 6; ++i) {
    training.let_pass(40);
    training.run();
    refreshed.push_back(training.refreshed());
  }
  EXPECT_EQ(refreshed, (std::vector<double>{40, 40, 120, 160, 200, 200}));
  training.end();
  EXPECT_EQ(training.saved(), 6);
  EXPECT_FALSE(training.disk.exists("run/.checkpoint_lease"));
}

TEST(CheckpointSaverHook, CommitsNothingIfAnotherMachineTakesTheDirectoryWhileTheDataIsWritten) {
  Unlockable training;
  testing::FaultyFileSystem slow(static_cast<FileSystem&>(training.no_locks));
  slow.set_callback([&](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::CreateWritable && path.find("model.ckpt-2.data") != std::string::npos)
      training.disk.write_file("run/.checkpoint_lease", "another's");
  });
  training.add_saver({.save_steps = 2, .saver = std::make_shared<Saver>(SaverOptions{.file_system = &slow})});
  training.start();
  const Lines before = training.disk.files();
  training.run();
  EXPECT_THROW(training.run(), FailedPreconditionError);
  EXPECT_EQ(training.disk.files(), before);
  EXPECT_THROW(training.end(), FailedPreconditionError);
}

TEST(CheckpointSaverHook, SavesNothingMoreIfAnotherMachineHasTakenTheDirectory) {
  Unlockable training;
  training.add_saver({.save_steps = 2, .tolerated_save_failures = 10});
  training.start();
  training.run(2);
  training.disk.write_file(
      "run/.checkpoint_lease",
      detail::holder_text(
          "lease", {.process = {.host = "elsewhere", .boot = "b", .pid = 17, .start = "1"}, .id = "00000000000000aa"}));
  const Lines before = training.disk.files();
  training.run(2);
  EXPECT_EQ(training.log.count("now belongs to process 17 on elsewhere"), 1U);
  EXPECT_THROW(training.end(), FailedPreconditionError);
  EXPECT_EQ(training.saved(), 2);
  EXPECT_EQ(training.disk.files(), before);
}

TEST(CheckpointSaverHook, TheDirectoryIsNotLockedOnRequest) {
  support::LogLines log;
  support::Outside outside;
  const auto train = [&](LoopSession& loop, DirectoryLock lock) {
    return monitored_training_session(loop, {.checkpoint_dir = "run",
                                             .save_checkpoint_steps = 2,
                                             .directory_lock = lock,
                                             .file_system = &outside.disk,
                                             .clock = &outside.clock});
  };
  LoopSession one;
  LoopSession two;
  auto first = train(one, DirectoryLock::Auto);
  EXPECT_THROW(static_cast<void>(train(two, DirectoryLock::Auto)), FailedPreconditionError);
  LoopSession three;
  auto third = train(three, DirectoryLock::None);
  third.close();
  first.close();
}

TEST(CheckpointSaverHook, S21_EventsAreInTheFileBeforeTheCheckpointIs) {
  support::Outside outside;
  struct Watch final : CheckpointSaverListener {
    std::function<void()> look;
    bool after_save(SessionRef, std::int64_t) override {
      look();
      return false;
    }
  };
  const auto watch = std::make_shared<Watch>();
  Lines seen;
  watch->look = [&] { seen = support::event_lines(outside, "logs"); };
  Saved training(outside);
  training.add_saver({.save_steps = 2, .listeners = {watch}});
  training.start();
  training.writers.at("logs").add_scalar("loss", 0.5, 1);
  training.run(2);
  EXPECT_EQ(seen, Lines{"1 loss=0.5"});
}

/// A disk on which each write of data takes two seconds, and their sync three.
struct SlowDisk {
  explicit SlowDisk(support::Outside& outside) : disk(outside.disk) {
    disk.set_callback([&outside](testing::FileOperation operation, const std::string& path) {
      if (path.find(".data") == std::string::npos) return;
      if (operation == testing::FileOperation::Append) outside.advance_clock(2);
      if (operation == testing::FileOperation::Sync) outside.advance_clock(3);
    });
  }
  testing::FaultyFileSystem disk;
  std::shared_ptr<Saver> saver = std::make_shared<Saver>(SaverOptions{.file_system = &disk});
};

TEST(CheckpointSaverHook, SaysWhatASaveCost) {
  const support::LogLines log;
  Alone training;
  training.script.variable("weights", Tensor(DType::Float, {1 << 18}));  // too large to wait for others before a write
  const SlowDisk slow(training);
  training.add_saver({.save_steps = 5, .saver = slow.saver});
  training.start();
  EXPECT_THAT(log.lines, ::testing::ElementsAre(
                             "I Saving checkpoints for 0 into run/model.ckpt.",
                             "I Saved run/model.ckpt-0: 1048584 bytes written in 4.000 s, synced in 3.000 s; the loop "
                             "waited 7.000 s."));
  EXPECT_THAT(testing::event_lines(training.disk, "run"),
              ::testing::Not(::testing::Contains(::testing::HasSubstr("checkpoint/"))));
}

TEST(CheckpointSaverHook, WritesWhatASaveCostAsScalarsIfItIsAsked) {
  Alone training;
  training.script.variable("weights", Tensor(DType::Float, {1 << 18}));  // too large to wait for others before a write
  const SlowDisk slow(training);
  training.add_saver({.save_steps = 5, .saver = slow.saver, .save_graph_def = false, .save_cost_summaries = true});
  training.start();
  training.run(5);
  training.end();
  std::vector<std::string> scalars = testing::event_lines(training.disk, "run");
  std::erase_if(scalars, [](const std::string& line) { return line.find("checkpoint/") == std::string::npos; });
  EXPECT_EQ(scalars, (Lines{"0 checkpoint/blocked_secs=7", "0 checkpoint/write_secs=4", "0 checkpoint/sync_secs=3",
                            "0 checkpoint/bytes=1048584", "5 checkpoint/blocked_secs=7", "5 checkpoint/write_secs=4",
                            "5 checkpoint/sync_secs=3", "5 checkpoint/bytes=1048584"}));
}

TEST(CheckpointSaverHook, RunsInTheLastPhase) {
  EXPECT_EQ(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1}).phase(), HookPhase::Save);
}

TEST(CheckpointSaverHook, X45_NeedsAGlobalStep) {
  Graph graph;
  CheckpointSaverHook hook({.checkpoint_dir = "run", .save_steps = 1});
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

TEST(CheckpointSaverHook, ReadsNoClockInAStepIfNothingIsDue) {
  Alone training;
  training.add_saver({.save_steps = 1'000});
  training.start();
  training.run();
  const int reads = training.clock.reads();
  training.run(10);
  EXPECT_EQ(training.clock.reads(), reads);
}

}  // namespace
}  // namespace trainhook
