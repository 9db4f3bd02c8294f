// SPDX-License-Identifier: Apache-2.0
/// @file
/// SignalHook: what signals and files do to a run, and to a process.
#include <trainhook/hooks/signal_hook.hpp>

#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/exponential_moving_average_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/progress_hook.hpp>
#include <trainhook/hooks/reduce_learning_rate_on_plateau_hook.hpp>
#include <trainhook/hooks/step_counter_hook.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/testing/process_faults.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::LogLines;
using support::Process;

/// A process with a saver hook that saves at the start and at the end. Its interruption is forgotten with it.
struct Training : Process {
  ~Training() { forget_interruption(); }
  explicit Training(SignalHook::Options options = {.deadline = {}}) {
    add(SignalHook(std::move(options)));
    add(CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1'000, .saver = std::make_shared<Saver>()}));
  }
};

struct sigaction present_action(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action;
}

TEST(SignalHook, EndsTheRunAfterTheStepAndSaysWhatWasSaved) {
  LogLines log;
  Training training;
  training.start();
  training.run(3);
  EXPECT_FALSE(training.should_stop());
  std::raise(SIGTERM);
  EXPECT_FALSE(training.should_stop()) << "the present step is finished";
  training.run();
  EXPECT_TRUE(training.should_stop());
  training.end();
  EXPECT_EQ(support::newest_saved_step(training.disk, "run"), 4);
  EXPECT_EQ(log.count("I SIGTERM: training stops after step 4."), 1U);
  EXPECT_EQ(log.count("I SIGTERM: training has ended; the last checkpoint is run/model.ckpt-4. Start the program again "
                      "to resume from there."),
            1U);
}

TEST(SignalHook, ASignalBeforeTheFirstStepEndsTheRunWithoutOne) {
  LogLines log;
  Training training;
  training.begin();
  std::raise(SIGINT);
  training.create();
  EXPECT_TRUE(training.should_stop());
  training.end();
  EXPECT_EQ(log.count("I SIGINT: training has ended; the last checkpoint is run/model.ckpt-0."), 1U);
}

TEST(SignalHook, ASignalToSaveSavesAfterTheNextStepAndContinues) {
  Training training;
  training.start();
  training.run(2);
  std::raise(SIGUSR1);
  training.run(5);
  EXPECT_FALSE(training.should_stop());
  EXPECT_EQ(support::newest_saved_step(training.disk, "run"), 4);
  training.run(5);
  EXPECT_EQ(support::newest_saved_step(training.disk, "run"), 4) << "once";
  training.end();
}

TEST(SignalHook, FilesDoWhatSignalsDo) {
  LogLines log;
  Training training({.stop_signals = {}, .save_signals = {}, .deadline = {}, .directory = "run"});
  training.start();
  training.run(2);
  training.disk.write_file("run/save", "");
  training.advance_clock(1);
  training.run(2);
  EXPECT_EQ(support::newest_saved_step(training.disk, "run"), 4);
  training.disk.write_file("run/stop", "");
  training.run();
  EXPECT_FALSE(training.should_stop()) << "looked for once a second";
  training.advance_clock(1);
  training.run();
  EXPECT_TRUE(training.should_stop());
  training.end();
  EXPECT_FALSE(training.disk.exists("run/save"));
  EXPECT_FALSE(training.disk.exists("run/stop"));
  EXPECT_EQ(log.count("I run/stop was made: training stops after step 6."), 1U);
}

/// The error of a session that is made now; empty: there is none.
std::string refusal(SignalHook::Options options = {.deadline = {}}) {
  Process process;
  process.add(SignalHook(std::move(options)));
  std::string text;
  try {
    process.begin();
  } catch (const CancelledError& error) { text = error.what(); }
  for (const auto& hook : process.hooks()) hook->abort(nullptr);
  return text;
}

TEST(SignalHook, AStopRemainsAFactOfTheProcessUntilItIsTakenBack) {
  LogLines log;
  Training training;
  training.start();
  EXPECT_EQ(interruption(), std::nullopt);
  std::raise(SIGTERM);
  EXPECT_EQ(interruption(), "SIGTERM");
  training.run();
  training.end();
  EXPECT_EQ(interruption(), "SIGTERM");
  EXPECT_EQ(present_action(SIGTERM).sa_handler, SIG_DFL);
  for (const SignalHook::Options& options :
       {SignalHook::Options{.deadline = {}}, {.stop_signals = {SIGHUP}}, {.stop_signals = {}, .directory = "run"}}) {
    const std::string text = refusal(options);
    EXPECT_NE(text.find("SIGTERM"), std::string::npos) << text;
    EXPECT_NE(text.find("forget_interruption()"), std::string::npos) << text;
  }
  EXPECT_EQ(present_action(SIGTERM).sa_handler, SIG_DFL);
  forget_interruption();
  EXPECT_EQ(interruption(), std::nullopt);
  EXPECT_EQ(refusal(), "");
}

TEST(SignalHook, ASignalThatComesAfterTheLastStepRemains) {
  Training training;
  training.start();
  training.run();
  std::raise(SIGINT);
  training.end();
  EXPECT_EQ(interruption(), "SIGINT");
}

TEST(SignalHook, AFileRemainsAFactOfTheProcessToo) {
  LogLines log;
  Training training({.deadline = {}, .directory = "run"});
  training.start();
  training.disk.write_file("run/stop", "");
  training.advance_clock(1);
  training.run();
  training.end();
  EXPECT_EQ(interruption(), "run/stop was made");
  EXPECT_NE(refusal().find("run/stop was made"), std::string::npos);
}

TEST(SignalHook, AnInterruptionIsKnownAtTheEndUnlessAnotherHookAskedToStopFirst) {
  LogLines log;
  for (const bool asks : {false, true}) {
    Training training;
    training.add(LambdaHook({.after_run = [asks](SessionRunContext& context, const SessionRunValues&) {
      if (asks) context.request_stop("enough");
    }}));
    training.start();
    std::raise(SIGTERM);
    training.run();
    EXPECT_TRUE(training.should_stop());
    EXPECT_EQ(training.services.is_interrupted(), !asks);
    EXPECT_EQ(training.services.stop_reason(), asks ? "enough" : "SIGTERM");
    training.end();
  }
}

TEST(SignalHook, FilesOfOthersAreNoRequests) {
  LogLines log;
  Training training({.stop_signals = {}, .save_signals = {}, .deadline = {}, .directory = "run"});
  training.disk.write_file("run/stop", "notes");
  training.disk.make_directories("run/save");
  training.start();
  training.run(2);
  training.advance_clock(1);
  training.run();
  EXPECT_FALSE(training.should_stop());
  EXPECT_EQ(training.disk.contents("run/stop"), "notes");
  EXPECT_EQ(log.count("is not an empty file"), 1U);
  training.end();
}

std::atomic<int> handled{0};

TEST(SignalHook, CallsTheHandlerThatWasThereBeforeAndRestoresIt) {
  struct sigaction mine {};
  mine.sa_handler = [](int) { ++handled; };
  struct sigaction before {};
  sigaction(SIGTERM, &mine, &before);
  {
    Training training;
    training.start();
    std::raise(SIGTERM);
    EXPECT_EQ(handled, 1);
    training.run();
    EXPECT_TRUE(training.should_stop());
    training.end();
    EXPECT_EQ(present_action(SIGTERM).sa_handler, mine.sa_handler);
  }
  {
    Training training;
    training.start();
    EXPECT_FALSE(training.should_stop()) << "a signal that was taken back is not a reason";
    for (const auto& hook : training.hooks()) hook->abort(nullptr);
    EXPECT_EQ(present_action(SIGTERM).sa_handler, mine.sa_handler);
  }
  sigaction(SIGTERM, &before, nullptr);
}

TEST(SignalHook, LeavesASignalIgnoredThatTheParentIgnored) {
  LogLines log;
  std::signal(SIGINT, SIG_IGN);
  {
    Training training;
    training.start();
    std::raise(SIGINT);
    training.run();
    EXPECT_FALSE(training.should_stop());
    std::raise(SIGTERM);
    training.run();
    EXPECT_TRUE(training.should_stop());
    training.end();
  }
  EXPECT_EQ(present_action(SIGINT).sa_handler, SIG_IGN);
  EXPECT_EQ(log.count("I SignalHook: SIGINT is ignored, as whoever started the program wanted, and stays so"), 1U);
  std::signal(SIGINT, SIG_DFL);
}

struct sigaction of_the_session {};

/// A handler that somebody installs during a session, and that calls the one before, as it should.
void later_handler(int signal, siginfo_t* info, void* context) {
  ++handled;
  of_the_session.sa_sigaction(signal, info, context);
}

TEST(SignalHook, AHandlerThatIsInstalledLaterStaysAndMayCallOurs) {
  struct sigaction mine {};
  mine.sa_handler = [](int) { ++handled; };
  sigaction(SIGTERM, &mine, nullptr);
  struct sigaction later {};
  later.sa_sigaction = &later_handler;
  later.sa_flags = SA_SIGINFO;
  {
    Training training;
    training.start();
    sigaction(SIGTERM, &later, &of_the_session);
    handled = 0;
    std::raise(SIGTERM);
    EXPECT_EQ(handled, 2);
    training.run();
    EXPECT_TRUE(training.should_stop());
    training.end();
  }
  EXPECT_EQ(present_action(SIGTERM).sa_sigaction, &later_handler);
  std::raise(SIGTERM);
  EXPECT_EQ(handled, 4) << "no session has a SignalHook now: the handlers call each other, and nothing else";
  EXPECT_EQ(interruption(), std::nullopt);
  Training second;
  second.start();
  std::raise(SIGTERM);
  EXPECT_EQ(handled, 6) << "each handler once, though they call each other in a circle";
  second.run();
  EXPECT_TRUE(second.should_stop());
  second.end();
  std::raise(SIGTERM);
  EXPECT_EQ(handled, 8) << "the same after a second session";
  std::signal(SIGTERM, SIG_DFL);
}

TEST(SignalHookDeathTest, OurHandlerEndsTheProcessForOneThatWasInstalledLaterIfTheDefaultWasBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        {
          Training training;
          training.start();
          struct sigaction later {};
          later.sa_sigaction = &later_handler;
          later.sa_flags = SA_SIGINFO;
          sigaction(SIGTERM, &later, &of_the_session);
          training.end();
        }
        std::raise(SIGTERM);
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(SignalHook, SessionsOfOneProcessShareTheSignals) {
  Training chief;
  Training worker;
  chief.start();
  worker.start();
  std::raise(SIGTERM);
  chief.run();
  chief.end();
  worker.run();
  EXPECT_TRUE(chief.should_stop());
  EXPECT_TRUE(worker.should_stop());
  worker.end();
  EXPECT_EQ(present_action(SIGTERM).sa_handler, SIG_DFL);
}

TEST(SignalHook, RefusesOtherSignalsThanASessionBesideItHas) {
  Training first;
  first.start();
  Training second({.stop_signals = {SIGHUP}, .deadline = {}});
  EXPECT_THROW(second.begin(), FailedPreconditionError);
  first.end();
}

TEST(SignalHook, RefusesWhatCannotBeHandled) {
  for (const auto& [options, text] : std::vector<std::pair<SignalHook::Options, std::string>>{
           {{.stop_signals = {SIGTERM, SIGKILL}}, "SIGKILL cannot be handled"},
           {{.stop_signals = {SIGTERM, 99}}, "signal 99 does not exist"},
           {{.stop_signals = {SIGTERM, SIGUSR1}}, "SIGUSR1 is given twice"}}) {
    Process process;
    process.add(SignalHook(options));
    try {
      process.begin();
      FAIL() << text;
    } catch (const InvalidArgumentError& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
    EXPECT_EQ(present_action(SIGTERM).sa_handler, SIG_DFL) << "what was installed is taken back";
  }
  EXPECT_THROW(SignalHook({.deadline = Duration()}), InvalidArgumentError);
}

TEST(SignalHookDeathTest, TheSecondSignalEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Training training;
        training.start();
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

TEST(SignalHookDeathTest, ARunThatDoesNotEndInTimeIsEnded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Training training({.deadline = 30s});
        training.start();
        std::raise(SIGTERM);
        for (;;) training.advance_clock(10);  // a step that hangs
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "SIGTERM came 30 s ago, and the run has not ended");
}

TEST(SignalHookDeathTest, ARunIsEndedInTimeEvenIfItHangsInTheLog) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Training training({.deadline = 30s});
        training.start();
        std::raise(SIGTERM);
        set_log_sink([&](LogLevel, std::string_view) {
          for (;;) training.advance_clock(10);
        });
        log_info("a line that nobody reads");
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(SignalHookDeathTest, ARunIsEndedInTimeEvenIfStandardErrorIsAFullPipe) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Training training({.deadline = 30s});
        training.start();
        std::raise(SIGTERM);
        const testing::FullStandardError full;
        std::thread([&] {
          for (;;) training.advance_clock(10);
        }).detach();
        log_info("a line that nobody reads");
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(SignalHook, EmptyBracesAreNoOptionsForAllHooksThatNeedNone) {
  Process process;
  process.add(SignalHook({}));
  process.add(BestCheckpointHook({}));
  process.add(CheckpointInputPipelineHook({}));
  process.add(EarlyStoppingHook({}));
  process.add(ExponentialMovingAverageHook({}));
  process.add(ProgressHook({}));
  process.add(ReduceLearningRateOnPlateauHook({}));
  process.add(StepCounterHook({}));
  EXPECT_EQ(process.hooks().size(), 8U);
}

TEST(SignalHook, ADeadlineLetsARunEndThatEndsInTime) {
  Training training({.deadline = 30s});
  training.start();
  std::raise(SIGTERM);
  training.run();
  training.advance_clock(29);
  training.end();
  EXPECT_EQ(present_action(SIGTERM).sa_handler, SIG_DFL);
}

TEST(SignalHook, ABrokenPipeStopsTheRunAndFurtherOnesDoNotEndIt) {
  LogLines log;
  Training training;
  training.start();
  std::raise(SIGPIPE);
  std::raise(SIGPIPE);
  training.run();
  EXPECT_TRUE(training.should_stop());
  std::raise(SIGPIPE);
  training.end();
  EXPECT_EQ(interruption(), "SIGPIPE");
  EXPECT_EQ(log.count("I SIGPIPE: training has ended; the last checkpoint is run/model.ckpt-1"), 1U);
}

TEST(SignalHook, AForkedChildHasTheEarlierHandlers) {
  LogLines log;
  Training training;
  training.start();
  const int status = testing::run_in_forked_child([] { std::raise(SIGTERM); });
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child must not swallow it";
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  training.run();
  EXPECT_FALSE(training.should_stop());
  std::raise(SIGTERM);
  training.run();
  EXPECT_TRUE(training.should_stop());
  training.end();
}

TEST(SignalHook, AForkedChildCanHaveASignalHookOfItsOwn) {
  LogLines log;
  Training training({.stop_signals = {SIGTERM}, .deadline = std::chrono::hours(1)});  // with a thread that waits
  training.start();
  EXPECT_EQ(testing::run_in_forked_child([] {
              Training own({.stop_signals = {SIGINT}, .deadline = {}});
              own.start();
              std::raise(SIGINT);
              own.run();
              if (!own.should_stop()) throw InternalError("it was not heard");
              own.end();
            }),
            0);
  training.run();
  EXPECT_FALSE(training.should_stop());
  training.end();
}

}  // namespace
}  // namespace trainhook
