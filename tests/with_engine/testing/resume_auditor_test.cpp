// SPDX-License-Identifier: Apache-2.0
/// @file
/// A trainer that resumes exactly passes the audit; one that forgets a part of its state does not, and the part is
/// named.
#include <trainhook/testing/resume_auditor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sanitized.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>

namespace trainhook {
namespace {

using ::testing::AllOf;
using testing::audit_resume;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Interruption;
using ::testing::IsEmpty;
using testing::ResumeAudit;
using ::testing::SizeIs;

/// What a careless author forgets.
enum class Forgotten { Nothing, Velocity, Slot, Noise, Input, Hook, Timer, Buffer };

/// Adds up what it sees, and keeps the sum over restarts unless it forgets.
class SumHook final : public SessionRunHook {
 public:
  SumHook(const float& weight, bool forgets) : weight_(&weight), forgets_(forgets) {}

  void after_run(SessionRunContext&, const SessionRunValues&) override { sum_ += *weight_; }
  std::string name() const override { return "sum"; }

  StateValues save_state() override {
    StateValues state;
    state.set("sum", Tensor(sum_));
    return state;
  }
  void load_state(const StateValues& state) override {
    if (!forgets_) sum_ = state.at("sum").scalar<float>();
  }

 private:
  const float* weight_;
  bool forgets_;
  float sum_ = 0;
};

/// Counts every third step, with a timer that is made with the hook unless the author forgets.
class ThirdStepsHook final : public SessionRunHook {
 public:
  explicit ThirdStepsHook(bool forgets)
      : timer_(forgets ? SecondOrStepTimer({.every_steps = 3}) : SecondOrStepTimer(*this, {.every_steps = 3})) {}

  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (!timer_.trigger_if_due(context.global_step(), context)) return;
    last_ = context.global_step();
  }
  std::string name() const override { return "third_steps"; }

  StateValues save_state() override {
    StateValues state;
    state.set("last", Tensor(last_));
    return state;
  }
  void load_state(const StateValues& state) override { last_ = state.at("last").scalar<std::int64_t>(); }

 private:
  SecondOrStepTimer timer_;
  std::int64_t last_ = 0;
};

/// Trains twelve steps and saves every four.
void train(FileSystem& disk, Forgotten forgotten) {
  testing::ManualClock clock;
  std::vector<float> weights(2);
  float velocity = 0;
  std::array<float, 4> window{};  // a shuffle buffer of one's own
  float window_sum = 0;           // of what has left it
  std::mt19937_64 noise(3);
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(20).shuffle(7, 5).repeat(), "numbers");
  loop.variable("weights", weights);
  if (forgotten == Forgotten::Slot) {  // saved, and not loaded
    loop.state(
        "velocity", [&] { return Tensor(velocity); }, [](const Tensor&) {});
  } else if (forgotten != Forgotten::Velocity) {
    loop.variable("velocity", velocity);
  }
  if (forgotten != Forgotten::Buffer) loop.variable("window", window);
  loop.variable("window_sum", window_sum);
  if (forgotten != Forgotten::Noise) loop.state("noise", noise);
  summary::scalar("weight", loop.value("weight", [&] { return weights[0]; }));
  MonitoredTrainingSessionOptions options{.checkpoint_dir = "run",
                                          .save_checkpoint_steps = 4,
                                          .save_summaries_steps = 1,
                                          .hooks = {StopAtStepHook({.last_step = 12})},
                                          .file_system = &disk,
                                          .clock = &clock};
  options.hooks.push_back(SumHook(weights[0], forgotten == Forgotten::Hook));
  options.hooks.push_back(ThirdStepsHook(forgotten == Forgotten::Timer));
  if (forgotten != Forgotten::Input) options.hooks.push_back(CheckpointInputPipelineHook());
  auto session = monitored_training_session(loop, options);
  while (!session.should_stop()) {
    session.run([&] {
      Element element;
      numbers.get_next(element);
      const std::int64_t number = element[0].scalar<std::int64_t>();
      velocity = 0.5F * velocity + static_cast<float>(number);
      weights[0] += velocity;
      window_sum += std::exchange(window[static_cast<std::size_t>(number) % window.size()], velocity);
      weights[1] += static_cast<float>(noise() % 100);
    });
  }
  session.close();
}

constexpr std::uint64_t kEvery = testing::kIsSanitized ? 11 : 3;

ResumeAudit audit(Forgotten forgotten, std::vector<Interruption> interruptions = {Interruption::Kill}) {
  const testing::LogLines quiet;
  return audit_resume([forgotten](FileSystem& disk) { train(disk, forgotten); },
                      {.interruptions = std::move(interruptions), .every = kEvery, .power_losses = 2});
}

TEST(ResumeAuditor, FindsNothingInATrainerThatResumesExactly) {
  const ResumeAudit found = audit(Forgotten::Nothing, {Interruption::Kill, Interruption::PowerLoss, Interruption::Error,
                                                       Interruption::ErrorForGood});
  EXPECT_THAT(found.differences, IsEmpty());
  EXPECT_GT(found.file_calls, 100U);
  EXPECT_EQ(found.interruptions, 5 * ((found.file_calls + kEvery - 1) / kEvery));
}

TEST(ResumeAuditor, NamesTheVariableThatAForgottenVelocityChanges) {
  EXPECT_THAT(
      audit(Forgotten::Velocity).differences,
      Contains(AllOf(HasSubstr("killed at file call "), HasSubstr("'weights' in run/model.ckpt-12 differs: "))));
}

TEST(ResumeAuditor, NamesASlotThatIsSkippedWhenTheOthersAreRestored) {
  EXPECT_THAT(audit(Forgotten::Slot).differences,
              Contains(AllOf(HasSubstr(" in run/model.ckpt-12 differs: "), HasSubstr("'_trainhook/state/velocity'"))));
}

TEST(ResumeAuditor, NamesTheVariableThatAForgottenGeneratorChanges) {
  EXPECT_THAT(audit(Forgotten::Noise).differences, Contains(HasSubstr("'weights' in run/model.ckpt-12 differs: ")));
}

TEST(ResumeAuditor, NamesTheVariableThatAForgottenInputChanges) {
  EXPECT_THAT(audit(Forgotten::Input).differences, Contains(HasSubstr("'velocity' in run/model.ckpt-12 differs: ")));
}

TEST(ResumeAuditor, NamesTheVariableThatAForgottenShuffleBufferChanges) {
  EXPECT_THAT(audit(Forgotten::Buffer).differences, Contains(HasSubstr("'window_sum' in run/model.ckpt-12 differs: ")));
}

TEST(ResumeAuditor, NamesTheHookWhoseTimerForgets) {
  EXPECT_THAT(audit(Forgotten::Timer).differences,
              Contains(HasSubstr("third_steps/last' in run/model.ckpt-12 differs: ")));
}

TEST(ResumeAuditor, NamesTheHookThatForgets) {
  EXPECT_THAT(audit(Forgotten::Hook).differences, Contains(HasSubstr("sum' in run/model.ckpt-12 differs: ")));
}

TEST(ResumeAuditor, ReportsNoMoreThanTenDifferences) {
  EXPECT_THAT(audit(Forgotten::Velocity).differences, SizeIs(10));
}

TEST(ResumeAuditor, InterruptsAtChosenCallsOnly) {
  const testing::LogLines quiet;
  int interrupted = 0;
  const auto train_and_count = [&](FileSystem& disk) {
    try {
      train(disk, Forgotten::Velocity);
    } catch (...) {
      ++interrupted;
      throw;
    }
  };
  const auto audit_at = [&](std::vector<std::uint64_t> calls) {
    return audit_resume(train_and_count, {.interruptions = {Interruption::Kill}, .every = 2, .at = std::move(calls)});
  };
  const ResumeAudit first = audit_at({1});
  EXPECT_EQ(first.interruptions, 1U);
  EXPECT_EQ(interrupted, 1);
  EXPECT_THAT(first.differences, IsEmpty()) << "no checkpoint was there yet";
  const std::uint64_t middle = first.file_calls / 2;
  const ResumeAudit found = audit_at({1, middle});
  EXPECT_EQ(found.interruptions, 2U);
  EXPECT_EQ(interrupted, 3);
  ASSERT_THAT(found.differences, SizeIs(1));
  EXPECT_THAT(found.differences[0], HasSubstr(fmt::format("killed at file call {} ", middle)));
}

TEST(ResumeAuditor, ThrowsWhatTrainingThrowsWhenItIsNotInterrupted) {
  EXPECT_THROW(static_cast<void>(audit_resume([](FileSystem&) { throw NotFoundError("no data"); })), NotFoundError);
  EXPECT_THROW(static_cast<void>(audit_resume([](FileSystem&) {}, {.every = 0})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(audit_resume([](FileSystem&) {}, {.at = {0}})), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
