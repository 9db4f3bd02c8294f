// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointInputPipelineHook when its files are lost, a directory is not found for a moment, or nothing is left to
/// run.
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::LogLines;
using support::Outside;
using testing::FileOperation;
using Numbers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// One process that takes 0, 1, 2, ..., an element at each step, and saves at every second step.
struct Life {
  explicit Life(Outside& around, FileSystem* files = nullptr)
      : outside(around), disk(files != nullptr ? files : &around.disk) {}

  Numbers run(int steps, bool killed = false) {
    LoopSession loop;
    Iterator& numbers = make_iterator(loop, Dataset::range(100));
    const auto saver = std::make_shared<Saver>(SaverOptions{.max_to_keep = 3});
    auto session = monitored_training_session(
        loop, {.checkpoint_dir = "run",
               .hooks = {LambdaHook({.end =
                                         [&](SessionRef) {
                                           if (looks_at_end) at_end.push_back(next(numbers));
                                         }}),
                         CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .saver = saver}),
                         CheckpointInputPipelineHook(), StopAtStepHook({.last_step = last_step})},
               .file_system = disk,
               .clock = &outside.clock});
    Numbers taken;
    for (int i = 0; i < steps && !session.should_stop(); ++i) session.run([&] { taken.push_back(next(numbers)); });
    if (killed)
      session.abort(nullptr);
    else
      session.close();
    return taken;
  }
  static std::int64_t next(Iterator& numbers) {
    Element element;
    numbers.get_next(element);
    return element.at(0).scalar<std::int64_t>();
  }

  Outside& outside;
  FileSystem* disk;
  std::int64_t last_step = 1'000;
  bool looks_at_end = false;
  Numbers at_end{};  // the element that the first hook takes in its `end`
};

Names files_of(Outside& outside, const std::string& checkpoint) {
  Names names = support::files_with(outside.disk, "run", checkpoint + ".");
  for (std::string& name : names) name = "run/" + name;
  return names;
}

TEST(CheckpointInputPipelineHookLost, TheModelGoesBackIfItsInputHasLostItsIndex) {
  enum class Lost { Index, IndexAndList, AllFiles };
  for (const Lost lost : {Lost::Index, Lost::IndexAndList, Lost::AllFiles}) {
    LogLines log;
    Outside outside;
    EXPECT_EQ(Life(outside).run(5, true), (Numbers{0, 1, 2, 3, 4}));  // saved at 0, 2 and 4
    for (const std::string& file : files_of(outside, "input.ckpt-4")) {
      if (lost == Lost::AllFiles || file.ends_with(".index")) outside.disk.remove_file(file);
    }
    if (lost == Lost::IndexAndList) outside.disk.remove_file("run/checkpoint_input");
    EXPECT_EQ(Life(outside).run(3), (Numbers{2, 3, 4}));
    EXPECT_EQ(log.count("W checkpoint run/model.ckpt-4 is skipped: the position of the input pipeline "
                        "at its step is damaged: run/input.ckpt-4.index does not exist"),
              1U);
  }
}

TEST(CheckpointInputPipelineHookLost, AnEarlierInputThatHasLostItsIndexIsSkippedWithAWarning) {
  LogLines log;
  Outside outside;
  EXPECT_EQ(Life(outside).run(5, true).size(), 5U);
  for (const std::string& file : files_of(outside, "input.ckpt-4")) outside.disk.remove_file(file);
  outside.disk.remove_file("run/checkpoint_input");  // so that step 4 counts as saved without the hook
  outside.disk.remove_file("run/input.ckpt-2.index");
  EXPECT_EQ(Life(outside).run(2), (Numbers{0, 1}));
  EXPECT_EQ(log.count("W input checkpoint run/input.ckpt-2 is skipped: run/input.ckpt-2.index does not exist"), 1U);
  EXPECT_EQ(log.count("the input continues from its position at step 0"), 1U);
}

/// Whatever is not found for a moment: a later life goes on with the element of its step.
TEST(CheckpointInputPipelineHookLost, ADirectoryThatIsNotFoundOnceDeletesNoPosition) {
  for (const FileOperation kind : {FileOperation::IsDirectory, FileOperation::ListDirectory}) {
    for (std::uint64_t n = 1;; ++n) {
      LogLines log;
      Outside outside;
      EXPECT_EQ(Life(outside).run(3, true).size(), 3U);
      testing::FaultyFileSystem disk(outside.disk);
      disk.fail_at(kind, n, ErrorCode::NotFound);
      try {
        static_cast<void>(Life(outside, &disk).run(5, true));
      } catch (const Error&) {}  // a save that cannot look may fail
      const std::string newest = latest_checkpoint(outside.disk, "run").value();
      const std::int64_t step = support::saved_step(outside.disk, newest);
      ASSERT_GE(step, 2);
      ASSERT_EQ(Life(outside).run(1), Numbers{step}) << testing::file_operation_name(kind) << ' ' << n;
      if (n > disk.count(kind)) break;
    }
  }
}

TEST(CheckpointInputPipelineHookLost, AFinishedRunThatIsStartedAgainRestoresItsInputBeforeEnd) {
  LogLines log;
  Outside outside;
  Life first(outside);
  first.last_step = 3;
  EXPECT_EQ(first.run(10), (Numbers{0, 1, 2}));
  Life again(outside);
  again.last_step = 3;
  again.looks_at_end = true;
  EXPECT_EQ(again.run(10), Numbers());
  EXPECT_EQ(again.at_end, Numbers{3});
}

/// A session that saves no model takes elements, or none.
Numbers take_alone(Outside& outside, int count) {
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(10));
  auto session = monitored_training_session(
      loop, {.hooks = {CheckpointInputPipelineHook({.checkpoint_dir = "data", .save_steps = 2})},
             .file_system = &outside.disk,
             .clock = &outside.clock});
  Numbers taken;
  for (int i = 0; i < count; ++i) session.run([&] { taken.push_back(Life::next(numbers)); });
  session.close();
  return taken;
}

TEST(CheckpointInputPipelineHookLost, AloneItSkipsAFileWithoutIndexAndSaysSo) {
  LogLines log;
  Outside outside;
  EXPECT_EQ(take_alone(outside, 4), (Numbers{0, 1, 2, 3}));
  outside.disk.remove_file("data/input.ckpt-4.index");
  EXPECT_EQ(take_alone(outside, 1), Numbers{2});
  EXPECT_EQ(log.count("W input checkpoint data/input.ckpt-4 is skipped: data/input.ckpt-4.index does not exist"), 1U);
}

TEST(CheckpointInputPipelineHookLost, AloneItDoesNotStartAnewIfAllItsFilesAreLost) {
  LogLines log;
  Outside outside;
  EXPECT_EQ(take_alone(outside, 4).size(), 4U);
  for (const std::string& name : support::files_with(outside.disk, "data", "input.ckpt"))
    outside.disk.remove_file("data/" + name);
  EXPECT_THROW(take_alone(outside, 1), DataLossError);
  outside.disk.remove_file("data/checkpoint_input");
  EXPECT_EQ(take_alone(outside, 1), Numbers{0});
}

TEST(CheckpointInputPipelineHookLost, AloneItSavesNothingIfNothingRan) {
  LogLines log;
  Outside outside;
  EXPECT_EQ(take_alone(outside, 4).size(), 4U);
  const Names before = support::files_with(outside.disk, "data", "input.ckpt");
  EXPECT_EQ(take_alone(outside, 0), Numbers());
  EXPECT_EQ(support::files_with(outside.disk, "data", "input.ckpt"), before);
  EXPECT_EQ(take_alone(outside, 1), Numbers{4});
}

}  // namespace
}  // namespace trainhook
