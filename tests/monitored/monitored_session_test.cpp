// SPDX-License-Identifier: Apache-2.0
/// @file
/// MonitoredSession: how a run and a session can end, as whole traces of callbacks.
#include <trainhook/monitored/monitored_session.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/process_faults.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using testing::RecordingHook;
using testing::ScriptedSession;
using Session = MonitoredSession<ScriptedSession>;

class MonitoredSessionTest : public ::testing::Test {
 protected:
  ~MonitoredSessionTest() override { set_log_sink(previous_sink); }

  std::shared_ptr<RecordingHook> hook(const std::string& name, RecordingHook::Options options = {}) {
    options.name = name;
    return std::make_shared<RecordingHook>(trace, std::move(options));
  }
  std::shared_ptr<SessionCreator> creator() { return std::make_shared<testing::ScriptedSessionCreator>(script); }
  MonitoredSessionOptions options(HookList hooks, RetryPolicy retry = {}) {
    return {.hooks = std::move(hooks), .retry = std::move(retry), .file_system = &disk, .clock = &clock};
  }
  static auto throwing(const char* what) {
    return [what](SessionRunContext*) { throw std::runtime_error(what); };
  }
  static std::string what_of(const std::function<void()>& action) {
    try {
      action();
    } catch (...) { return describe(std::current_exception()); }
    return "nothing";
  }

  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  testing::Script script;
  std::shared_ptr<testing::Trace> trace = std::make_shared<testing::Trace>();
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

TEST_F(MonitoredSessionTest, X01_M052_CallsEveryHookInOrderAroundEachRun) {
  Session session(creator(), options({hook("a"), hook("b")}));
  session.run(script.train());
  session.close();
  EXPECT_EQ(trace->lines(),
            "a.begin\nb.begin\na.after_create_session\nb.after_create_session\n"
            "a.before_run 0\nb.before_run 0\na.after_run 0\nb.after_run 0\na.end\nb.end\n");
}

TEST_F(MonitoredSessionTest, X01_S13_OrdersPhasesAndKeepsTheGivenOrderWithinEach) {
  Session session(creator(),
                  options({hook("report", {.phase = HookPhase::Report}), hook("save", {.phase = HookPhase::Save}),
                           hook("x"), hook("check", {.phase = HookPhase::Check}), hook("y")}));
  session.close();
  EXPECT_EQ(trace->lines(),
            "check.begin\nx.begin\ny.begin\nsave.begin\nreport.begin\n"
            "check.after_create_session\nx.after_create_session\ny.after_create_session\nsave.after_create_session\n"
            "report.after_create_session\n"
            "check.end\nx.end\ny.end\nsave.end\nreport.end\n");
}

TEST_F(MonitoredSessionTest, GivesEachHookItsOwnSliceOfOneMergedRun) {
  const Output one = script.value("one", [] { return 1.0F; });
  const Output two = script.value("two", [] { return 2.0F; });
  const auto a = hook("a", {.args = {.fetches = {two}}});
  const auto b = hook("b", {.args = {.fetches = {{one, two}}}});
  Session session(creator(), options({a, b}));
  const int before = script.executes;
  EXPECT_EQ(session.run(one).scalar<float>(), 1.0F);
  EXPECT_EQ(script.executes, before + 1);
  ASSERT_EQ(a->last_results.size(), 1U);
  EXPECT_EQ(a->last_results[0].scalar<float>(), 2.0F);
  ASSERT_EQ(b->last_results.size(), 2U);
  EXPECT_EQ(b->last_results[0].scalar<float>(), 1.0F);
}

TEST_F(MonitoredSessionTest, RefusesTwoFeedsOfOneTensorFromWhereverTheyCome) {
  const Output x = script.value("x", [] { return 1.0F; });
  {
    Session session(creator(), options({hook("a", {.args = {.feed_dict = {{x, 1.0F}}}}),
                                        hook("b", {.args = {.feed_dict = {{x, 2.0F}}}})}));
    EXPECT_THROW(session.run(x), FailedPreconditionError);
  }
  Session session(creator(), options({hook("a", {.args = {.feed_dict = {{x, 1.0F}}}})}));
  EXPECT_THROW(session.run(x, {{x, 3.0F}}), FailedPreconditionError);
  EXPECT_EQ(session.run(x).scalar<float>(), 1.0F);
}

TEST_F(MonitoredSessionTest, X10_X12_X14_StopsAfterTheRunInWhichAHookAskedForIt) {
  const auto a = hook("a");
  a->act["before_run 1"] = [](SessionRunContext* context) { context->request_stop(); };
  Session session(creator(), options({a, hook("b")}));
  session.run(script.train());
  EXPECT_FALSE(session.should_stop());
  (void)trace->take();
  session.run(script.train());
  EXPECT_EQ(trace->take(), "a.before_run 1\nb.before_run 1\na.after_run 1\nb.after_run 1\n");
  EXPECT_TRUE(session.should_stop());
  EXPECT_TRUE(session.should_stop());
  try {
    session.run(script.train());
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_STREQ(error.what(), "Run called even after should_stop requested; ask should_stop() before each step");
  }
  EXPECT_EQ(trace->take(), "");
  EXPECT_TRUE(session.should_stop());
  session.close();
  EXPECT_EQ(script.runs, 2);
}

TEST_F(MonitoredSessionTest, S5_AStopRequestSurvivesALaterErrorOfTheSameRun) {
  const auto a = hook("a");
  a->act["after_run 0"] = [](SessionRunContext* context) { context->request_stop(); };
  const auto b = hook("b");
  b->act["after_run 0"] = throwing("b is broken");
  Session session(creator(), options({a, b}));
  EXPECT_THROW(session.run(script.train()), std::runtime_error);
  EXPECT_TRUE(session.should_stop());
}

TEST_F(MonitoredSessionTest, X05_AHooksOrdinaryErrorLeavesTheSessionUsable) {
  const auto a = hook("a");
  a->act["before_run 0"] = throwing("a is broken");
  Session session(creator(), options({a}));
  EXPECT_THROW(session.run(script.train()), std::runtime_error);
  EXPECT_EQ(script.runs, 0);
  EXPECT_FALSE(session.should_stop());
  a->act.clear();
  session.run(script.train());
  EXPECT_EQ(script.runs, 1);
}

TEST_F(MonitoredSessionTest, X05_S6_TellsEveryHookWhoseBeforeRunIsDoneThatTheRunFailed) {
  const auto b = hook("b");
  b->act["before_run 0"] = throwing("b is broken");
  Session session(creator(), options({hook("a"), b, hook("c")}));
  (void)trace->take();
  EXPECT_THROW(session.run(script.train()), std::runtime_error);
  EXPECT_EQ(trace->take(), "a.before_run 0\nb.before_run 0\na.on_run_failed 0: b is broken\n");
  b->act.clear();
  session.run(script.train());  // the session stays usable
  EXPECT_EQ(trace->take(),
            "a.before_run 1\nb.before_run 0\nc.before_run 0\na.after_run 1\nb.after_run 0\nc.after_run 0\n");
}

TEST_F(MonitoredSessionTest, AnEngineErrorLeavesRunAndTheSessionContinues) {
  script.throw_at(1, InternalError("kernel broke"));
  Session session(creator(), options({hook("a")}));
  (void)trace->take();
  EXPECT_THROW(session.run(script.train()), InternalError);
  EXPECT_FALSE(session.should_stop());
  session.run(script.train());
  session.close();
  EXPECT_EQ(trace->lines(),
            "a.before_run 0\na.on_run_failed 0: Internal: kernel broke\na.before_run 1\na.after_run 1\na.end\n");
}

TEST_F(MonitoredSessionTest, RecoversFromALostSessionAndRepeatsTheStep) {
  script.throw_at(2, UnavailableError("gone"));
  std::vector<Recovery> recoveries;
  Session session(
      creator(),
      options({hook("a")}, {.on_recovery = [&](const Recovery& recovery) { recoveries.push_back(recovery); }}));
  session.run(script.train());
  (void)trace->take();
  session.run(script.train());
  EXPECT_EQ(
      trace->take(),
      "a.before_run 1\na.on_run_failed 1: Unavailable: gone\na.after_create_session\na.before_run 2\na.after_run 2\n");
  ASSERT_EQ(recoveries.size(), 1U);
  EXPECT_EQ(recoveries[0].lost_at, 1);
  EXPECT_EQ(recoveries[0].resumed_at, 0);
  EXPECT_EQ(script.sessions, 2);
  EXPECT_EQ(script.closes, 1);
}

TEST_F(MonitoredSessionTest, S2_GivesUpAfterTheAttemptsThatThePolicyAllows) {
  for (int run = 1; run <= 10; ++run) script.throw_at(run, AbortedError("again"));
  Session session(creator(), options({}, {.max_attempts = 3}));
  EXPECT_THROW(session.run(script.train()), AbortedError);
  EXPECT_EQ(script.runs, 4);
  EXPECT_TRUE(session.should_stop());
}

TEST_F(MonitoredSessionTest, S2_ForgetsAttemptsThatAreOlderThanTheWindow) {
  Session session(creator(), options({}, {.max_attempts = 1, .window = std::chrono::minutes(1)}));
  for (int run : {1, 3, 5}) {
    script.throw_at(run, AbortedError("again"));
    session.run(script.train());
    clock.advance(std::chrono::minutes(2));
  }
  EXPECT_EQ(script.sessions, 4);
}

TEST_F(MonitoredSessionTest, BacksOffLongerEachTime) {
  clock.auto_advance(true);
  for (int run = 1; run <= 4; ++run) script.throw_at(run, AbortedError("again"));
  Session session(creator(), options({}, {.initial_backoff = std::chrono::seconds(4)}));
  const Duration before = clock.monotonic_now();
  session.run(script.train());
  const Duration waited = clock.monotonic_now() - before;
  EXPECT_GE(waited, std::chrono::seconds(14));  // at least half of 4 + 8 + 16
  EXPECT_LE(waited, std::chrono::seconds(28));
}

TEST_F(MonitoredSessionTest, TwoSessionsDoNotBackOffAlike) {
  clock.auto_advance(true);
  std::vector<Duration> waits;
  for (int i = 0; i < 2; ++i) {
    for (int run = 1; run <= 8; ++run) script.throw_at(script.runs + run, AbortedError("again"));
    Session session(creator(), options({}, {.initial_backoff = std::chrono::seconds(4)}));
    const Duration before = clock.monotonic_now();
    session.run(script.train());
    waits.push_back(clock.monotonic_now() - before);
  }
  EXPECT_NE(waits[0], waits[1]);
}

TEST_F(MonitoredSessionTest, S43_RefusesToRecoverWithoutACheckpointIfThePolicySaysSo) {
  script.throw_at(1, AbortedError("gone"));
  Session session(creator(), options({}, {.require_checkpoint = true}));
  EXPECT_THROW(session.run(script.train()), AbortedError);
}

TEST_F(MonitoredSessionTest, TreatsErrorsThatTheUserCallsTransientAsALoss) {
  script.throw_at(1, InternalError("flaky driver"));
  const auto is_internal = [](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const InternalError&) { return true; } catch (...) {
      return false;
    }
  };
  Session session(creator(), options({}, {.is_transient = is_internal}));
  session.run(script.train());
  EXPECT_EQ(script.sessions, 2);
}

TEST_F(MonitoredSessionTest, X08_CloseCallsEveryEndAndThrowsTheFirstError) {
  const auto a = hook("a");
  a->act["end"] = throwing("a cannot end");
  const auto b = hook("b");
  b->act["end"] = throwing("b cannot end");
  Session session(creator(), options({a, b, hook("c")}));
  (void)trace->take();
  try {
    session.close();
    FAIL();
  } catch (const std::runtime_error& error) { EXPECT_STREQ(error.what(), "a cannot end"); }
  EXPECT_EQ(trace->lines(), "a.end\nb.end\nc.end\n");
  EXPECT_NE(log.find("b cannot end"), std::string::npos);
  ASSERT_EQ(session.errors().size(), 2U);
  EXPECT_EQ(describe(session.errors()[1]), "b cannot end");
  EXPECT_EQ(script.closes, 1);
  EXPECT_TRUE(session.should_stop());
}

TEST_F(MonitoredSessionTest, X15_M079_S8_ASecondCloseDoesNothing) {
  Session session(creator(), options({hook("a")}));
  session.close();
  (void)trace->take();
  session.close();
  EXPECT_EQ(trace->lines(), "");
  EXPECT_TRUE(session.should_stop());
}

TEST_F(MonitoredSessionTest, X13_S35_ARunAfterCloseSaysSo) {
  Session session(creator(), options({}));
  session.close();
  try {
    session.run(script.train());
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_NE(std::string(error.what()).find("Session is already closed"), std::string::npos);
  }
}

TEST_F(MonitoredSessionTest, TheEndOfInputEndsTheLoopFunctionNormally) {
  script.throw_at(3, OutOfRangeError("End of sequence"));
  Session session(creator(), options({hook("a")}));
  run_until_stop(session, [&] { session.run(script.train()); });
  EXPECT_TRUE(trace->lines().ends_with("a.on_run_failed 2: OutOfRange: End of sequence\na.end\n"));
}

/// An end of input of a user's own class.
struct EndOfMyData : OutOfRangeError {
  using OutOfRangeError::OutOfRangeError;
};

TEST_F(MonitoredSessionTest, S9_TheEndOfInputMayBeOfADerivedClass) {
  script.throw_at(2, EndOfMyData("the tape is over"));
  Session session(creator(), options({hook("a")}));
  run_until_stop(session, [&] { session.run(script.train()); });
  EXPECT_TRUE(trace->lines().ends_with("a.end\n"));
}

TEST_F(MonitoredSessionTest, S9_AnOutOfRangeErrorOfTheUsersOwnIsNotTheEndOfInput) {
  Session session(creator(), options({hook("a")}));
  EXPECT_THROW(run_until_stop(session, [&] { throw OutOfRangeError("my own index"); }), OutOfRangeError);
  EXPECT_TRUE(trace->lines().ends_with("a.abort OutOfRange: my own index\n"));
}

TEST_F(MonitoredSessionTest, X09_M073_S7_AnotherErrorLeavingTheLoopFunctionAbortsEveryHookLastFirst) {
  Session session(creator(), options({hook("a"), hook("b")}));
  (void)trace->take();
  EXPECT_THROW(run_until_stop(session, [&] { throw std::runtime_error("user code"); }), std::runtime_error);
  EXPECT_EQ(trace->lines(), "b.abort user code\na.abort user code\n");
  EXPECT_EQ(script.closes, 1);
  EXPECT_TRUE(session.should_stop());
  ASSERT_EQ(session.errors().size(), 1U);
}

TEST_F(MonitoredSessionTest, TheDestructorClosesAndOnlyLogsErrors) {
  const auto a = hook("a");
  a->act["end"] = throwing("a cannot end");
  { const Session session(creator(), options({a, hook("b")})); }
  EXPECT_TRUE(trace->lines().ends_with("a.end\nb.end\n"));
  EXPECT_NE(log.find("a cannot end"), std::string::npos);
}

TEST_F(MonitoredSessionTest, TheDestructorAbortsWhileAnErrorUnwinds) {
  script.throw_at(1, InternalError("kernel broke"));
  EXPECT_THROW(
      {
        Session session(creator(), options({hook("a")}));
        session.run(script.train());
      },
      InternalError);
  EXPECT_TRUE(trace->lines().ends_with("a.abort Internal: kernel broke\n"));
}

TEST_F(MonitoredSessionTest, TheDestructorAbortsWithNullIfTheErrorIsNotItsOwn) {
  EXPECT_THROW(
      {
        const Session session(creator(), options({hook("a")}));
        throw std::runtime_error("outside");
      },
      std::runtime_error);
  EXPECT_TRUE(trace->lines().ends_with("a.abort no error\n"));
}

TEST_F(MonitoredSessionTest, TheDestructorAbortsWithTheErrorThatWasThrownLastUnlessTheLoopWentOn) {
  struct Foreign {};
  const std::map<std::string, std::function<void()>> errors = {
      {"step broke", [] { throw std::runtime_error("step broke"); }},
      {"an exception that is not a std::exception", [] { throw Foreign(); }}};
  for (const auto& [text, raise] : errors) {
    for (const bool goes_on : {false, true}) {
      EXPECT_THROW(
          {
            Session session(creator(), options({hook("a")}));
            try {
              session.run(raise);
            } catch (...) {  // what the program gets over
            }
            EXPECT_FALSE(goes_on && session.should_stop());
            throw InternalError("outside");
          },
          InternalError);
      EXPECT_TRUE(trace->take().ends_with(fmt::format("a.abort {}\n", goes_on ? "no error" : text)));
    }
  }
}

TEST_F(MonitoredSessionTest, TheDestructorAbortsAfterAnEndOfInputThatWasHandledWhileAnotherErrorUnwinds) {
  script.throw_at(1, OutOfRangeError("End of sequence"));
  EXPECT_THROW(
      {
        Session session(creator(), options({hook("a")}));
        EXPECT_THROW(session.run(script.train()), OutOfRangeError);
        throw InternalError("outside");
      },
      InternalError);
  EXPECT_TRUE(trace->lines().ends_with("a.abort no error\n"));
}

TEST_F(MonitoredSessionTest, TheDestructorClosesWhileTheEndOfInputUnwinds) {
  script.throw_at(1, OutOfRangeError("End of sequence"));
  EXPECT_THROW(
      {
        Session session(creator(), options({hook("a")}));
        session.run(script.train());
      },
      OutOfRangeError);
  EXPECT_TRUE(trace->lines().ends_with("a.end\n"));
}

TEST_F(MonitoredSessionTest, TheDestructorClosesWhileTheEndOfInputUnwindsLater) {
  script.throw_at(1, OutOfRangeError("End of sequence"));
  EXPECT_THROW(
      {
        Session session(creator(), options({hook("a")}));
        std::exception_ptr kept;
        try {
          session.run(script.train());
        } catch (...) { kept = std::current_exception(); }
        EXPECT_FALSE(session.should_stop());
        std::rethrow_exception(kept);
      },
      OutOfRangeError);
  EXPECT_TRUE(trace->lines().ends_with("a.end\n"));
}

TEST_F(MonitoredSessionTest, TheDestructorClosesWhileAnEndOfInputOfTheUsersOwnTypeUnwinds) {
  struct Exhausted : OutOfRangeError {
    using OutOfRangeError::OutOfRangeError;
  };
  EXPECT_THROW(
      {
        Session session(creator(), options({hook("a")}));
        session.run([] { throw Exhausted("no more files"); });
      },
      Exhausted);
  EXPECT_TRUE(trace->lines().ends_with("a.end\n"));
}

TEST_F(MonitoredSessionTest, TheDestructorAbortsWithTheEndOfInputThatTheSessionWasLostTo) {
  for (const int run : {1, 2}) script.throw_at(run, OutOfRangeError("a server has gone"));
  EXPECT_THROW(
      {
        Session session(creator(), options({hook("a")}, {.max_attempts = 1, .is_transient = is_end_of_input}));
        session.run(script.train());
      },
      OutOfRangeError);
  EXPECT_TRUE(trace->lines().ends_with("a.abort OutOfRange: a server has gone\n"));
}

TEST_F(MonitoredSessionTest, X02_S1_S42_AHookWhoseBeginThrowsAndThoseThatBeganGetAbort) {
  const auto b = hook("b");
  b->act["begin"] = throwing("b cannot begin");
  EXPECT_THROW(Session(creator(), options({hook("a"), b, hook("c")})), std::runtime_error);
  EXPECT_EQ(trace->lines(), "a.begin\nb.begin\nb.abort b cannot begin\na.abort b cannot begin\n");
  EXPECT_EQ(script.sessions, 0);
}

TEST_F(MonitoredSessionTest, S1_AFailingAfterCreateSessionClosesWhatWasMade) {
  const auto b = hook("b");
  b->act["after_create_session"] = throwing("b cannot start");
  EXPECT_THROW(Session(creator(), options({hook("a"), b})), std::runtime_error);
  EXPECT_TRUE(trace->lines().ends_with("b.abort b cannot start\na.abort b cannot start\n"));
  EXPECT_EQ(script.closes, 1);
  EXPECT_FALSE(script.graph().is_finalized());
}

TEST_F(MonitoredSessionTest, SeveralStopsAtAStepAreSaidOnce) {
  { Session session(creator(), options({StopAtStepHook({.last_step = 3})})); }
  EXPECT_EQ(log, "");
  { Session session(creator(), options({StopAtStepHook({.last_step = 3}), StopAtStepHook({.num_steps = 9})})); }
  EXPECT_EQ(log, "there are several StopAtStepHooks: the loop ends at the smallest of their last steps\n");
}

TEST_F(MonitoredSessionTest, M075_S34_CloseOpensTheGraphAgainIfItWasOpen) {
  Session session(creator(), options({}));
  EXPECT_TRUE(script.graph().is_finalized());
  session.close();
  EXPECT_FALSE(script.graph().is_finalized());
}

TEST_F(MonitoredSessionTest, S3_AStepFunctionSeesTheNewSessionAfterARecovery) {
  script.throw_at(1, AbortedError("gone"));
  Session session(creator(), options({}));
  int attempts = 0;
  const std::int64_t step = session.run_step_fn([&](StepContext<ScriptedSession>& context) {
    ++attempts;
    context.run_with_hooks(script.train());
    return context.session().variable("global_step").scalar<std::int64_t>();
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(step, 1);
}

template <class Context>
concept RunsByItself = requires(Context& context, Operation step) { context.run(step); };

TEST_F(MonitoredSessionTest, AStepFunctionRunsTheUsersOwnStepWithHooksAndOnlyWithThem) {
  static_assert(!RunsByItself<StepContext<ScriptedSession>>);
  Session session(creator(), options({hook("a")}));
  (void)trace->take();
  int calls = 0;
  session.run_step_fn([&](StepContext<ScriptedSession>& context) {
    const auto count = [&] { ++calls; };
    context.run_with_hooks(count);
    EXPECT_EQ(context.run_with_hooks([&] { return ++calls * 10; }), 20);
  });
  EXPECT_EQ(trace->take(), "a.before_run 0\na.after_run 0\na.before_run 1\na.after_run 1\n");
}

TEST_F(MonitoredSessionTest, M081_M083_AStepFunctionCanEndTheLoop) {
  Session session(creator(), options({hook("a")}));
  bool went_on = false;
  run_until_stop(session, [&] {
    session.run_step_fn([&](StepContext<ScriptedSession>& context) {
      context.request_stop();
      went_on = true;
    });
    went_on = true;
  });
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(trace->lines(), "a.begin\na.after_create_session\na.end\n");
}

TEST_F(MonitoredSessionTest, AStepFunctionEndsALoopThatCatchesTheExceptionItself) {
  Session session(creator(), options({hook("a")}));
  int calls = 0;
  while (!session.should_stop() && calls < 3) {
    try {
      session.run_step_fn([&](StepContext<ScriptedSession>& context) {
        ++calls;
        context.request_stop();
      });
    } catch (const OutOfRangeError&) {  // the loop asks should_stop()
    }
  }
  EXPECT_EQ(calls, 1);
  session.close();
  EXPECT_EQ(session.why_it_ended(), "the step function requested a stop");
  EXPECT_EQ(trace->lines(), "a.begin\na.after_create_session\na.end\n");
}

TEST_F(MonitoredSessionTest, S32_RunsOfTheRawSessionTriggerNoHooks) {
  Session session(creator(), options({hook("a")}));
  (void)trace->take();
  session.raw_session().run(script.train());
  EXPECT_EQ(trace->lines(), "");
}

TEST_F(MonitoredSessionTest, M042_AThreadThatLosesTheSessionMakesShouldStopRecoverIt) {
  const auto a = hook("a");
  Session session(creator(), options({a}));
  a->last_coordinator->request_stop(std::make_exception_ptr(AbortedError("worker died")));
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(script.sessions, 2);
}

TEST_F(MonitoredSessionTest, X27_S11_AThreadsOtherErrorStopsTheLoopAndComesOutOfClose) {
  const auto a = hook("a");
  Session session(creator(), options({a}));
  a->last_coordinator->request_stop(std::make_exception_ptr(InternalError("worker broke")));
  EXPECT_TRUE(session.should_stop());
  EXPECT_THROW(session.close(), InternalError);
  EXPECT_TRUE(trace->lines().ends_with("a.after_create_session\na.abort Internal: worker broke\n"));
}

TEST_F(MonitoredSessionTest, S44_TheEndOfInputOfAThreadIsACleanEnd) {
  const auto a = hook("a");
  Session session(creator(), options({a}));
  a->last_coordinator->request_stop(std::make_exception_ptr(OutOfRangeError("End of sequence")));
  EXPECT_TRUE(session.should_stop());
  session.close();
}

TEST_F(MonitoredSessionTest, S26_RefusesTheSameHookTwice) {
  const auto a = hook("a");
  EXPECT_THROW(Session(creator(), options({a, a})), InvalidArgumentError);
}

TEST_F(MonitoredSessionTest, SaysWhatIsWrongWithItsOptions) {
  const auto message_of = [&](const std::shared_ptr<SessionCreator>& of, MonitoredSessionOptions wrong) {
    try {
      const Session session(of, std::move(wrong));
    } catch (const InvalidArgumentError& error) { return std::string(error.what()); }
    return std::string("nothing");
  };
  EXPECT_EQ(message_of(nullptr, {}),
            "MonitoredSession: session_creator is null; a ChiefSessionCreator is the usual one");
  EXPECT_EQ(message_of(creator(), {.stop_grace_period_secs = std::chrono::seconds(-1)}),
            "MonitoredSession: stop_grace_period_secs is -1000 ms; it must not be negative, and 0 waits for no thread");
  EXPECT_EQ(message_of(creator(), options({}, {.max_attempts = -1})),
            "RetryPolicy: max_attempts is -1; it must not be negative");
  EXPECT_EQ(message_of(creator(), options({}, {.window = std::chrono::seconds(-2)})),
            "RetryPolicy: window is -2 s; it must not be negative");
  EXPECT_EQ(message_of(creator(), options({}, {.initial_backoff = std::chrono::seconds(-3)})),
            "RetryPolicy: initial_backoff is -3 s; it must not be negative");
  EXPECT_EQ(message_of(creator(), options({}, {.max_backoff = std::chrono::seconds(-4)})),
            "RetryPolicy: max_backoff is -4 s; it must not be negative");
}

TEST_F(MonitoredSessionTest, OptionsThatAreRefusedReachThoseWhoWaitForItsSession) {
  struct Told final : SessionCreator {
    explicit Told(testing::Script& script) : inner(script) {}
    Graph& graph() override { return inner.graph(); }
    OwnedSession create_session() override { return inner.create_session(); }
    void session_failed(const std::exception_ptr& error) noexcept override { heard = describe(error); }
    testing::ScriptedSessionCreator inner;
    std::string heard;
  };
  const auto told = std::make_shared<Told>(script);
  EXPECT_THROW(Session(told, options({}, {.max_attempts = -1})), InvalidArgumentError);
  EXPECT_EQ(told->heard, "InvalidArgument: RetryPolicy: max_attempts is -1; it must not be negative");
  EXPECT_THROW(Session(told, {.stop_grace_period_secs = std::chrono::seconds(-1)}), InvalidArgumentError);
  EXPECT_NE(told->heard.find("stop_grace_period_secs is -1000 ms"), std::string::npos) << told->heard;
}

TEST_F(MonitoredSessionTest, X17_AnErrorOfAnEndGoesBeforeTheEndOfInput) {
  script.throw_at(1, OutOfRangeError("End of sequence"));
  const auto a = hook("a");
  a->act["end"] = throwing("a cannot end");
  Session session(creator(), options({a, hook("b")}));
  EXPECT_THROW(run_until_stop(session, [&] { session.run(script.train()); }), std::runtime_error);
  EXPECT_TRUE(trace->lines().ends_with("a.end\nb.end\n"));
}

TEST_F(MonitoredSessionTest, X18_S10_AThreadsErrorGoesBeforeThatOfTheBody) {
  const auto a = hook("a");
  Session session(creator(), options({a, hook("b")}));
  (void)trace->take();
  try {
    run_until_stop(session, [&] {
      a->last_coordinator->request_stop(std::make_exception_ptr(InternalError("worker broke")));
      throw std::runtime_error("so the body failed");
    });
    FAIL();
  } catch (const InternalError& error) { EXPECT_STREQ(error.what(), "worker broke"); }
  EXPECT_EQ(trace->lines(), "b.abort Internal: worker broke\na.abort Internal: worker broke\n");
  ASSERT_EQ(session.errors().size(), 2U);
  EXPECT_EQ(describe(session.errors()[1]), "so the body failed");
}

TEST_F(MonitoredSessionTest, S10_AThreadsErrorGoesBeforeThatOfARun) {
  const auto a = hook("a");
  script.throw_at(2, InvalidArgumentError("queue is closed"));
  Session session(creator(), options({a}));
  session.run(script.train());
  a->last_coordinator->request_stop(std::make_exception_ptr(InternalError("worker broke")));
  (void)trace->take();
  EXPECT_THROW(session.run(script.train()), InternalError);
  EXPECT_EQ(trace->take(), "a.before_run 1\na.on_run_failed 1: InvalidArgument: queue is closed\n");
  EXPECT_THROW(session.close(), InternalError);
  ASSERT_EQ(session.errors().size(), 2U);
  EXPECT_EQ(describe(session.errors()[1]), "InvalidArgument: queue is closed");
}

TEST_F(MonitoredSessionTest, M070_AThreadsErrorLetsTheNextRunWorkAndComesOutAtTheEnd) {
  const auto a = hook("a");
  Session session(creator(), options({a}));
  EXPECT_THROW(run_until_stop(session,
                              [&] {
                                a->last_coordinator->request_stop(
                                    std::make_exception_ptr(std::runtime_error("a thread wants to stop")));
                                session.run(script.train());
                              }),
               std::runtime_error);
  EXPECT_EQ(script.runs, 1);
  EXPECT_TRUE(trace->lines().ends_with("a.after_run 0\na.abort a thread wants to stop\n"));
}

TEST_F(MonitoredSessionTest, ASessionThatIsLostForGoodEndsByAbort) {
  for (int run = 1; run <= 3; ++run) script.throw_at(run, AbortedError("again"));
  Session session(creator(), options({hook("a"), hook("b")}, {.max_attempts = 1}));
  EXPECT_THROW(session.run(script.train()), AbortedError);
  EXPECT_TRUE(session.should_stop());
  (void)trace->take();
  session.close();
  EXPECT_EQ(trace->take(), "b.abort Aborted: again\na.abort Aborted: again\n");
}

TEST_F(MonitoredSessionTest, AnErrorThatWasCaughtIsForgottenByTheNextRun) {
  script.throw_at(1, OutOfRangeError("End of sequence"));
  EXPECT_THROW(
      {
        Session session(creator(), options({hook("a")}));
        EXPECT_THROW(session.run(script.train()), OutOfRangeError);
        session.run(script.train());
        throw std::runtime_error("outside");
      },
      std::runtime_error);
  EXPECT_TRUE(trace->lines().ends_with("a.abort no error\n"));
}

TEST_F(MonitoredSessionTest, S42_TheStepThatHooksReadIsThereBeforeAnyBegins) {
  std::size_t reads_at_begin = 0;
  const auto a = hook("a");
  a->act["begin"] = [&](SessionRunContext*) {
    reads_at_begin = script.graph().collection<Output>(graph_keys::kGlobalStepRead).size();
  };
  const Session session(creator(), options({a}));
  EXPECT_EQ(reads_at_begin, 1U);
}

TEST_F(MonitoredSessionTest, AMovedSessionTrainsOnWithItsHooksAndEndsOnce) {
  std::optional<Session> session;
  {
    Session first(creator(), options({hook("a")}));
    first.run(script.train());
    session.emplace(std::move(first));
  }
  (void)trace->take();
  session->run(script.train());
  EXPECT_EQ(session->global_step(), 2);
  EXPECT_EQ(trace->take(), "a.before_run 1\na.after_run 1\n");
  session.reset();
  EXPECT_EQ(trace->take(), "a.end\n");
}

TEST_F(MonitoredSessionTest, ASessionIsReturnedFromAFunctionThatUsedItAndKeptInAMember) {
  const auto start = [&] {
    Session session(creator(), options({hook("a")}));
    session.run(script.train());
    return std::make_pair(std::move(session), 1);
  };
  struct Trainer {
    Session session;
  } trainer{start().first};
  (void)trace->take();
  trainer.session.close();
  EXPECT_EQ(trainer.session.global_step(), 1);
  EXPECT_EQ(trace->take(), "a.end\n");
}

TEST_F(MonitoredSessionTest, WhatRefersToPartsOfAMovedSessionStaysValid) {
  Session first(creator(), options({hook("a")}));
  SessionRef ref = first;
  ScriptedSession* const raw = &first.raw_session();
  Session second = std::move(first);
  EXPECT_EQ(&second.raw_session(), raw);
  EXPECT_EQ(SessionRef(second), ref);
  ref.run(script.train());
  EXPECT_EQ(second.global_step(), 1);
}

TEST_F(MonitoredSessionTest, ASessionMayBeMovedInItsOwnStep) {
  std::optional<Session> second;
  Session first(creator(), options({hook("a")}));
  (void)trace->take();
  first.run_step_fn([&](StepContext<ScriptedSession>& context) {
    second.emplace(std::move(first));
    context.run_with_hooks(script.train());
  });
  second->close();
  EXPECT_EQ(trace->take(), "a.before_run 0\na.after_run 0\na.end\n");
}

TEST_F(MonitoredSessionTest, AMovedFromSessionHasStoppedAndSaysWhy) {
  Session first(creator(), options({hook("a")}));
  const Session second = std::move(first);
  const std::exception_ptr error = std::make_exception_ptr(std::runtime_error("mine"));
  // NOLINTBEGIN(bugprone-use-after-move): that is what this is about
  EXPECT_TRUE(first.should_stop());
  EXPECT_EQ(first.why_it_ended(), "the session was moved to another object");
  EXPECT_FALSE(first.has_thrown(error));
  EXPECT_EQ(first.abort(error), error);
  for (const std::function<void()>& use : std::initializer_list<std::function<void()>>{
           [&] { first.run(script.train()); }, [&] { first.run_step_fn([](auto&) {}); }, [&] { first.close(); },
           [&] { (void)first.graph(); }, [&] { (void)first.global_step(); }, [&] { (void)first.raw_session(); },
           [&] { (void)SessionRef(first); }, [&] { (void)first.errors(); }, [&] { run_until_stop(first, [] {}); }})
    EXPECT_EQ(what_of(use), "FailedPrecondition: this session was moved from: use the object that it was moved to");
  // NOLINTEND(bugprone-use-after-move)
}

TEST_F(MonitoredSessionTest, AssigningToALiveSessionEndsItAsTheDestructorDoes) {
  const auto old = hook("old");
  old->act["end"] = throwing("disk full");
  Session session(creator(), options({old}));
  Session next(creator(), options({hook("new")}));
  (void)trace->take();
  session = std::move(next);
  EXPECT_EQ(trace->take(), "old.end\n");
  EXPECT_NE(log.find("while the session was closed: disk full"), std::string::npos) << log;
  session.run(script.train());
  session.close();
  EXPECT_EQ(trace->take(), "new.before_run 0\nnew.after_run 0\nnew.end\n");
}

TEST_F(MonitoredSessionTest, AssigningWhileAnErrorUnwindsAbortsTheOldSession) {
  Session session(creator(), options({hook("old")}));
  Session next(creator(), options({hook("new")}));
  struct Replace {
    Replace(Session& old, Session& with) : session(old), next(with) {}
    ~Replace() { session = std::move(next); }
    Session& session;
    Session& next;
  };
  (void)trace->take();
  EXPECT_THROW(
      {
        const Replace replace(session, next);
        throw std::runtime_error("mine");
      },
      std::runtime_error);
  EXPECT_EQ(trace->take(), "old.abort no error\n");
}

TEST_F(MonitoredSessionTest, AssigningToItselfOrToASessionThatHasEndedOrWasMovedFromIsHarmless) {
  Session session(creator(), options({hook("a")}));
  Session& same = session;
  session = std::move(same);
  session.run(script.train());
  session.close();
  (void)trace->take();
  Session next(creator(), options({hook("b")}));
  session = std::move(next);
  next = std::move(session);
  next.run(script.train());
  EXPECT_EQ(next.global_step(), 1);
}

TEST_F(MonitoredSessionTest, S12_ShouldStopNeverThrowsEvenIfTheSessionCannotBeRecreated) {
  const auto a = hook("a");
  Session session(creator(), options({a}));
  a->act["after_create_session"] = throwing("a cannot start");
  a->last_coordinator->request_stop(std::make_exception_ptr(AbortedError("worker died")));
  static_assert(noexcept(session.should_stop()));
  EXPECT_TRUE(session.should_stop());
  EXPECT_NE(log.find("the session could not be recreated: a cannot start"), std::string::npos);
}

TEST_F(MonitoredSessionTest, S12_ALossThatShouldStopCouldNotMakeGoodEndsTheSessionAndComesOutOfClose) {
  const auto a = hook("a");
  Session session(creator(), options({a, hook("b")}));
  a->act["after_create_session"] = throwing("a cannot start");
  a->last_coordinator->request_stop(std::make_exception_ptr(AbortedError("worker died")));
  EXPECT_TRUE(session.should_stop());
  (void)trace->take();
  EXPECT_EQ(what_of([&] { session.close(); }), "a cannot start");
  EXPECT_EQ(trace->take(), "b.abort a cannot start\na.abort a cannot start\n");
  ASSERT_EQ(session.errors().size(), 1U);
  EXPECT_EQ(describe(session.errors()[0]), "a cannot start");
  session.close();
  EXPECT_EQ(trace->lines(), "");
}

TEST_F(MonitoredSessionTest, S12_ALossBeyondThePolicyInShouldStopLeavesTheLoopFunction) {
  const auto a = hook("a");
  script.throw_at(1, AbortedError("first"));
  Session session(creator(), options({a}, {.max_attempts = 1}));
  EXPECT_EQ(what_of([&] {
              run_until_stop(session, [&] {
                session.run(script.train());
                a->last_coordinator->request_stop(std::make_exception_ptr(AbortedError("second")));
              });
            }),
            "Aborted: second");
  EXPECT_TRUE(trace->lines().ends_with("a.abort Aborted: second\n"));
}

TEST_F(MonitoredSessionTest, ALossInShouldStopGoesBeforeAnErrorOfTheBodyAndIsOverWithTheNextRun) {
  const auto a = hook("a");
  const auto lose = [&](const Session& session) {
    a->act["after_create_session"] = throwing("a cannot start");
    a->last_coordinator->request_stop(std::make_exception_ptr(AbortedError("worker died")));
    return &session;
  };
  {
    Session session(creator(), options({a}));
    (void)lose(session);
    EXPECT_TRUE(session.should_stop());
    a->act.clear();
    session.run(script.train());
    EXPECT_FALSE(session.should_stop());
    session.close();
    EXPECT_TRUE(session.errors().empty());
  }
  Session session(creator(), options({a}));
  (void)lose(session);
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(describe(session.abort(std::make_exception_ptr(std::runtime_error("body")))), "a cannot start");
  EXPECT_TRUE(trace->lines().ends_with("a.abort a cannot start\n"));
  EXPECT_EQ(session.errors().size(), 2U);
}

TEST_F(MonitoredSessionTest, ShowsTheGlobalStepOfTheSession) {
  Session session(creator(), options({hook("a")}));
  const Session& seen = session;
  EXPECT_EQ(seen.global_step(), 0);
  session.run(script.train());
  (void)trace->take();
  EXPECT_EQ(seen.global_step(), 1);
  EXPECT_EQ(trace->lines(), "");
  session.close();
  EXPECT_EQ(what_of([&] { (void)session.raw_session(); }),
            "FailedPrecondition: Session is already closed; create a new one to continue");
}

TEST_F(MonitoredSessionTest, TellsTheLastStepAfterANormalEnd) {
  Session session(creator(), options({hook("a")}));
  session.run(script.train());
  session.run(script.train());
  session.close();
  EXPECT_EQ(script.executes, 2);
  EXPECT_EQ(session.global_step(), 2);
  session.close();
  EXPECT_EQ(session.global_step(), 2);
}

TEST_F(MonitoredSessionTest, TellsNoStepAfterAnAbort) {
  Session session(creator(), options({hook("a")}));
  session.run(script.train());
  session.abort(std::make_exception_ptr(std::runtime_error("enough")));
  EXPECT_EQ(what_of([&] { (void)session.global_step(); }),
            "FailedPrecondition: Session is already closed; create a new one to continue");
}

TEST_F(MonitoredSessionTest, TheLoopFunctionTakesAnOperationAsItsStep) {
  script.throw_at(3, OutOfRangeError("End of sequence"));
  Session session(creator(), options({hook("a")}));
  run_until_stop(session, script.train());
  EXPECT_EQ(script.runs, 3);
  EXPECT_TRUE(trace->lines().ends_with("a.on_run_failed 2: OutOfRange: End of sequence\na.end\n"));
}

TEST_F(MonitoredSessionTest, APredicateForTransientErrorsThatThrowsCountsAsNo) {
  const auto a = hook("a");
  const auto broken = [](const std::exception_ptr&) -> bool { throw std::logic_error("the predicate broke"); };
  Session session(creator(), options({a}, {.is_transient = broken}));
  a->last_coordinator->request_stop(std::make_exception_ptr(InternalError("worker broke")));
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(describe(session.abort(std::make_exception_ptr(std::runtime_error("body")))), "Internal: worker broke");
  EXPECT_NE(log.find("RetryPolicy: is_transient threw, which counts as no: the predicate broke"), std::string::npos);
  EXPECT_EQ(script.sessions, 1);
}

TEST_F(MonitoredSessionTest, S33_ASaverTakesTheSessionItself) {
  Session session(creator(), options({}));
  session.run(script.train());
  Saver saver({.file_system = &disk, .clock = &clock});
  const std::string prefix = saver.save(session.raw_session(), {.save_path = "run/model.ckpt", .global_step = 1});
  session.run(script.train());
  saver.restore(session.raw_session(), prefix);
  EXPECT_EQ(session.raw_session().variable("global_step").scalar<std::int64_t>(), 1);
}

TEST_F(MonitoredSessionTest, S43_RecoveringWithoutACheckpointIsWarnedOfAndReported) {
  script.throw_at(3, AbortedError("gone"));
  std::optional<Recovery> reported;
  Session session(creator(), options({}, {.on_recovery = [&](const Recovery& recovery) { reported = recovery; }}));
  for (int i = 0; i < 3; ++i) session.run(script.train());
  EXPECT_NE(log.find("there was no checkpoint to resume from: training starts again from initial values"),
            std::string::npos);
  EXPECT_NE(log.find("recovered at step 0; 2 steps are lost"), std::string::npos);
  ASSERT_TRUE(reported);
  EXPECT_EQ(describe(reported->cause), "Aborted: gone");
}

TEST_F(MonitoredSessionTest, S40_EventWritersBelongToTheSessionAndCloseWithIt) {
  class Writing final : public SessionRunHook {
   public:
    void after_run(SessionRunContext&, const SessionRunValues&) override {
      EXPECT_EQ(&services().writers().at("logs"), &services().writers().at("logs"));  // one a directory
      services().writers().at("logs").add_scalar("x", 1.0F, 0);
    }
  };
  Session session(creator(), options({Writing()}));
  session.run(script.train());
  session.close();
  std::size_t events = 0;
  for (const std::string& name : disk.list_directory("logs"))
    events += read_events(disk, join_path("logs", name)).events.size();
  EXPECT_GE(events, 2U);  // the version and the value, with nothing else to flush them
}

TEST_F(MonitoredSessionTest, IsDeadInAForkedChild) {
  auto session = std::make_unique<Session>(creator(), options({hook("a")}));
  session->run(script.train());
  const std::string before = trace->lines();
  EXPECT_EQ(testing::run_in_forked_child([&] {
              const std::string refused = what_of([&] { session->run(script.train()); });
              if (refused.find("was forked from process") == std::string::npos ||
                  refused.find("which has this session: use it there") == std::string::npos)
                throw std::runtime_error(refused);
              if (!session->should_stop()) throw std::runtime_error("its loop goes on");
              session->close();
              session->abort(nullptr);
              session.reset();
              if (trace->lines() != before) throw std::runtime_error(trace->lines());
            }),
            0);
  session->run(script.train());
  session->close();
  EXPECT_EQ(trace->lines(), before + "a.before_run 1\na.after_run 1\na.end\n");
}

TEST_F(MonitoredSessionTest, AChildThatLeavesTheStepByAnExceptionTakesNothingAlong) {
  auto session = std::make_unique<Session>(creator(), options({hook("a")}));
  std::string in_child;
  session->run_step_fn([&](StepContext<ScriptedSession>& context) {
    context.run_with_hooks(script.train());
    const std::string before = trace->lines();
    EXPECT_EQ(testing::run_in_forked_child([&] {
                try {
                  session->run_step_fn([&](StepContext<ScriptedSession>&) { throw AbortedError("exec failed"); });
                } catch (const FailedPreconditionError&) {  // not even begun
                }
                session.reset();
                if (trace->lines() != before) throw std::runtime_error(trace->lines());
              }),
              0);
  });
  session->close();
}

TEST_F(MonitoredSessionTest, AStepThatForksAndThrowsInTheChildTellsNoHookThere) {
  auto session = std::make_unique<Session>(creator(), options({hook("a")}));
  bool is_child = false;
  int status = -1;
  std::string before;
  const auto loop = [&] {
    session->run_step_fn([&](StepContext<ScriptedSession>& context) {
      context.run_with_hooks(script.train());
      before = trace->lines();
      const pid_t child = ::fork();
      is_child = child == 0;
      if (is_child) throw AbortedError("exec failed");  // a loss, from which the parent would recover
      ::waitpid(child, &status, 0);
    });
  };
  try {
    loop();
  } catch (...) {
    if (!is_child) throw;
    ::alarm(10);
    session.reset();
    ::_exit(trace->lines() == before ? 0 : 1);
  }
  ASSERT_FALSE(is_child);
  EXPECT_EQ(status, 0);
  session->close();
}

}  // namespace
}  // namespace trainhook
