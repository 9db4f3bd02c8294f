// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hooks that do something periodically: a run that is killed after any of its steps and goes on does it at the same
/// steps as one that was not.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

constexpr std::int64_t kLastStep = 24;

/// What was done, and at which step; doing it again after a kill counts once.
using Trace = std::set<std::string>;

/// A hook as a user writes it.
class EveryFiveSteps final : public SessionRunHook {
 public:
  explicit EveryFiveSteps(Trace& trace) : trace_(&trace) {}

  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    const std::int64_t step = context.global_step();
    if (often_.should_trigger_for_step(step, context)) {
      often_.update_last_triggered_step(step, context);
      trace_->insert(fmt::format("often {}", step));
    }
    if (seldom_.trigger_if_due(step, context)) trace_->insert(fmt::format("seldom {}", step));
  }

 private:
  Trace* trace_;
  SecondOrStepTimer often_{*this, {.every_steps = 5}};
  SecondOrStepTimer seldom_{*this, {.every_steps = 7}};
};

/// Trains to the last step, or is killed after `killed_after` runs.
void train(testing::MemoryFileSystem& disk, Trace& trace, int killed_after) {
  struct Killed {};
  float weight = 0;
  LoopSession loop;
  loop.variable("weight", weight);
  summary::scalar("weight", loop.value("weight_now", [&] { return weight; }));
  const auto logged = [&trace](const std::string& hook) {
    return [&trace, hook](std::span<const NamedTensor> values) {
      std::string line = fmt::format("{} {}", hook, values[0].tensor.scalar<float>());
      trace.insert(line);
      return line;
    };
  };
  try {
    auto session = monitored_training_session(
        loop, {.checkpoint_dir = "run",
               .save_checkpoint_steps = 1,
               .save_summaries_steps = 5,
               .log_step_count_steps = 0,
               .hooks = {StopAtStepHook({.last_step = kLastStep}), EveryFiveSteps(trace),
                         LoggingTensorHook({"weight"}, {.every_n_iter = 5, .formatter = logged("iterations")}),
                         LoggingTensorHook({"weight"}, {.every_n_steps = 7, .formatter = logged("steps")})},
               .file_system = &disk});
    for (int run = 0; !session.should_stop(); ++run) {
      if (run == killed_after) throw Killed();
      session.run([&] { weight += 1; });
    }
    session.close();
  } catch (const Killed&) {  // nothing is saved on the way out
  }
}

/// With the summaries that are on the disk.
Trace with_files(testing::MemoryFileSystem& disk, Trace trace) {
  for (const std::string& file : disk.files()) {
    if (file.find("tfevents") == std::string::npos) continue;
    for (const Event& event : read_events(disk, file).events) {
      if (!event.values.empty()) trace.insert(fmt::format("summary {}", event.step));
    }
  }
  return trace;
}

TEST(ResumedHooks, DoTheSameAfterAKillAtAnyStep) {
  testing::MemoryFileSystem whole_disk;
  Trace whole;
  train(whole_disk, whole, -1);
  whole = with_files(whole_disk, whole);
  EXPECT_TRUE(whole.contains("often 21"));
  for (int killed_after = 1; killed_after < kLastStep; ++killed_after) {
    testing::MemoryFileSystem disk;
    Trace trace;
    train(disk, trace, killed_after);
    train(disk, trace, -1);
    EXPECT_EQ(with_files(disk, trace), whole) << "killed after " << killed_after;
  }
}

}  // namespace
}  // namespace trainhook
