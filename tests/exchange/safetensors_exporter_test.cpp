// SPDX-License-Identifier: Apache-2.0
/// @file
/// SafetensorsExporter: what its file holds, and that no save notices it.
#include <trainhook/exchange/safetensors_exporter.hpp>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/exchange/safetensors_reader.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "expect_error.hpp"
#include "training_double.hpp"

namespace trainhook {
namespace {

using support::Outside;
using support::TrainingDouble;
using ::testing::ElementsAre;
using testing::FaultyFileSystem;
using testing::FileOperation;
using testing::LogLines;
using testing::MemoryFileSystem;

/// Trains to step 7 with a checkpoint every 3 steps; `weight` is the step. Calls `in_step` in each one.
template <class SaverHook>
void train(
    MemoryFileSystem& disk, std::shared_ptr<CheckpointSaverListener> listener,
    const std::function<void(float step)>& in_step = [](float) {}) {
  std::vector<float> weight(1);
  LoopSession loop;
  loop.variable("net/weight", weight);
  SaverHook saver({.checkpoint_dir = "run",
                   .save_steps = 3,
                   .saver = std::make_shared<Saver>(SaverOptions{.max_to_keep = 1}),
                   .listeners = {std::move(listener)}});
  auto session = monitored_training_session(loop, {.checkpoint_dir = "run",
                                                   .save_checkpoint_secs = {},
                                                   .hooks = {std::move(saver), StopAtStepHook({.last_step = 7})},
                                                   .file_system = &disk});
  run_until_stop(session, [&] { session.run([&] { in_step(weight[0] += 1); }); });
}

float weight_in(MemoryFileSystem& disk, const std::string& path) {
  return read_safetensors(path, {.file_system = &disk}).at("weight").data<float>()[0];
}

TEST(SafetensorsExporter, HasTheLastCheckpointWhenTheSessionHasEnded) {
  MemoryFileSystem disk;
  const auto exporter = std::make_shared<SafetensorsExporter>(
      "out/model.safetensors", SafetensorsOptions{.rename = {{"net/", ""}}, .file_system = &disk});
  train<CheckpointSaverHook>(disk, exporter);
  EXPECT_EQ(weight_in(disk, "out/model.safetensors"), 7);
}

TEST(SafetensorsExporter, FollowsAnAsynchronousSaver) {
  MemoryFileSystem disk;
  const auto exporter = std::make_shared<SafetensorsExporter>(
      "model.safetensors", SafetensorsOptions{.rename = {{"net/", ""}}, .file_system = &disk});
  train<AsyncCheckpointSaverHook>(disk, exporter);
  EXPECT_EQ(weight_in(disk, "model.safetensors"), 7);
}

TEST(SafetensorsExporter, LetsTrainingAndSavesGoOnWhileItWrites) {
  MemoryFileSystem disk;
  FaultyFileSystem slow(disk);
  std::promise<void> go_on;
  const std::shared_future<void> released = go_on.get_future().share();
  slow.set_callback([&](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::CreateWritable && path.starts_with("model.safetensors")) released.wait();
  });
  const LogLines log;
  train<CheckpointSaverHook>(
      disk,
      std::make_shared<SafetensorsExporter>("model.safetensors",
                                            SafetensorsOptions{.rename = {{"net/", ""}}, .file_system = &slow}),
      [&](float step) {
        if (step != 7) return;
        EXPECT_EQ(latest_checkpoint(disk, "run"), "run/model.ckpt-6");
        EXPECT_FALSE(disk.exists("model.safetensors"));
        go_on.set_value();
      });
  EXPECT_GE(log.count("is left out of model.safetensors, because that of step"), 1u);
  EXPECT_EQ(weight_in(disk, "model.safetensors"), 7);
}

TEST(SafetensorsExporter, LogsAnErrorAndFailsNoSave) {
  MemoryFileSystem disk;
  FaultyFileSystem faulty(disk);
  faulty.set_callback([](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::CreateWritable && path.starts_with("model.safetensors"))
      throw ResourceExhaustedError("the disk is full");
  });
  const LogLines log;
  train<CheckpointSaverHook>(
      disk, std::make_shared<SafetensorsExporter>("model.safetensors", SafetensorsOptions{.file_system = &faulty}));
  EXPECT_EQ(latest_checkpoint(disk, "run"), "run/model.ckpt-7");
  EXPECT_GE(
      log.count("SafetensorsExporter: model.safetensors keeps its contents, because run/model.ckpt-7 could not be "
                "exported: ResourceExhausted: the disk is full"),
      1u);
  EXPECT_FALSE(disk.exists("model.safetensors"));
}

TEST(SafetensorsExporter, LogsThatThereIsNothingToExport) {
  MemoryFileSystem disk;
  const LogLines log;
  const SafetensorsExporter exporter("m", {.file_system = &disk});
  exporter({.step = 1, .prefix = "gone"});
  exporter.wait();
  EXPECT_EQ(log.count("SafetensorsExporter: m keeps its contents, because gone could not be exported: NotFound"), 1u);
}

TEST(SafetensorsExporter, RefusesShards) {
  testing::expect_error({"m is replaced again and again", "max_shard_size"},
                        [] { const SafetensorsExporter exporter("m", {.max_shard_size = 1}); });
}

TEST(SafetensorsExporter, HoldsTheBestCheckpointThoughLaterOnesAreKept) {
  Outside outside;
  TrainingDouble training(outside);
  const SafetensorsExporter exporter("best.safetensors", {.file_system = &outside.disk});
  training.add(BestCheckpointHook({.keep = 5, .directory = "best", .on_best = exporter}));
  training.start();
  std::vector<std::int64_t> exported;
  for (const double loss : {3.0, 1.0, 2.0}) {
    training.services.publish("eval/loss", {training.step() + 1, loss});
    training.run();
    exporter.wait();
    exported.push_back(
        read_safetensors("best.safetensors", {.file_system = &outside.disk}).at("global_step").scalar<std::int64_t>());
  }
  EXPECT_THAT(exported, ElementsAre(1, 2, 2));
}

}  // namespace
}  // namespace trainhook
