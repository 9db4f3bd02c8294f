// SPDX-License-Identifier: Apache-2.0
/// @file
/// AsyncCheckpointSaverHook: what its files contain, who is told when, and that no failure is lost.
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/process_faults.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using Lines = std::vector<std::string>;
using Options = AsyncCheckpointSaverHook::Options;

/// Blocks each thread that passes it while it is closed.
class Gate {
 public:
  void close() { set(true); }
  void open() { set(false); }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !closed_; });
  }
  void wait_for_arrival() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_ > 0; });
  }

 private:
  void set(bool closed) {
    const std::scoped_lock lock(mutex_);
    closed_ = closed;
    arrived_ = 0;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  int arrived_ = 0;
};

/// Training whose saver writes through a gate, which a test closes to hold a save.
struct Training : support::Process {
  Training() {
    slow_disk.set_callback([this](testing::FileOperation operation, const std::string&) {
      if (operation != testing::FileOperation::CreateWritable) return;
      writing_thread = std::this_thread::get_id();
      gate.pass();
    });
  }
  ~Training() {
    gate.open();
    if (hook != nullptr) hook->wait_until_written();
  }

  AsyncCheckpointSaverHook& add_saver(Options options) {
    options.checkpoint_dir = "run";
    options.saver = std::make_shared<Saver>(SaverOptions{.file_system = &slow_disk});
    if (options.listeners.empty()) options.listeners = {listener};
    hook = std::make_shared<AsyncCheckpointSaverHook>(std::move(options));
    add(hook);
    return *hook;
  }
  void run_and_wait(int times = 1) {
    run(times);
    hook->wait_until_written();
  }
  [[nodiscard]] std::int64_t saved(std::int64_t step) {
    return support::saved_step(disk, fmt::format("run/model.ckpt-{}", step));
  }
  [[nodiscard]] Lines checkpoints() { return checkpoints_on_disk(disk, "run"); }

  support::LogLines log;
  testing::FaultyFileSystem slow_disk{disk};
  Gate gate;
  std::thread::id writing_thread;
  std::shared_ptr<testing::Trace> told = std::make_shared<testing::Trace>();
  std::shared_ptr<support::RecordingListener> listener = std::make_shared<support::RecordingListener>(told, "a");
  std::shared_ptr<AsyncCheckpointSaverHook> hook;
};

TEST(AsyncCheckpointSaverHook, A01_SavesTheLastStepAndTellsListeners) {
  Training training;
  training.script.step_by = 5;
  training.add_saver({.save_steps = 5, .overlap = SaveOverlap::Wait});
  training.start();
  training.run(20);
  training.end();
  EXPECT_EQ(support::newest_saved_step(training.disk, "run"), 100);
  EXPECT_LE(support::files_with(training.disk, "run", ".meta").size(), 10U);
  const std::string told = training.told->lines();
  EXPECT_EQ(std::ranges::count(told, '\n'), 2 + 2 * 21) << "begin, end, and two for each of 21 saves";
}

TEST(AsyncCheckpointSaverHook, SaysWhatASaveCostAndThatTheLoopDidNotWaitForTheDisk) {
  Training training;
  training.slow_disk.set_callback([&training](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::Sync && path.find(".data") != std::string::npos) training.advance_clock(3);
  });
  training.add_saver({.save_steps = 5});
  training.start();
  training.hook->wait_until_written();
  training.run(1);
  EXPECT_EQ(training.log.lines.back(),
            "I Saved run/model.ckpt-0: 8 bytes written in 0.000 s, synced in 3.000 s; the loop waited 0.000 s.");
}

/// A disk that holds a writing thread before it has done anything at all.
void hold(testing::FaultyFileSystem& disk, Gate& gate) {
  disk.set_callback([&gate, loop = std::this_thread::get_id()](testing::FileOperation, const std::string&) {
    if (std::this_thread::get_id() != loop) gate.pass();
  });
}

TEST(AsyncCheckpointSaverHook, S28_TheFileHoldsTheStateOfItsStepThoughTrainingWentOn) {
  Training training;
  training.script.variable("weights", Tensor::of<float>({0, 0}));
  const Operation train = training.script.operation("train", [&] {
    training.set_step(training.step() + 1);
    for (float& weight : training.model.variable("weights").mutable_data<float>()) weight += 1;
  });
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  Gate start;
  training.slow_disk.set_callback([&](testing::FileOperation, const std::string&) {
    training.writing_thread = std::this_thread::get_id();
    start.pass();
  });
  training.run(train);
  start.close();
  training.run(train);
  start.wait_for_arrival();
  for (int i = 0; i < 3; ++i) training.run(train);
  start.open();
  training.hook->wait_until_written();
  const BundleReader reader("run/model.ckpt-2", {.file_system = &training.disk});
  EXPECT_EQ(reader.get_tensor("weights"), Tensor::of<float>({2, 2}));
  EXPECT_EQ(training.saved(2), 2);
  EXPECT_NE(training.writing_thread, std::this_thread::get_id());
}

/// All files of one checkpoint, with their bytes.
std::map<std::string, std::string> files_of(testing::MemoryFileSystem& disk, const std::string& prefix) {
  std::map<std::string, std::string> files;
  for (const std::string& path : disk.files()) {
    if (path.starts_with(prefix + ".")) files[path] = disk.contents(path);
  }
  return files;
}

/// A loop whose every step changes all of its memory.
struct Changing {
  Changing() {
    session.variable("weights", weights);
    session.variable("count", count);
    session.state("noise", noise);
    weights.front() = 1;
  }
  void step() {
    for (float& weight : weights) weight = weight * 1.5F + static_cast<float>(noise() % 1000);
    ++count;
  }
  std::vector<float> weights = std::vector<float>(100'000);
  std::int64_t count = 0;
  std::mt19937_64 noise{7};
  LoopSession session;
};

MonitoredSession<LoopSession> train(Changing& loop, FileSystem& disk, Clock& clock,
                                    std::shared_ptr<AsyncCheckpointSaverHook> hook) {
  return monitored_training_session(loop.session, {.checkpoint_dir = "run",
                                                   .save_summaries_steps = 0,
                                                   .log_step_count_steps = 0,
                                                   .hooks = {std::move(hook)},
                                                   .file_system = &disk,
                                                   .clock = &clock});
}

TEST(AsyncCheckpointSaverHook, S28_EveryByteOfTheFilesIsThatOfTheStepInTheirName) {
  const std::int64_t last = 4;
  const auto make_hook = [&] {
    return std::make_shared<AsyncCheckpointSaverHook>(Options{.checkpoint_dir = "run", .save_steps = last});
  };
  support::LogLines log;
  support::Outside quiet;
  {
    Changing loop;
    const auto hook = make_hook();
    auto session = train(loop, quiet.disk, quiet.clock, hook);
    hook->wait_until_written();
    for (int i = 0; i < last; ++i) session.run([&] { loop.step(); });
    hook->wait_until_written();  // before anything more is trained
    session.close();
  }
  support::Outside outside;
  testing::FaultyFileSystem disk(outside.disk);
  Gate gate;
  Changing loop;
  const auto hook = make_hook();
  auto session = train(loop, disk, outside.clock, hook);
  hook->wait_until_written();
  hold(disk, gate);
  for (int i = 0; i + 1 < last; ++i) session.run([&] { loop.step(); });
  gate.close();
  session.run([&] { loop.step(); });
  gate.wait_for_arrival();
  const std::vector<float> at_the_step = loop.weights;
  for (int i = 0; i < 3; ++i) session.run([&] { loop.step(); });  // the writer has not done anything yet
  EXPECT_FALSE(outside.disk.exists("run/model.ckpt-4.index"));
  EXPECT_NE(loop.weights, at_the_step);
  gate.open();
  hook->wait_until_written();
  const auto files = files_of(outside.disk, "run/model.ckpt-4");
  EXPECT_EQ(files.size(), 2U) << "data and index";
  EXPECT_TRUE(files == files_of(quiet.disk, "run/model.ckpt-4")) << "a byte differs";
  const std::string& data = files.at("run/model.ckpt-4.data-00000-of-00001");
  const std::string weights(reinterpret_cast<const char*>(at_the_step.data()), at_the_step.size() * sizeof(float));
  EXPECT_NE(data.find(weights), std::string::npos);
  session.close();
}

TEST(AsyncCheckpointSaverHook, S28_CallsListenersOnTheLoopsThreadAndAfterTheCommitOnly) {
  Training training;
  struct Watch final : CheckpointSaverListener {
    std::function<bool()> is_committed;
    std::vector<std::thread::id> threads;
    std::vector<bool> committed;
    void before_save(SessionRef, std::int64_t) override { threads.push_back(std::this_thread::get_id()); }
    bool after_save(SessionRef, std::int64_t) override {
      threads.push_back(std::this_thread::get_id());
      committed.push_back(is_committed());
      return false;
    }
  };
  const auto watch = std::make_shared<Watch>();
  watch->is_committed = [&] { return training.disk.exists("run/model.ckpt-0.index"); };
  training.add_saver({.save_steps = 100, .listeners = {watch}});
  training.gate.close();
  training.start();
  training.gate.wait_for_arrival();
  training.run();
  EXPECT_TRUE(watch->committed.empty());
  training.gate.open();
  training.run_and_wait();
  training.run();
  EXPECT_EQ(watch->committed, std::vector<bool>{true});
  for (const std::thread::id thread : watch->threads) EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST(AsyncCheckpointSaverHook, TellsTheWholeStoryInOrder) {
  Training training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  for (int i = 0; i < 5; ++i) training.run_and_wait();
  training.end();
  EXPECT_EQ(training.told->lines(),
            "a.begin\na.before_save 0\na.after_save 0\na.before_save 2\na.after_save 2\na.before_save 4\na.after_save "
            "4\na.before_save "
            "5\na.after_save 5\na.end 5\n");
  EXPECT_EQ(support::event_lines(training, "run"),
            (Lines{"graph", "meta_graph", "0 CHECKPOINT run/model.ckpt-0", "2 CHECKPOINT run/model.ckpt-2",
                   "4 CHECKPOINT run/model.ckpt-4", "5 CHECKPOINT run/model.ckpt-5"}));
}

TEST(AsyncCheckpointSaverHook, X55_S28_SkipsASaveWhileOneIsRunningAndMakesItAsSoonAsThatIsDone) {
  Training training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run();
  training.gate.close();
  training.run();
  training.gate.wait_for_arrival();
  training.run(4);  // 4 and 6 would have been due
  training.gate.open();
  training.hook->wait_until_written();
  EXPECT_EQ(training.log.count("W AsyncCheckpointSaverHook: skipping the checkpoint of step 4"), 1U);
  EXPECT_EQ(training.log.count("skipping"), 1U) << "said once, not at every step";
  training.run_and_wait();
  EXPECT_EQ(training.checkpoints(), (Lines{"run/model.ckpt-0", "run/model.ckpt-2", "run/model.ckpt-7"}))
      << "the skipped save has not moved the timer";
  training.end();
  EXPECT_EQ(training.checkpoints().size(), 3U);
}

TEST(AsyncCheckpointSaverHook, X55_TheEndWaitsForTheSaveThatIsRunningAndSavesTheLastStep) {
  Training training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run();
  training.gate.close();
  training.run(2);
  training.gate.wait_for_arrival();
  std::thread opener([&] { training.gate.open(); });
  training.end();
  opener.join();
  EXPECT_EQ(training.checkpoints(), (Lines{"run/model.ckpt-0", "run/model.ckpt-2", "run/model.ckpt-3"}));
  EXPECT_TRUE(training.told->lines().ends_with("a.end 3\n"));
}

TEST(AsyncCheckpointSaverHook, WaitsForTheWriterIfToldTo) {
  Training training;
  training.add_saver({.save_steps = 1, .overlap = SaveOverlap::Wait});
  training.start();
  training.run(4);
  training.end();
  EXPECT_EQ(training.checkpoints().size(), 5U);
}

TEST(AsyncCheckpointSaverHook, ReplacesAWaitingSaveByANewerOneIfToldTo) {
  Training training;
  training.add_saver({.save_steps = 1, .overlap = SaveOverlap::Replace});
  training.start();
  training.hook->wait_until_written();
  training.gate.close();
  training.run();
  training.gate.wait_for_arrival();
  training.run(3);
  training.gate.open();
  training.hook->wait_until_written();
  EXPECT_EQ(training.checkpoints(), (Lines{"run/model.ckpt-0", "run/model.ckpt-1", "run/model.ckpt-4"}));
  EXPECT_EQ(training.saved(4), 4);
  training.end();
  EXPECT_EQ(
      training.told->lines(),
      "a.begin\na.before_save 0\na.after_save 0\na.before_save 1\na.before_save 2\na.before_save 3\na.save_failed 2: "
      "Cancelled\na.before_save 4\na.save_failed 3: Cancelled\na.after_save 1\na.after_save 4\na.end 4\n");
}

TEST(AsyncCheckpointSaverHook, X56_S28_AFailedSaveReachesTheNextRun) {
  Training training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run();
  training.slow_disk.fail_at(testing::FileOperation::Sync, 1);
  training.run_and_wait();
  EXPECT_EQ(training.hook->last_saved_step(), 0) << "the failed step does not count as saved";
  EXPECT_THROW(training.run(), ResourceExhaustedError);
  EXPECT_TRUE(training.told->lines().ends_with("a.save_failed 2: ResourceExhausted\n"));
  training.run_and_wait();
  training.run();
  EXPECT_EQ(training.hook->last_saved_step(), 4);
}

TEST(AsyncCheckpointSaverHook, X56_S28_AFailedSaveReachesTheEndWhichTriesAgain) {
  Training training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run();
  training.slow_disk.fail_at(testing::FileOperation::Sync, 1);
  training.run_and_wait();
  EXPECT_THROW(training.end(), ResourceExhaustedError);
  EXPECT_EQ(training.saved(2), 2);
  EXPECT_TRUE(training.told->lines().ends_with("a.end 2\n"));
}

TEST(AsyncCheckpointSaverHook, S18_ToleratedFailuresOnlyLeaveALogLine) {
  Training training;
  training.add_saver({.save_steps = 2, .tolerated_save_failures = 1});
  training.start();
  training.hook->wait_until_written();
  training.run();
  training.slow_disk.fail_at(testing::FileOperation::Sync, 1);
  training.run_and_wait();
  training.run();
  EXPECT_EQ(training.log.count("E AsyncCheckpointSaverHook: the checkpoint of step 2 could not be saved"), 1U);
  training.end();
  EXPECT_EQ(support::newest_saved_step(training.disk, "run"), 3);
}

TEST(AsyncCheckpointSaverHook, TheFailureOfTheLastSaveIsThrownHoweverManyAreTolerated) {
  for (const bool in_background : {false, true}) {
    Training training;
    training.add_saver({.save_steps = in_background ? 5 : 100, .tolerated_save_failures = 5});
    training.start();
    training.hook->wait_until_written();
    training.slow_disk.fail_from(1, ErrorCode::ResourceExhausted);
    training.run_and_wait(5);
    EXPECT_THROW(training.end(), ResourceExhaustedError) << in_background;
    EXPECT_EQ(training.hook->last_saved_step(), 0);
    EXPECT_TRUE(training.told->lines().ends_with("a.save_failed 5: ResourceExhausted\na.end 5\n"));
  }
}

TEST(AsyncCheckpointSaverHook, OnADiskWithoutLocksTheLeaseIsConfirmedBeforeEachCommit) {
  Training training;
  testing::FaultyFileSystem no_locks(training.disk);
  no_locks.set_callback([](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::LockFile) throw UnimplementedError("cannot lock {}: no locks", path);
  });
  training.use_disk(no_locks);
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.disk.set_time(100);
  training.run_and_wait(2);
  EXPECT_EQ(training.disk.modification_time("run/.checkpoint_lease"), 100);
  training.disk.write_file("run/.checkpoint_lease", "another's");
  training.run_and_wait(2);
  EXPECT_THROW(training.run(), FailedPreconditionError);
  EXPECT_EQ(training.checkpoints(), (Lines{"run/model.ckpt-0", "run/model.ckpt-2"}));
  EXPECT_THROW(training.end(), FailedPreconditionError);
}

TEST(AsyncCheckpointSaverHook, S28_AListenersStopCounts) {
  Training training;
  training.listener->stop_after = 2;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run_and_wait(2);
  EXPECT_FALSE(training.should_stop()) << "not known before the next hook call";
  training.run();
  EXPECT_TRUE(training.should_stop());
}

TEST(AsyncCheckpointSaverHook, S28_AListenersStopHoldsIfTheRecoveryIsNotBehindItsCheckpoint) {
  Training training;
  training.listener->stop_after = 2;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run_and_wait(2);
  training.run();
  training.services.start_session("run/model.ckpt-2");
  training.set_step(2);
  training.create();
  EXPECT_TRUE(training.should_stop()) << "it is not asked about this checkpoint again";
  training.services.start_session("run/model.ckpt-0");
  training.set_step(0);
  training.create();
  EXPECT_FALSE(training.should_stop());
}

TEST(AsyncCheckpointSaverHook, S28_ARecoveryWaitsForTheSaveThatIsRunning) {
  Training training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run();
  training.gate.close();
  training.run();
  training.gate.wait_for_arrival();
  training.script.before_each_run = [&] {
    training.script.before_each_run = nullptr;
    throw AbortedError("gone");
  };
  std::thread opener([&] { training.gate.open(); });
  EXPECT_THROW(training.run(), AbortedError);
  training.services.wait_for_background_saves();
  EXPECT_TRUE(training.disk.exists("run/model.ckpt-2.index")) << "so that it is what the recovery restores";
  opener.join();
  training.services.start_session("run/model.ckpt-2");
  training.create();
  EXPECT_TRUE(training.told->lines().ends_with("a.after_save 2\n"));
  EXPECT_EQ(training.hook->last_saved_step(), 2);
}

/// The save is that of step 2.
void abort_during_a_save_that_fails(Training& training) {
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run();
  training.slow_disk.fail_at(testing::FileOperation::Sync, 1);
  training.run();
  training.hook->abort(nullptr);
}

TEST(AsyncCheckpointSaverHook, S7_AbortFinishesTheSaveThatIsRunningAndNeverThrows) {
  Training training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run(2);
  training.hook->abort(nullptr);
  EXPECT_EQ(training.saved(2), 2);
  Training failing;
  abort_during_a_save_that_fails(failing);
  EXPECT_EQ(failing.log.count("E AsyncCheckpointSaverHook: the checkpoint of step 2 could not be saved"), 1U);
}

TEST(AsyncCheckpointSaverHook, ListenersHearOfASaveThatEndsWithTheRun) {
  Training training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run(2);
  training.hook->abort(std::make_exception_ptr(UnknownError("of the step")));
  EXPECT_TRUE(training.told->lines().ends_with("a.before_save 2\na.after_save 2\n")) << training.told->lines();
  EXPECT_EQ(training.services.newest_checkpoint(), "run/model.ckpt-2");

  Training failing;
  abort_during_a_save_that_fails(failing);
  EXPECT_TRUE(failing.told->lines().ends_with("a.save_failed 2: ResourceExhausted\n")) << failing.told->lines();
}

TEST(AsyncCheckpointSaverHook, ListenersHearOfASaveIfTheNextStepEndsTheRun) {
  support::Outside outside;
  const auto told = std::make_shared<testing::Trace>();
  const auto train = [&] {
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    auto session = monitored_training_session(
        loop,
        {.checkpoint_dir = "run",
         .hooks = {AsyncCheckpointSaverHook({.checkpoint_dir = "run",
                                             .save_steps = 1,
                                             .listeners = {std::make_shared<support::RecordingListener>(told, "a")},
                                             .overlap = SaveOverlap::Wait})},
         .file_system = &outside.disk,
         .clock = &outside.clock});
    session.run([] {});
    session.run([] { throw UnknownError("of the step"); });
  };
  EXPECT_THROW(train(), UnknownError);
  EXPECT_TRUE(told->lines().ends_with("a.before_save 1\na.after_save 1\n")) << told->lines();
}

TEST(AsyncCheckpointSaverHook, ListenersHearNothingOfASessionThatIsGone) {
  Training training;
  training.add_saver({.save_steps = 2});
  training.start();
  training.hook->wait_until_written();
  training.run(2);
  training.services.set_session({});
  training.hook->abort(nullptr);
  EXPECT_TRUE(training.told->lines().ends_with("a.before_save 2\n")) << training.told->lines();
}

TEST(AsyncCheckpointSaverHook, FinishesTheSaveThatIsRunningBeforeItIsDestroyed) {
  support::LogLines log;
  support::Process training;
  auto hook = std::make_shared<AsyncCheckpointSaverHook>(
      Options{.checkpoint_dir = "run", .save_steps = 1, .saver = std::make_shared<Saver>()});
  detail::HookAccess::attach(*hook, training.services);
  hook->begin(training.graph);
  Coordinator coordinator;
  hook->after_create_session(training.model, coordinator);
  hook.reset();
  EXPECT_EQ(support::newest_saved_step(training.disk, "run"), 0);
}

/// Waits for each save.
class PatientSaverHook : public AsyncCheckpointSaverHook {
 public:
  using AsyncCheckpointSaverHook::AsyncCheckpointSaverHook;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    AsyncCheckpointSaverHook::after_run(context, values);
    wait_until_written();
  }
};

TEST(AsyncCheckpointSaverHook, CanBeDerivedFrom) {
  support::LogLines log;
  support::Process training;
  const auto hook = make_hook<PatientSaverHook>(
      {.checkpoint_dir = "run", .save_steps = 1, .saver = std::make_shared<Saver>(), .overlap = SaveOverlap::Wait});
  training.add(hook);
  training.start();
  training.set_step(1);
  training.run(training.nothing);
  EXPECT_EQ(support::newest_saved_step(training.disk, "run"), 1);
}

TEST(AsyncCheckpointSaverHook, B020_B021_X31_X45_RefusesWhatTheOtherRefuses) {
  EXPECT_THROW(AsyncCheckpointSaverHook({.checkpoint_dir = "run"}), InvalidArgumentError);
  EXPECT_THROW(AsyncCheckpointSaverHook({.save_steps = 0}), InvalidArgumentError);
  Graph graph;
  AsyncCheckpointSaverHook hook({.checkpoint_dir = "run", .save_steps = 1});
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

TEST(AsyncCheckpointSaverHook, WithoutAThreadSavesInTheLoop) {
  const testing::NoThreads no_threads;
  if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
  Training training;
  training.add_saver({.save_steps = 1});
  training.start();
  training.run(3);
  EXPECT_EQ(support::newest_saved_step(training.disk, "run"), 3);
  EXPECT_EQ(training.writing_thread, std::this_thread::get_id());
  training.end();
  EXPECT_EQ(training.log.count("W a background save cannot start a thread: "), 1U);
}

/// Lets threads start again in the middle of a save.
struct Relieved final : CheckpointSaverListener {
  void before_save(SessionRef, std::int64_t) override { no_threads.reset(); }
  std::optional<testing::NoThreads> no_threads;
};

TEST(AsyncCheckpointSaverHook, ASaveThatBeganWithoutAThreadEndsInTheLoopAlsoIfThereIsOneByThen) {
  const auto relieved = std::make_shared<Relieved>();
  relieved->no_threads.emplace();
  if (!relieved->no_threads->works()) GTEST_SKIP() << "this C library cannot refuse threads";
  Training training;
  training.add_saver({.save_steps = 1, .listeners = {relieved}});
  training.start();  // saves; by the next save the thread writes
  EXPECT_EQ(training.writing_thread, std::this_thread::get_id()) << "it reads the model itself, which goes on";
  training.run_and_wait(1);
  EXPECT_NE(training.writing_thread, std::this_thread::get_id());
  training.end();
}

}  // namespace
}  // namespace trainhook
