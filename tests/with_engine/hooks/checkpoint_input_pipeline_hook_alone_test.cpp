// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointInputPipelineHook in a session that saves no model: its own periods, its own files, and its newest one.
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/data/dataset.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::LogLines;
using support::Outside;
using Numbers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// Takes that many elements of 0, 1, 2, ... 9, in a process of its own whose end may be a kill.
Numbers take(Outside& outside, CheckpointInputPipelineHook hook, int count, bool killed = false,
             FileSystem* disk = nullptr) {
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(10));
  auto session = monitored_training_session(
      loop,
      {.hooks = {std::move(hook)}, .file_system = disk != nullptr ? disk : &outside.disk, .clock = &outside.clock});
  Numbers taken;
  Element element;
  for (int i = 0; i < count; ++i) {
    session.run([&] { numbers.get_next(element); });
    taken.push_back(element.at(0).scalar<std::int64_t>());
  }
  if (killed)
    session.abort(nullptr);
  else
    session.close();
  return taken;
}

Names indices(Outside& outside) {
  Names names = support::files_with(outside.disk, "data", "input");
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".index"); });
  return names;
}

CheckpointInputPipelineHook every_third() {
  return CheckpointInputPipelineHook({.checkpoint_dir = "data", .save_steps = 3});
}

TEST(CheckpointInputPipelineHookAlone, ContinuesFromItsPosition) {
  const LogLines log;
  Outside outside;
  EXPECT_EQ(take(outside, every_third(), 4), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(take(outside, every_third(), 2), (Numbers{4, 5}));
  EXPECT_EQ(log.count("Restored the input pipeline from data/input.ckpt-4."), 1U);
}

TEST(CheckpointInputPipelineHookAlone, ContinuesFromItsNewestFileAfterAKill) {
  const LogLines log;
  Outside outside;
  EXPECT_EQ(take(outside, every_third(), 5, true), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(indices(outside), (Names{"input.ckpt-0.index", "input.ckpt-3.index"}));
  EXPECT_EQ(take(outside, every_third(), 2), (Numbers{3, 4}));
}

TEST(CheckpointInputPipelineHookAlone, EachTaskHasItsOwnFiles) {
  const LogLines log;
  Outside outside;
  const detail::CheckpointTarget worker{
      .checkpoint_dir = "data", .save_steps = 100, .task_type = "worker", .task_id = 2, .num_worker_replicas = 3};
  take(outside, CheckpointInputPipelineHook(worker), 1);
  EXPECT_EQ(indices(outside), (Names{"input_worker_2.ckpt-0.index", "input_worker_2.ckpt-1.index"}));
  EXPECT_TRUE(outside.disk.exists("data/checkpoint_input_worker_2"));
}

TEST(CheckpointInputPipelineHookAlone, WantsOnePositivePeriod) {
  EXPECT_THROW(CheckpointInputPipelineHook({.checkpoint_dir = "data", .save_secs = 1s, .save_steps = 1}),
               InvalidArgumentError);
  EXPECT_THROW(CheckpointInputPipelineHook({.checkpoint_dir = "data", .save_steps = 0}), InvalidArgumentError);
}

TEST(CheckpointInputPipelineHookAlone, AStateFileThatCannotBeReadIsNotTakenForABeginning) {
  const LogLines log;
  Outside outside;
  take(outside, every_third(), 4);
  const Names before = indices(outside);
  testing::FaultyFileSystem faulty(outside.disk);
  faulty.set_callback([](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::OpenReadable && path == "data/checkpoint_input")
      throw PermissionDeniedError("cannot open {}", path);
  });
  EXPECT_THROW(take(outside, every_third(), 1, false, &faulty), PermissionDeniedError);
  EXPECT_EQ(indices(outside), before);
  EXPECT_EQ(take(outside, every_third(), 2), (Numbers{4, 5}));
}

/// On a disk without locks.
TEST(CheckpointInputPipelineHookAlone, KeepsItsLeaseAndCommitsNothingWithoutIt) {
  const LogLines log;
  Outside outside;
  testing::FaultyFileSystem no_locks(outside.disk);
  no_locks.fail_from(testing::FileOperation::LockFile, 1, ErrorCode::Unimplemented);
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(10));
  auto session = monitored_training_session(
      loop, {.hooks = {CheckpointInputPipelineHook({.checkpoint_dir = "data", .save_steps = 100})},
             .file_system = &no_locks,
             .clock = &outside.clock});
  Element element;
  const auto run = [&] { session.run([&] { numbers.get_next(element); }); };
  std::vector<double> refreshed;
  for (int i = 0; i < 4; ++i) {
    outside.advance_clock(40);
    outside.disk.set_time(40.0 * (i + 1));
    run();
    refreshed.push_back(outside.disk.modification_time("data/.checkpoint_lease"));
  }
  EXPECT_EQ(refreshed, (std::vector<double>{40, 40, 120, 120})) << "at the first run, then after a minute";
  const Names before = indices(outside);
  outside.disk.write_file("data/.checkpoint_lease", "another's");
  EXPECT_THROW(session.close(), FailedPreconditionError);
  EXPECT_EQ(indices(outside), before);
}

TEST(CheckpointInputPipelineHookAlone, TheDirectoryIsNotLockedOnRequest) {
  const LogLines log;
  Outside outside;
  outside.disk.make_directories("data");
  const std::unique_ptr<FileLock> held = outside.disk.lock_file("data/.checkpoint_lock");
  EXPECT_THROW(take(outside, every_third(), 1), FailedPreconditionError);
  const CheckpointInputPipelineHook::Options unlocked{
      .checkpoint_dir = "data", .save_steps = 3, .directory_lock = DirectoryLock::None};
  EXPECT_EQ(take(outside, CheckpointInputPipelineHook(unlocked), 1), Numbers{0});
}

}  // namespace
}  // namespace trainhook
