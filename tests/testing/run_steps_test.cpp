// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of run_steps.
#include <trainhook/testing/run_steps.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::testing {
namespace {

/// What somebody outside might write: looks at a value, uses the disk and the clock of its session.
class Diary final : public SessionRunHook {
 public:
  explicit Diary(std::optional<Output> watched = std::nullopt) : watched_(watched) {}

  SessionRunArgs before_run(SessionRunContext& context) override {
    started_ = context.now();
    return watched_ ? SessionRunArgs{{*watched_}} : SessionRunArgs{};
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    steps.push_back(context.global_step());
    times.push_back(started_);
    if (watched_) seen.push_back(values.results[0].scalar<float>());
  }
  void end(SessionRef) override {
    services().file_system().make_directories("diary");
    ends_on = &services().file_system();
  }

  std::vector<std::int64_t> steps;
  std::vector<Duration> times;
  std::vector<float> seen;
  FileSystem* ends_on = nullptr;

 private:
  std::optional<Output> watched_;
  Duration started_{};
};

TEST(RunSteps, TracesTheWholeLifeOfAHook) {
  Diary diary;
  const Trace trace = run_steps(diary, {.steps = 2});
  EXPECT_EQ(trace.lines(), "begin\nafter_create_session\nbefore_run 0\nafter_run 0\nbefore_run 1\nafter_run 1\nend\n");
  EXPECT_EQ(diary.steps, (std::vector<std::int64_t>{1, 2}));
}

TEST(RunSteps, OfNoStepsBeginsAndEnds) {
  Diary diary;
  EXPECT_EQ(run_steps(diary, {.steps = 0}).lines(), "begin\nafter_create_session\nend\n");
  EXPECT_THROW(run_steps(diary, {.steps = -1}), InvalidArgumentError);
}

TEST(RunSteps, LendsTheHookTheGivenClockAndDisk) {
  ManualClock clock;
  MemoryFileSystem disk;
  Diary diary;
  const Duration start = clock.monotonic_now();
  run_steps(diary, {.steps = 3, .clock = &clock, .file_system = &disk, .before_step = [&](std::int64_t) {
                      clock.advance(std::chrono::seconds(2));
                    }});
  EXPECT_EQ(diary.times, (std::vector<Duration>{start + std::chrono::seconds(2), start + std::chrono::seconds(4),
                                                start + std::chrono::seconds(6)}));
  EXPECT_EQ(diary.ends_on, &disk);
  EXPECT_TRUE(disk.is_directory("diary"));
}

TEST(RunSteps, FetchesWhatTheScriptGives) {
  Script script;
  float value = 0;
  Diary diary(script.value("loss", [&] { return value; }));
  run_steps(diary, {.steps = 3, .script = &script, .before_step = [&](std::int64_t step) {
                      value = static_cast<float>(step) * 10;
                    }});
  EXPECT_EQ(diary.seen, (std::vector<float>{0, 10, 20}));
}

TEST(RunSteps, EndsEarlyIfTheHookAsksForIt) {
  const Trace trace = run_steps(StopAtStepHook({.last_step = 2}), {.steps = 5});
  EXPECT_EQ(trace.lines(), "begin\nafter_create_session\nbefore_run 0\nafter_run 0\nbefore_run 1\nafter_run 1\nend\n");
}

TEST(RunSteps, PassesOnWhatTheHookThrowsAndKeepsTheLines) {
  Script script;
  NanTensorHook hook(script.value("loss", [] { return std::numeric_limits<float>::quiet_NaN(); }));
  const auto trace = std::make_shared<Trace>();
  EXPECT_THROW(run_steps(hook, {.steps = 5, .script = &script, .trace = trace}), Error);
  EXPECT_TRUE(trace->lines().starts_with("begin\nafter_create_session\nbefore_run 0\nafter_run 0\non_run_failed 0: "))
      << trace->lines();
  EXPECT_NE(trace->lines().find("\nabort: "), std::string::npos) << trace->lines();
  EXPECT_EQ(trace->lines().find("end\n"), std::string::npos) << trace->lines();
}

TEST(RunSteps, ShowsARecovery) {
  Script script;
  script.throw_at(2, UnavailableError("gone"));
  Diary diary;
  EXPECT_EQ(run_steps(diary, {.steps = 2, .script = &script}).lines(),
            "begin\nafter_create_session\nbefore_run 0\nafter_run 0\n"
            "before_run 1\non_run_failed 1: Unavailable: gone\nafter_create_session\nbefore_run 2\nafter_run 2\nend\n");
}

TEST(RunSteps, DoesNotRecoverIfThePolicyForbidsIt) {
  Script script;
  script.throw_at(1, UnavailableError("gone"));
  Diary diary;
  EXPECT_THROW(run_steps(diary, {.script = &script, .retry = {.max_attempts = 0}}), UnavailableError);
}

TEST(RunSteps, ATracedHookKeepsItsPhaseNameStateAndVeto) {
  const auto lines = std::make_shared<Trace>();
  RecordingHook hook(lines, {.name = "mine", .phase = HookPhase::Save, .veto = "not now"});
  detail::TracedHook traced(hook, lines);
  EXPECT_EQ(traced.phase(), HookPhase::Save);
  EXPECT_EQ(traced.name(), "mine");
  EXPECT_EQ(traced.veto_save(), "not now");
  Diary nameless;
  EXPECT_EQ(detail::TracedHook(nameless, lines).name(), "Diary");
}

}  // namespace
}  // namespace trainhook::testing
