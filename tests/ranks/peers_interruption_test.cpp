// SPDX-License-Identifier: Apache-2.0
/// @file
/// What an interruption of one rank means for all ranks of a job.
#include <trainhook/ranks/peers.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/watch/time_limit_hook.hpp>

namespace trainhook {
namespace {

using Options = MonitoredTrainingSessionOptions;

SignalHook signals() { return SignalHook({.save_signals = {}, .deadline = {}}); }

class InterruptionOfRanks : public ::testing::Test {
 protected:
  ~InterruptionOfRanks() override { forget_interruption(); }

  testing::LogLines log_;
  testing::MemoryFileSystem disk_;
};

/// What two ranks do, of which the second one is ended by `hook` in step 3: the steps that the first one evaluated.
std::vector<std::int64_t> evaluated_by_the_chief(const std::shared_ptr<SessionRunHook>& hook, bool asks_each_step) {
  testing::MemoryFileSystem disk;
  std::vector<std::int64_t> evaluated;
  const auto errors = testing::ThreadedRanks(2).run([&](const std::shared_ptr<Collective>& collective) {
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    Options options{.peers = ranks::peers(collective, {.agree_every_n_steps = asks_each_step ? 1 : 4}),
                    .checkpoint_dir = "run",
                    .save_checkpoint_steps = 100};
    options.file_system = &disk;
    options.hooks.emplace_back(StopAtStepHook({.last_step = 9}));
    if (collective->rank() == 1) options.hooks.emplace_back(hook);
    if (collective->rank() == 0) {
      options.chief_only_hooks = EvaluationHook(
          [&] {
            evaluated.push_back(loop.global_step());
            return Metrics{{"loss", 1}};
          },
          {.every_n_steps = 100});
    }
    auto session = monitored_training_session(loop, options);
    run_until_stop(session, [&] { session.run([] {}); });
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(2));
  return evaluated;
}

TEST_F(InterruptionOfRanks, OfOneIsAnInterruptionOfAll) {
  using Steps = std::vector<std::int64_t>;
  const auto ends_by = [](bool interrupts) {
    return make_hook<LambdaHook>({.after_run = [interrupts](SessionRunContext& context, const SessionRunValues&) {
      if (context.global_step() == 3) interrupts ? context.interrupt("a signal") : context.request_stop("enough");
    }});
  };
  EXPECT_EQ(evaluated_by_the_chief(ends_by(true), true), Steps{});
  EXPECT_EQ(evaluated_by_the_chief(ends_by(true), false), Steps{});
  EXPECT_EQ(evaluated_by_the_chief(ends_by(false), true), Steps{3});
  EXPECT_EQ(evaluated_by_the_chief(ends_by(false), false), Steps{4});
}

TEST_F(InterruptionOfRanks, TheTimeLimitOfTheFirstEndsAllAtTheSameStep) {
  using namespace std::chrono_literals;
  testing::ManualClock clock;
  std::vector<std::string> ends(2);
  const auto errors = testing::ThreadedRanks(2).run([&](const std::shared_ptr<Collective>& collective) {
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    Options options{.peers = ranks::peers(collective), .checkpoint_dir = "run", .save_checkpoint_steps = 100};
    options.file_system = &disk_;
    options.clock = &clock;
    const Duration limit = collective->rank() == 0 ? Duration(10s) : Duration(3s);  // another one's does not count
    options.hooks.emplace_back(TimeLimitHook({.max_time = limit, .margin = 0s}));
    auto session = monitored_training_session(loop, options);
    run_until_stop(session, [&] {
      session.run([&] {
        if (collective->rank() == 0) clock.advance(1s);
      });
    });
    ends[static_cast<std::size_t>(collective->rank())] =
        session.why_it_ended() + " at " + std::to_string(loop.global_step());
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(2));
  EXPECT_EQ(ends, (std::vector<std::string>{"time limit at 9", "rank 0: time limit at 9"}));
  EXPECT_TRUE(disk_.exists("run/model.ckpt-9.index"));
}

TEST_F(InterruptionOfRanks, OfOneMakesNoLaterSessionOnAnyRank) {
  {
    LoopSession loop;
    auto session = monitored_training_session(loop, {.hooks = signals(), .file_system = &disk_});
    run_until_stop(session, [&] { session.run([] { std::raise(SIGINT); }); });
  }
  std::vector<std::string> errors(2);
  testing::ThreadedRanks(2).run([&](const std::shared_ptr<Collective>& collective) {
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    Options options{.peers = ranks::peers(collective), .checkpoint_dir = "run", .save_checkpoint_steps = 100};
    options.file_system = &disk_;
    if (collective->rank() == 1) options.hooks = signals();
    try {
      auto session = monitored_training_session(loop, options);
      ADD_FAILURE() << "a session was made";
    } catch (const CancelledError& error) { errors[static_cast<std::size_t>(collective->rank())] = error.what(); }
  });
  for (const std::string& error : errors) EXPECT_NE(error.find("SIGINT"), std::string::npos) << error;
}

}  // namespace
}  // namespace trainhook
