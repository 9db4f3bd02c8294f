// SPDX-License-Identifier: Apache-2.0
/// @file
/// TimeLimitHook: at which step it ends a run, whatever steps and saves take, and whom it asks for the limit.
#include <trainhook/watch/time_limit_hook.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "sanitized.hpp"
#include "temporary_folder.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::LogLines;
using testing::ManualClock;

/// A job on a clock set by hand: each step and each save takes what a function says.
struct Job {
  /// Time passes while a checkpoint is saved.
  struct Slow final : CheckpointSaverListener {
    explicit Slow(Job& owner) : job(&owner) {}
    void before_save(SessionRef /*session*/, std::int64_t /*global_step*/) override { job->clock.advance(job->save()); }
    Job* job;
  };

  /// Trains until the limit, or to the end. Returns why it ended.
  std::string train(TimeLimitHook limit, std::int64_t last_step = 1'000'000) {
    const LogLines quiet;
    LoopSession loop;
    float weight = 0;
    loop.variable("weight", weight);
    auto session = monitored_training_session(
        loop, {.checkpoint_dir = "run",
               .save_summaries_steps = 0,
               .log_step_count_steps = 0,
               .hooks = {std::move(limit), StopAtStepHook({.last_step = last_step}),
                         CheckpointSaverHook({.save_steps = save_steps, .listeners = {std::make_shared<Slow>(*this)}})},
               .file_system = &disk,
               .clock = &clock});
    while (!session.should_stop()) session.run([&] { clock.advance(step()); });
    std::string why = session.why_it_ended();
    session.close();
    lines = quiet.lines;
    last = loop.global_step();
    return why;
  }

  testing::MemoryFileSystem disk;
  ManualClock clock;
  std::function<Duration()> step = [] { return Duration(1s); };
  std::function<Duration()> save = [] { return Duration(3s); };
  std::int64_t save_steps = 10;
  std::int64_t last = 0;
  std::vector<std::string> lines;
};

TEST(TimeLimitHook, EndsWithACheckpointInTime) {
  Job job;
  const Duration started = job.clock.monotonic_now();
  EXPECT_EQ(job.train(TimeLimitHook({.max_time = 100s, .margin = 2s})), TimeLimitHook::kTimeLimit);
  // A step of 4 s at most with a save in it, twice a save of 3 s, and 2 s are kept free of 100 s.
  EXPECT_EQ(job.clock.monotonic_now() - started, 91s);
  EXPECT_TRUE(job.disk.exists("run/model.ckpt-67.index")) << job.last;
  EXPECT_THAT(job.lines,
              ::testing::Contains("I TimeLimitHook: training stops after step 67: 12 s are left, and 12 s are "
                                  "kept free for the next step, the last save and what follows."));
}

TEST(TimeLimitHook, TheNextRunResumes) {
  Job job;
  EXPECT_EQ(job.train(TimeLimitHook({.max_time = 50s})), TimeLimitHook::kTimeLimit);
  const std::int64_t first = job.last;
  EXPECT_GT(first, 10);
  EXPECT_EQ(job.train(TimeLimitHook({.max_time = 1h}), 60), "step 60 is reached");
  EXPECT_EQ(job.last, 60);
}

TEST(TimeLimitHook, AFunctionMayChangeTheLimit) {
  Job job;
  const Duration started = job.clock.monotonic_now();
  const auto left = [&]() -> std::optional<Duration> {
    const Duration passed(job.clock.monotonic_now() - started);
    if (passed < 1min) return Duration(70s - passed);
    if (passed < 3min) return std::nullopt;  // the limit is lifted,
    return Duration(5min - passed);          // and set again
  };
  EXPECT_EQ(job.train(TimeLimitHook({.time_left = left, .margin = 0s})), TimeLimitHook::kTimeLimit);
  EXPECT_LT(job.clock.monotonic_now() - started, 5min);
  EXPECT_GT(job.clock.monotonic_now() - started, 4min + 30s);
}

TEST(TimeLimitHook, RefusesWhatCannotBe) {
  const auto left = [] { return std::optional(Duration(1h)); };
  EXPECT_THROW(TimeLimitHook({.max_time = 1h, .time_left = left}), InvalidArgumentError);
  EXPECT_THROW(TimeLimitHook({.max_time = 0s}), InvalidArgumentError);
  EXPECT_THROW(TimeLimitHook({.max_time = -1s}), InvalidArgumentError);
  EXPECT_THROW(TimeLimitHook({.max_time = 1h, .margin = -1s}), InvalidArgumentError);
}

/// Random lengths of time, at most twice their median.
std::function<Duration()> random_times(std::mt19937& noise, Duration median) {
  return [&noise, median] {
    const double of_median = std::exp2(std::clamp(std::normal_distribution<double>(0, 0.5)(noise), -3.0, 1.0));
    return Duration(std::chrono::duration<double>(median) * of_median);
  };
}

TEST(TimeLimitHook, NoRandomRunIsTooLateOrWastesItsTime) {
  std::mt19937 noise(5);
  const auto between = [&noise](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(noise));
  };
  double unused = 0;
  for (int run = 0; run < (testing::kIsSanitized ? 50 : 1'000); ++run) {
    Job job;
    const Duration limit(std::chrono::duration<double>(between(3'600, 86'400)));
    const Duration step(std::chrono::duration<double>(limit) / between(300, 900));
    const Duration save(std::chrono::duration<double>(limit) / between(400, 10'000));
    job.step = random_times(noise, step);
    job.save = random_times(noise, save);
    job.save_steps = static_cast<std::int64_t>(between(5, 100));
    const Duration started = job.clock.monotonic_now();
    ASSERT_EQ(job.train(TimeLimitHook({.max_time = limit})), TimeLimitHook::kTimeLimit);
    const std::chrono::duration<double> left = limit - (job.clock.monotonic_now() - started);
    ASSERT_GE(left.count(), 0) << "run " << run;
    unused = (std::max)(unused, left / std::chrono::duration<double>(limit));
  }
  EXPECT_LE(unused, 0.03);
}

/// Sets a variable of the environment until the test ends.
class Environment {
 public:
  Environment(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { before_ ? ::setenv(name_.c_str(), before_->c_str(), 1) : ::unsetenv(name_.c_str()); }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

/// A job of Slurm: its `squeue` is a script that notes how it is called.
struct Slurm {
  void answer(const std::string& text) const {
    const std::string squeue = folder.file("squeue");
    std::ofstream(squeue, std::ios::trunc)
        << "#!/bin/sh\necho \"$@\" >>" << folder.file("calls") << "\necho " << text << '\n';
    std::filesystem::permissions(squeue, std::filesystem::perms::owner_all);
  }
  static std::string local(double wall_seconds) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::localtime(static_cast<std::time_t>(wall_seconds)));
  }
  static std::string path() {
    const char* const now = std::getenv("PATH");
    return now != nullptr ? now : "/usr/bin:/bin";
  }

  support::TemporaryFolder folder;
  Environment search{"PATH", folder.path() + ":" + path()};
  Environment id{"SLURM_JOB_ID", "17"};
};

TEST(TimeLimitHook, WithoutSlurmThereIsNoLimit) {
  ::unsetenv("SLURM_JOB_END_TIME");
  ::unsetenv("SLURM_JOB_ID");
  Job job;
  EXPECT_EQ(job.train(TimeLimitHook(), 30), "step 30 is reached");
  EXPECT_THAT(job.lines, ::testing::Contains("I TimeLimitHook: there is no limit, since this is no job of Slurm."));
}

TEST(TimeLimitHook, KnowsWhenAJobOfSlurmEnds) {
  Job job;
  const Environment end("SLURM_JOB_END_TIME",
                        std::to_string(static_cast<std::int64_t>(job.clock.wall_seconds()) + 100));
  EXPECT_EQ(job.train(TimeLimitHook()), TimeLimitHook::kTimeLimit);
  EXPECT_GT(job.last, 60);
  EXPECT_LT(job.last, 75);
}

TEST(TimeLimitHook, WhatSlurmDoesNotAnswerIsAsBefore) {
  Slurm slurm;
  const auto answer = [&](const std::string& text) { slurm.answer(text); };
  Job job;
  job.step = [] { return Duration(10s); };
  const double now = job.clock.wall_seconds();
  answer("N/A");  // not yet
  job.save = [&] {
    const bool is_known = job.clock.wall_seconds() > now + 1'000;
    answer(is_known ? "error" : Slurm::local(now + 3'000));
    return Duration(1s);
  };
  EXPECT_EQ(job.train(TimeLimitHook()), TimeLimitHook::kTimeLimit);
  const double took = job.clock.wall_seconds() - now;
  EXPECT_GT(took, 2'900);
  EXPECT_LT(took, 3'000);
  EXPECT_THAT(job.lines, ::testing::Contains(HasSubstr("W TimeLimitHook: Slurm does not say when the job ends")));
}

TEST(TimeLimitHook, AResumedRunSavesSoonToKnowWhatItTakes) {
  Job job;
  EXPECT_EQ(job.train(TimeLimitHook({.max_time = 50s})), TimeLimitHook::kTimeLimit);
  const std::int64_t first = job.last;
  job.save_steps = 1'000;
  EXPECT_EQ(job.train(TimeLimitHook({.max_time = 50s, .margin = 0s})), TimeLimitHook::kTimeLimit);
  EXPECT_TRUE(job.disk.exists("run/model.ckpt-" + std::to_string(first + 2) + ".index") ||
              job.disk.exists("run/model.ckpt-" + std::to_string(first + 1) + ".index"));
  EXPECT_TRUE(job.disk.exists("run/model.ckpt-" + std::to_string(job.last) + ".index"));
}

TEST(TimeLimitHook, AsksSlurmAgainSinceALimitCanBeChanged) {
  Slurm slurm;
  const auto answer = [&](double wall_seconds) { slurm.answer(Slurm::local(wall_seconds)); };
  Job job;
  job.step = [] { return Duration(10s); };
  const double now = job.clock.wall_seconds();
  const Environment end("SLURM_JOB_END_TIME",
                        std::to_string(static_cast<std::int64_t>(now) + 30));  // of the submission
  answer(now + 1'000);
  job.save = [&] {
    answer(now + 3'000);
    return Duration(1s);
  };
  EXPECT_EQ(job.train(TimeLimitHook()), TimeLimitHook::kTimeLimit);
  const double took = job.clock.wall_seconds() - now;
  EXPECT_GT(took, 2'900);
  EXPECT_LT(took, 3'000);
  std::ifstream calls(slurm.folder.file("calls"));
  std::string line;
  int count = 0;
  for (; std::getline(calls, line); ++count) EXPECT_EQ(line, "-h -j 17 -o %e");
  EXPECT_EQ(count, 5);  // at the beginning and every ten minutes
}

}  // namespace
}  // namespace trainhook
