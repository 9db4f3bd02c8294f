// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProfilerHook: which runs it traces, and what it leaves behind.
#include <trainhook/engine/profiler_hook.hpp>
#include <trainhook/io/whole_file.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

// Hooks are moved into a list.
static_assert(std::is_nothrow_move_constructible_v<ProfilerHook> && !std::is_copy_constructible_v<ProfilerHook>);

struct Profiled : support::Process {
  explicit Profiled(ProfilerHook::Options options) {
    options.output_dir = "run";
    add(ProfilerHook(std::move(options)));
    start();
  }
  Lines timelines() { return support::files_with(disk, "run", "timeline-"); }
};

/// Writes down at which level each run was traced.
struct TraceLevels final : SessionRunHook {
  std::vector<int> seen;
  void after_run(SessionRunContext& /*context*/, const SessionRunValues& values) override {
    seen.push_back(static_cast<int>(values.options->trace_level));
  }
};

TEST(ProfilerHook, B064_B065_X31_RefusesBadOptions) {
  EXPECT_THROW(ProfilerHook({.save_steps = 10, .save_secs = 20s}), InvalidArgumentError);
  EXPECT_THROW(ProfilerHook({.output_dir = "run"}), InvalidArgumentError);
  EXPECT_THROW(ProfilerHook({.save_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(ProfilerHook({.save_secs = -1s}), InvalidArgumentError);
}

TEST(ProfilerHook, B066_B068_NeverTracesTheFirstRun) {
  Profiled every_step({.save_steps = 1});
  every_step.run();
  EXPECT_EQ(every_step.timelines(), Lines{});
  Profiled every_two_seconds({.save_secs = 2s});
  every_two_seconds.run();
  EXPECT_EQ(every_two_seconds.timelines(), Lines{});
}

TEST(ProfilerHook, B069_TracesEverySoManySteps) {
  Profiled training({.save_steps = 2});
  std::vector<std::size_t> counts;
  for (int run = 0; run < 5; ++run) {
    training.run();
    counts.push_back(training.timelines().size());
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{0, 1, 1, 2, 2}));
  EXPECT_EQ(training.timelines(), (Lines{"timeline-2.json", "timeline-4.json"}));
}

TEST(ProfilerHook, TracesEverySoManySecondsFromTheFirstRunOn) {
  Profiled training({.save_secs = 2s});
  for (int run = 0; run < 6; ++run) {
    training.advance_clock(1);
    training.run();
  }
  EXPECT_EQ(training.timelines(), (Lines{"timeline-3.json", "timeline-5.json"}));
}

TEST(ProfilerHook, AsksForATraceOfThoseRunsOnly) {
  support::Process training;
  training.add(ProfilerHook({.save_steps = 2}));
  const auto levels = std::make_shared<TraceLevels>();
  training.add(levels);
  training.start();
  training.run(5);
  EXPECT_EQ(levels->seen, (std::vector<int>{0, 3, 0, 3, 0}));
}

TEST(ProfilerHook, WritesATimelineAndRunMetadataOfWhatWasRun) {
  Profiled training({.save_steps = 2});
  training.run(2);
  training.end();
  const std::string name(training.script.train().name());
  const std::string timeline = read_file(training.disk, "run/timeline-2.json");
  EXPECT_NE(timeline.find("\"args\":{\"name\":\"" + name + "\""), std::string::npos) << timeline;
  const Lines events = support::event_lines(training, "run");
  EXPECT_EQ(events, Lines{"2 run_metadata step_2"});
}

TEST(ProfilerHook, S27_OpensNoEventFileBeforeThereIsAProfile) {
  Profiled training({.save_steps = 2});
  training.run();
  training.end();
  EXPECT_FALSE(training.disk.exists("run"));
}

TEST(ProfilerHook, S27_ProfilesAStepAgainAfterARecovery) {
  Profiled training({.save_steps = 2});
  training.run(3);
  training.set_step(0);
  training.create();
  training.run(3);
  training.set_step(0);
  training.create();
  training.run(3);
  training.end();
  EXPECT_EQ(training.timelines(), Lines{"timeline-2.json"});
  EXPECT_EQ(support::event_lines(training, "run"),
            (Lines{"2 run_metadata step_2", "2 run_metadata step_2_1", "2 run_metadata step_2_2"}));
}

TEST(ProfilerHook, ARunThatFailsIsNotProfiled) {
  Profiled training({.save_steps = 2});
  training.script.throw_at(2, AbortedError("preempted"));
  training.run();
  EXPECT_THROW(training.run(), AbortedError);
  EXPECT_EQ(training.timelines(), Lines{});
  training.run();
  EXPECT_EQ(training.timelines(), Lines{"timeline-2.json"});
}

TEST(ProfilerHook, X45_NeedsAGlobalStep) {
  Graph graph;
  ProfilerHook hook({.save_steps = 1});
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

TEST(ProfilerHook, AFullDiskCostsTheTimelineAndNotTheRun) {
  support::LogLines log;
  Profiled training({.save_steps = 1});
  training.run();
  training.disk.set_capacity(0);
  training.run();
  EXPECT_EQ(training.timelines(), Lines{});
  EXPECT_EQ(log.count("W ProfilerHook: run/timeline-2.json could not be written"), 1U);
  training.end();
  EXPECT_EQ(log.count("1 of 1 events were lost"), 1U);
}

TEST(ProfilerHook, SaysThatItsPeriodWasNeverOver) {
  support::LogLines log;
  Profiled too_long({.save_steps = 100});
  too_long.run(5);
  too_long.end();
  EXPECT_EQ(log.lines, Lines{"W ProfilerHook: no run was traced, since the training ended before the first period did; "
                             "give a smaller save_steps"});
}

TEST(ProfilerHook, SaysNothingOfAPeriodOnceARunWasTraced) {
  support::LogLines log;
  Profiled training({.save_steps = 3});
  training.run(5);
  training.create();  // a recovery
  training.run(1);
  training.end();
  EXPECT_EQ(log.lines, Lines{"I Saving timeline for 3 into 'run/timeline-3.json'."});
}

}  // namespace
}  // namespace trainhook
