// SPDX-License-Identifier: Apache-2.0
/// @file
/// KeepRule: which checkpoints each rule keeps, and several together; what a saver with rules leaves on the disk, in
/// one process and in several.
#include <trainhook/checkpoint/keep_rule.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using detail::KeepCandidate;
using Rules = std::vector<KeepRule>;
using Steps = std::vector<std::int64_t>;

/// The steps that stay of checkpoints that were saved every ten minutes.
Steps kept(const Rules& rules, const Steps& steps, const std::vector<std::optional<double>>& values = {}) {
  std::vector<KeepCandidate> all;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::optional<double> value = i < values.size() ? values[i] : std::nullopt;
    all.push_back({.step = steps[i],
                   .time = 600.0 * static_cast<double>(i + 1),
                   .values = std::vector<std::optional<double>>(rules.size(), value)});
  }
  const std::vector<bool> stays = detail::kept_by(rules, all);
  Steps result;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (stays[i]) result.push_back(steps[i]);
  }
  return result;
}

TEST(KeepRule, LatestNKeepsTheNewest) {
  EXPECT_EQ(kept({LatestN(2)}, {0, 10, 20, 30}), (Steps{20, 30}));
  EXPECT_EQ(kept({LatestN(9)}, {0, 10}), (Steps{0, 10}));
  EXPECT_EQ(kept({LatestN(1)}, {}), Steps{});
}

TEST(KeepRule, EveryNStepsKeepsTheFirstOfEachPeriod) {
  EXPECT_EQ(kept({EveryNSteps(100)}, {0, 40, 80, 120, 160, 200, 240, 280}), (Steps{0, 120, 200, 280}))
      << "and the newest";
}

TEST(KeepRule, EveryNSecondsKeepsTheFirstOfEachPeriod) {
  EXPECT_EQ(kept({EveryNSeconds(1h)}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}), (Steps{1, 6, 12, 13}));
}

TEST(KeepRule, BestNKeepsThoseWithTheBestMetric) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::optional<double>> losses{0.5, 0.2, std::nullopt, 0.3, nan, 0.2, 0.9};
  const Steps steps{1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(kept({BestN(2, "eval/loss")}, steps, losses), (Steps{2, 6, 7}));
  EXPECT_EQ(kept({BestN(1, "eval/loss")}, steps, losses), (Steps{2, 7})) << "of equal ones the earlier";
  EXPECT_EQ(kept({BestN(2, "eval/loss", Better::Higher)}, steps, losses), (Steps{1, 7}));
}

TEST(KeepRule, SeveralKeepWhatAnyOfThemKeeps) {
  EXPECT_EQ(kept({LatestN(2), EveryNSteps(50), BestN(1, "loss")}, {0, 10, 20, 30, 60, 70, 80}, {3, 2, 1, 2, 2, 2, 2}),
            (Steps{0, 20, 60, 70, 80}));
}

TEST(KeepRule, RefusesWhatCannotBe) {
  EXPECT_THROW(LatestN(0), InvalidArgumentError);
  EXPECT_THROW(EveryNSteps(0), InvalidArgumentError);
  EXPECT_THROW(EveryNSeconds(0s), InvalidArgumentError);
  EXPECT_THROW(EveryNSeconds(999ms), InvalidArgumentError);
  EXPECT_THROW(BestN(0, "loss"), InvalidArgumentError);
  EXPECT_THROW(BestN(1, ""), InvalidArgumentError);
  EXPECT_THROW(Saver({.max_to_keep = 3, .keep = {LatestN(3)}}), InvalidArgumentError);
  EXPECT_THROW(Saver({.keep_checkpoint_every_n_hours = 2, .keep = {LatestN(3)}}), InvalidArgumentError);
}

/// A process that saves a loop by rules.
struct Saving {
  Saving(FileSystem& files, testing::ManualClock& time, Rules rules)
      : clock(time), saver({.keep = KeepRules(std::move(rules)), .file_system = &files, .clock = &time}) {
    loop.variable("weight", weight);
    loop.open();
  }
  void save(std::int64_t step) {
    clock.advance(10min);
    saver.save(loop, {.save_path = "run/model.ckpt", .global_step = step});
  }
  testing::ManualClock& clock;
  float weight = 0;
  LoopSession loop;
  Saver saver;
};

/// What a process that keeps all has left.
void save_all(FileSystem& disk, testing::ManualClock& clock, const Steps& steps) {
  Saving process(disk, clock, {LatestN(9)});
  for (const std::int64_t step : steps) process.save(step);
}

std::vector<std::string> on_disk(FileSystem& disk) { return checkpoints_on_disk(disk, "run"); }

TEST(KeepRule, ASaverGoesOnWhereAnotherProcessEnded) {
  const testing::LogLines log;
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  for (std::int64_t step = 0; step <= 120; step += 10) {
    Saving process(disk, clock, {LatestN(2), EveryNSteps(50)});
    process.save(step);
  }
  EXPECT_EQ(on_disk(disk), (std::vector<std::string>{"run/model.ckpt-0", "run/model.ckpt-50", "run/model.ckpt-100",
                                                     "run/model.ckpt-110", "run/model.ckpt-120"}));
  EXPECT_EQ(get_checkpoint_state(disk, "run")->all_model_checkpoint_paths.size(), 5U);
  EXPECT_EQ(log.count("I Removed run/model.ckpt-10: no rule of `keep` keeps it."), 1U);
}

TEST(KeepRule, OtherRulesOfALaterProcessHoldForWhatIsThere) {
  const testing::LogLines quiet;
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  save_all(disk, clock, {0, 10, 20, 30, 40});
  Saving second(disk, clock, {LatestN(1)});
  second.save(50);
  EXPECT_EQ(on_disk(disk), std::vector<std::string>{"run/model.ckpt-50"});
}

TEST(KeepRule, TheOrderInWhichAKilledProcessListedDoesNotCount) {
  const testing::LogLines quiet;
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  save_all(disk, clock, {1'000, 1'500, 2'000});
  CheckpointState state = *get_checkpoint_state(disk, "run");  // what goes, then what stays
  std::swap(state.all_model_checkpoint_paths[0], state.all_model_checkpoint_paths[1]);
  std::swap(state.all_model_checkpoint_timestamps[0], state.all_model_checkpoint_timestamps[1]);
  update_checkpoint_state(disk, "run", std::move(state));
  Saving second(disk, clock, {LatestN(1), EveryNSteps(1'000)});
  second.saver.tidy("run/model.ckpt");
  EXPECT_EQ(on_disk(disk), (std::vector<std::string>{"run/model.ckpt-1000", "run/model.ckpt-2000"}));
}

TEST(KeepRule, ABestCheckpointThatCannotBeReadNowStays) {
  const testing::LogLines log;
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  save_all(disk, clock, {0, 10, 20});
  testing::FaultyFileSystem faulty(disk);
  faulty.set_callback([](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::OpenReadable && path.ends_with("-10.index"))
      throw UnavailableError("{} cannot be read now", path);
  });
  Saving second(faulty, clock, {LatestN(1), BestN(1, "loss")});
  second.saver.tidy("run/model.ckpt");
  EXPECT_EQ(on_disk(disk), (std::vector<std::string>{"run/model.ckpt-10", "run/model.ckpt-20"}));
  faulty.set_callback(nullptr);
  second.saver.tidy("run/model.ckpt");
  EXPECT_EQ(on_disk(disk), std::vector<std::string>{"run/model.ckpt-20"});
  EXPECT_EQ(
      std::ranges::count_if(
          log.lines, [](const std::string& line) { return line.find("W BestN: neither run/model.ckpt-20 nor") == 0; }),
      1);
}

TEST(KeepRule, ASaverTidiesUpAfterAKilledProcess) {
  const testing::LogLines quiet;
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  save_all(disk, clock, {0, 10, 20, 30, 40});
  Saving second(disk, clock, {LatestN(2)});
  second.saver.tidy("run/model.ckpt");
  EXPECT_EQ(on_disk(disk), (std::vector<std::string>{"run/model.ckpt-30", "run/model.ckpt-40"}));
}

}  // namespace
}  // namespace trainhook
