// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLifecycle: which stop requests outlive the loss of a session, by who made them and where it resumes.
#include <trainhook/monitored/session_lifecycle.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/stop_on_predicate_hook.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

/// Its session is saved every four steps and is lost once, when the save of step 10 is due.
class Training {
 public:
  using Session = MonitoredSession<testing::ScriptedSession>;

  Training() = default;
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  ~Training() { forget_interruption(); }

  /// Trains to the end of the loop, at most twelve steps. Returns why it ended, and where.
  std::string train(HookList hooks) {
    hooks.push_back(
        LambdaHook({.after_create_session = [this](SessionRef, Coordinator& of_session) { coordinator = &of_session; },
                    .before_run =
                        [this](SessionRunContext& context) {
                          step = context.global_step();
                          return SessionRunArgs{};
                        },
                    .after_run = [this](SessionRunContext& context, const SessionRunValues&) { save(context); },
                    .phase = saver_phase}));
    Session session(std::make_shared<testing::ScriptedSessionCreator>(script),
                    {.hooks = std::move(hooks), .file_system = &disk, .clock = &clock});
    open = &session;
    while (!session.should_stop() && session.global_step() < 12) {
      session.run([&] {
        if (step == 9 && !is_lost && in_last_step) in_last_step();
      });
    }
    session.close();
    return session.why_it_ended() + " at " + std::to_string(session.global_step());
  }

  testing::LogLines log;
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  testing::Script script;
  std::function<void()> in_last_step;  // called in the step that loses the session
  std::int64_t saves_every = 4;
  HookPhase saver_phase = HookPhase::Save;
  std::int64_t step = 0;
  bool is_lost = false;
  Session* open = nullptr;
  Coordinator* coordinator = nullptr;

 private:
  void save(SessionRunContext& context) {
    const std::int64_t done = context.global_step();
    if (done == 10 && !std::exchange(is_lost, true)) throw UnavailableError("the disk is away");
    if (done % saves_every == 0) script.initial_values["global_step"] = Tensor(done);
  }
};

/// A hook that requests a stop in that callback of step 10, as often as it is asked.
LambdaHook asking(bool early) {
  if (early)
    return LambdaHook({.before_run = [](SessionRunContext& context) {
      if (context.global_step() == 9) context.request_stop("enough");
      return SessionRunArgs{};
    }});
  return LambdaHook({.after_run = [](SessionRunContext& context, const SessionRunValues&) {
    if (context.global_step() == 10) context.request_stop("enough");
  }});
}

TEST(StopRequest, S5_OfAHookIsDroppedIfTheSessionResumesBehindItsStep) {
  Training training;
  EXPECT_EQ(training.train({StopAtStepHook({.last_step = 10})}), "step 10 is reached at 10");
  EXPECT_EQ(training.script.runs, 12) << "steps 9 and 10 are repeated";
  EXPECT_EQ(training.log.count("W a hook had requested a stop at step 10 (step 10 is reached), and the session "
                               "continues from step 8: the request is dropped, and the hook is asked again"),
            1U);
  EXPECT_EQ(Training().train({asking(true)}), "enough at 10");
  EXPECT_EQ(Training().train({asking(false)}), "enough at 10");
}

TEST(StopRequest, S5_OfAHookHoldsIfItsStepDoes) {
  Training training;
  training.saves_every = 9;
  EXPECT_EQ(training.train({asking(true)}), "enough at 9");
  EXPECT_EQ(training.script.runs, 10);
  EXPECT_EQ(training.log.count("W a stop had been requested before the session was lost: the loop ends here"), 1U);
}

TEST(StopRequest, OfAHookThatThrowsItselfIsDroppedToo) {
  Training training;
  EXPECT_EQ(training.train({LambdaHook({.after_run =
                                            [&](SessionRunContext& context, const SessionRunValues&) {
                                              if (context.global_step() != 10) return;
                                              context.request_stop("enough");
                                              if (!std::exchange(training.is_lost, true)) throw AbortedError("lost");
                                            }})}),
            "enough at 10");
}

TEST(StopRequest, ThatWasDroppedLeavesNoReasonBehind) {
  Training training;
  bool asked = false;
  EXPECT_EQ(training.train({LambdaHook({.after_run =
                                            [&](SessionRunContext& context, const SessionRunValues&) {
                                              if (context.global_step() == 10 && !std::exchange(asked, true))
                                                context.request_stop("enough");
                                            }})}),
            "the program closed the session at 12");
}

TEST(StopRequest, InOnRunFailedIsAboutTheFailureAndHolds) {
  EXPECT_EQ(Training().train({LambdaHook(
                {.on_run_failed = [](SessionRunContext& context,
                                     const std::exception_ptr&) { context.request_stop("one failure is enough"); },
                 .phase = HookPhase::Report})}),
            "one failure is enough at 8");
}

TEST(StopRequest, OfTheProgramHolds) {
  Training training;
  training.in_last_step = [&] { training.open->close(); };
  EXPECT_EQ(training.train({}), "the program closed the session at 8");
  EXPECT_EQ(training.script.runs, 10);
}

TEST(StopRequest, OfAThreadHoldsWhateverLosesTheSession) {
  Training by_hook;
  by_hook.in_last_step = [&] {
    by_hook.coordinator->start_thread([&](const std::stop_token&) { by_hook.coordinator->request_stop(); });
    by_hook.coordinator->wait_for_stop();
  };
  EXPECT_EQ(by_hook.train({}), "a background thread requested a stop at 8");
  Training by_thread;
  by_thread.in_last_step = [&] {
    by_thread.is_lost = true;
    by_thread.coordinator->start_thread([&](const std::stop_token&) {
      by_thread.coordinator->request_stop();
      by_thread.coordinator->request_stop(std::make_exception_ptr(AbortedError("lost")));
    });
    while (by_thread.coordinator->error() == nullptr) std::this_thread::yield();
  };
  EXPECT_EQ(by_thread.train({}), "a background thread requested a stop at 8");
}

TEST(StopRequest, ByTheEndOfAThreadsInputIsAboutThePositionOfTheInput) {
  Training training;
  training.in_last_step = [&] {
    training.coordinator->start_thread([](const std::stop_token&) { throw OutOfRangeError("no more"); });
    training.coordinator->wait_for_stop();
  };
  EXPECT_EQ(training.train({StopAtStepHook({.last_step = 11})}), "step 11 is reached at 11");
}

TEST(StopRequest, OfASignalHolds) {
  Training training;
  training.saver_phase = HookPhase::Report;  // after the hook has requested the stop
  training.in_last_step = [] { static_cast<void>(std::raise(SIGTERM)); };
  EXPECT_EQ(training.train({SignalHook()}), "SIGTERM at 8");
}

TEST(StopRequest, OfAStopFileHoldsThoughTheFileIsRemoved) {
  Training training;
  training.saver_phase = HookPhase::Report;
  training.in_last_step = [&] {
    training.clock.advance(std::chrono::seconds(2));
    training.disk.write_file("run/stop", "");
  };
  EXPECT_EQ(training.train({SignalHook({.directory = "run"})}), "run/stop was made at 8");
}

TEST(StopRequest, OfAPredicateThatLooksOutsideIsRemembered) {
  Training training;
  int calls = 0;
  EXPECT_EQ(training.train({StopOnPredicateHook([&] { return ++calls == 10; }, {.run_every_steps = 1})}),
            "StopOnPredicateHook requested a stop at 8");
}

TEST(StopRequest, OfEarlyStoppingIsForgottenWithTheValuesThatItSaw) {
  Training training;
  training.saves_every = 100;  // it starts again, and no checkpoint has the hook's state
  const auto evaluation = EvaluationHook::Options{.every_n_steps = 1};
  EXPECT_EQ(
      training.train({EvaluationHook(
                          [&] {
                            return Metrics{{"loss", training.step < 5 ? -static_cast<double>(training.step) : 0.0}};
                          },
                          evaluation),
                      EarlyStoppingHook({.patience = 5})}),
      "early stopping: eval/loss has not improved for 5 evaluations; best -4 at step 5 at 10");
  EXPECT_EQ(training.script.runs, 20);
}

TEST(StopRequest, OfASessionAtItsLastStepIsMadeAgainIfItIsLostWhileItIsCreated) {
  Training training;
  int created = 0;
  training.script.initial_values["global_step"] = Tensor(std::int64_t{10});
  const auto lose_first = [&](SessionRef, Coordinator&) {
    if (++created > 1) return;
    training.script.initial_values["global_step"] = Tensor(std::int64_t{8});  // as if the newest one were damaged
    throw UnavailableError("not yet");
  };
  training.is_lost = true;
  EXPECT_EQ(training.train({StopAtStepHook({.last_step = 10}), LambdaHook({.after_create_session = lose_first})}),
            "step 10 is reached at 10");
  EXPECT_EQ(training.script.runs, 2);
}

}  // namespace
}  // namespace trainhook
