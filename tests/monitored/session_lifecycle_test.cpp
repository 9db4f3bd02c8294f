// SPDX-License-Identifier: Apache-2.0
/// @file
/// The two tables of session_run_hook.hpp, line by line: whatever goes wrong in whichever callback of the first, middle
/// or last of three hooks, in every phase, as whole traces.
#include <trainhook/monitored/session_lifecycle.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/log.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using testing::RecordingHook;
using testing::ScriptedSession;
using Session = MonitoredSession<ScriptedSession>;

/// Which of the hooks a, b, c misbehaves, and in which phase all three are.
using Place = std::tuple<std::size_t, HookPhase>;

class SessionLifecycleTest : public ::testing::TestWithParam<Place> {
 protected:
  SessionLifecycleTest() {
    for (const char* name : {"a", "b", "c"}) {
      hooks.push_back(std::make_shared<RecordingHook>(
          trace, RecordingHook::Options{.name = name, .phase = std::get<HookPhase>(GetParam())}));
    }
  }
  ~SessionLifecycleTest() override { set_log_sink(previous_sink); }

  [[nodiscard]] std::size_t position() const { return std::get<std::size_t>(GetParam()); }
  RecordingHook& bad() { return *hooks[position()]; }
  [[nodiscard]] std::string up_to() const {
    return std::string("abc").substr(0, position() + 1);
  }  // the bad one included
  [[nodiscard]] std::string from() const { return std::string("abc").substr(position()); }
  [[nodiscard]] std::string before() const { return std::string("abc").substr(0, position()); }

  /// One line for each hook named, in that order.
  static std::string each(std::string_view names, const std::string& callback) {
    std::string lines;
    for (const char name : names) lines += fmt::format("{}.{}\n", std::string(1, name), callback);
    return lines;
  }
  static std::string whole_run(const std::string& number) {
    return each("abc", "before_run " + number) + each("abc", "after_run " + number);
  }
  static std::string beginning() { return each("abc", "begin") + each("abc", "after_create_session"); }

  std::unique_ptr<Session> start(RetryPolicy retry = {}) {
    return std::make_unique<Session>(
        std::make_shared<testing::ScriptedSessionCreator>(script),
        MonitoredSessionOptions{
            .hooks = {hooks.begin(), hooks.end()}, .retry = std::move(retry), .file_system = &disk, .clock = &clock});
  }
  template <class E>
  auto throwing(E error) {
    return [error](SessionRunContext*) { throw error; };
  }
  /// Throws only the first time, as a lost session does.
  template <class E>
  void throw_once(const std::string& callback, E error) {
    bad().act[callback] = [this, callback, error](SessionRunContext*) {
      const E copy = error;
      bad().act.erase(std::string(callback));  // with it goes what this function has captured
      throw copy;
    };
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
  std::vector<std::shared_ptr<RecordingHook>> hooks;
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

const auto kEveryPlace =
    ::testing::Combine(::testing::Values(std::size_t{0}, std::size_t{1}, std::size_t{2}),
                       ::testing::Values(HookPhase::Check, HookPhase::Normal, HookPhase::Save, HookPhase::Report));
std::string name_of(const ::testing::TestParamInfo<Place>& place) {
  constexpr const char* kPositions[] = {"First", "Middle", "Last"};
  constexpr const char* kPhases[] = {"Check", "Normal", "Save", "Report"};
  return std::string(kPositions[std::get<std::size_t>(place.param)]) +
         kPhases[static_cast<int>(std::get<HookPhase>(place.param))];
}
INSTANTIATE_TEST_SUITE_P(EveryPlace, SessionLifecycleTest, kEveryPlace, name_of);

// How a step can end.

TEST_P(SessionLifecycleTest, X01_ANormalStepCallsAllHooksInOrder) {
  const auto session = start();
  session->run(script.train());
  session->close();
  EXPECT_EQ(trace->lines(), beginning() + whole_run("0") + each("abc", "end"));
}

TEST_P(SessionLifecycleTest, X10_AStopRequestedInBeforeRunLetsTheWholeStepRun) {
  bad().act["before_run 0"] = [](SessionRunContext* context) { context->request_stop(); };
  const auto session = start();
  session->run(script.train());
  EXPECT_TRUE(session->should_stop());
  session->close();
  EXPECT_EQ(trace->lines(), beginning() + whole_run("0") + each("abc", "end"));
  EXPECT_EQ(script.runs, 1);
}

TEST_P(SessionLifecycleTest, X14_AStopRequestedInAfterRunLetsTheOtherHooksSeeTheStep) {
  bad().act["after_run 0"] = [](SessionRunContext* context) { context->request_stop(); };
  const auto session = start();
  session->run(script.train());
  EXPECT_TRUE(session->should_stop());
  session->close();
  EXPECT_EQ(trace->lines(), beginning() + whole_run("0") + each("abc", "end"));
}

TEST_P(SessionLifecycleTest, S5_AStopRequestSurvivesAnErrorOfTheEngine) {
  script.throw_at(1, InternalError("kernel broke"));
  bad().act["before_run 0"] = [](SessionRunContext* context) { context->request_stop(); };
  const auto session = start();
  EXPECT_EQ(what_of([&] { session->run(script.train()); }), "Internal: kernel broke");
  EXPECT_TRUE(session->should_stop());
  session->close();
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "before_run 0") +
                                each("abc", "on_run_failed 0: Internal: kernel broke") + each("abc", "end"));
}

TEST_P(SessionLifecycleTest, X05_AnErrorInBeforeRunSkipsTheRunAndIsToldToThoseBeforeIt) {
  throw_once("before_run 0", std::runtime_error("broken"));
  const auto session = start();
  EXPECT_EQ(what_of([&] { session->run(script.train()); }), "broken");
  EXPECT_EQ(script.runs, 0);
  EXPECT_FALSE(session->should_stop());
  EXPECT_EQ(trace->take(), beginning() + each(up_to(), "before_run 0") + each(before(), "on_run_failed 0: broken"));
  session->run(script.train());
  EXPECT_EQ(script.runs, 1);
}

TEST_P(SessionLifecycleTest, X05_AnErrorOfTheEngineIsToldToAll) {
  script.throw_at(1, InternalError("kernel broke"));
  const auto session = start();
  EXPECT_EQ(what_of([&] { session->run(script.train()); }), "Internal: kernel broke");
  EXPECT_FALSE(session->should_stop());
  session->run(script.train());
  session->close();
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "before_run 0") +
                                each("abc", "on_run_failed 0: Internal: kernel broke") + whole_run("1") +
                                each("abc", "end"));
}

TEST_P(SessionLifecycleTest, X05_AnErrorInAfterRunSkipsThoseBehindItAndIsToldToAll) {
  throw_once("after_run 0", std::runtime_error("broken"));
  const auto session = start();
  EXPECT_EQ(what_of([&] { session->run(script.train()); }), "broken");
  EXPECT_EQ(script.runs, 1);  // the step was done
  EXPECT_FALSE(session->should_stop());
  session->run(script.train());
  session->close();
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "before_run 0") + each(up_to(), "after_run 0") +
                                each("abc", "on_run_failed 0: broken") + whole_run("1") + each("abc", "end"));
}

TEST_P(SessionLifecycleTest, AnErrorInOnRunFailedIsLoggedAndTheOthersAreToldOfTheRunAllTheSame) {
  script.throw_at(1, InternalError("kernel broke"));
  bad().act["on_run_failed 0"] = throwing(std::runtime_error("broken"));
  const auto session = start();
  EXPECT_EQ(what_of([&] { session->run(script.train()); }), "Internal: kernel broke");
  EXPECT_EQ(trace->take(),
            beginning() + each("abc", "before_run 0") + each("abc", "on_run_failed 0: Internal: kernel broke"));
  EXPECT_NE(log.find("failed in on_run_failed in turn: broken"), std::string::npos);
}

TEST_P(SessionLifecycleTest, ALossInBeforeRunRecreatesTheSessionAndRepeatsTheStep) {
  throw_once("before_run 0", AbortedError("lost"));
  const auto session = start();
  session->run(script.train());
  EXPECT_EQ(script.sessions, 2);
  EXPECT_EQ(script.closes, 1);
  session->close();
  std::string next_runs;  // those whose first before_run is done count on
  std::string after;
  for (const char name : std::string_view("abc")) {
    const char* number = before().find(name) == std::string::npos ? "0" : "1";
    next_runs += each(std::string(1, name), fmt::format("before_run {}", number));
    after += each(std::string(1, name), fmt::format("after_run {}", number));
  }
  EXPECT_EQ(trace->lines(), beginning() + each(up_to(), "before_run 0") +
                                each(before(), "on_run_failed 0: Aborted: lost") + each("abc", "after_create_session") +
                                next_runs + after + each("abc", "end"));
}

TEST_P(SessionLifecycleTest, X07_ALossInAfterRunIsToldToItAndThoseBehindItAndRepeatsTheStep) {
  throw_once("after_run 0", UnavailableError("lost"));
  const auto session = start();
  session->run(script.train());
  EXPECT_EQ(script.sessions, 2);
  EXPECT_EQ(session->raw_session().variable("global_step").scalar<std::int64_t>(),
            1);  // one increment over the initial values
  session->close();
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "before_run 0") + each(up_to(), "after_run 0") +
                                each(from(), "on_run_failed 0: Unavailable: lost") +
                                each("abc", "after_create_session") + whole_run("1") + each("abc", "end"));
}

TEST_P(SessionLifecycleTest, ALossInTheEngineRecreatesTheSessionAndRepeatsTheStep) {
  script.throw_at(1, AbortedError("lost"));
  const auto session = start();
  session->run(script.train());
  session->close();
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "before_run 0") + each("abc", "on_run_failed 0: Aborted: lost") +
                                each("abc", "after_create_session") + whole_run("1") + each("abc", "end"));
}

TEST_P(SessionLifecycleTest, X04_ALossInAfterCreateSessionAtTheStartCreatesAgain) {
  throw_once("after_create_session", AbortedError("lost"));
  const auto session = start();
  EXPECT_EQ(script.sessions, 2);
  EXPECT_EQ(script.closes, 1);  // S1: the half-made one
  EXPECT_EQ(trace->lines(),
            each("abc", "begin") + each(up_to(), "after_create_session") + each("abc", "after_create_session"));
}

TEST_P(SessionLifecycleTest, AnErrorInAfterCreateSessionDuringARecoveryLeavesRunAndEndsByAbort) {
  script.throw_at(1, AbortedError("lost"));
  const auto session = start();
  bad().act["after_create_session"] = throwing(std::runtime_error("broken"));
  EXPECT_EQ(what_of([&] { session->run(script.train()); }), "broken");
  EXPECT_TRUE(session->should_stop());
  session->close();
  EXPECT_EQ(script.closes, 2);
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "before_run 0") + each("abc", "on_run_failed 0: Aborted: lost") +
                                each(up_to(), "after_create_session") + each("cba", "abort broken"));
}

// How a session can end.

TEST_P(SessionLifecycleTest, X02_S1_S42_AnErrorInBeginIsToldToItAndThoseThatBeganLastFirst) {
  bad().act["begin"] = throwing(std::runtime_error("broken"));
  EXPECT_EQ(what_of([&] { (void)start(); }), "broken");
  const std::string begun = up_to();
  EXPECT_EQ(trace->lines(), each(up_to(), "begin") + each(std::string(begun.rbegin(), begun.rend()), "abort broken"));
  EXPECT_EQ(script.sessions, 0);
  EXPECT_FALSE(script.graph().is_finalized());
}

TEST_P(SessionLifecycleTest, S1_AnErrorInAfterCreateSessionAtTheStartClosesWhatWasMade) {
  bad().act["after_create_session"] = throwing(std::runtime_error("broken"));
  EXPECT_EQ(what_of([&] { (void)start(); }), "broken");
  EXPECT_EQ(trace->lines(), each("abc", "begin") + each(up_to(), "after_create_session") + each("cba", "abort broken"));
  EXPECT_EQ(script.closes, 1);
  EXPECT_FALSE(script.graph().is_finalized());
}

TEST_P(SessionLifecycleTest, X08_AnErrorInEndLetsTheOthersEnd) {
  bad().act["end"] = throwing(std::runtime_error("broken"));
  const auto session = start();
  EXPECT_EQ(what_of([&] { session->close(); }), "broken");
  EXPECT_EQ(what_of([&] { session->close(); }), "nothing");
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "end"));
  EXPECT_TRUE(session->should_stop());
  EXPECT_EQ(script.closes, 1);
}

TEST_P(SessionLifecycleTest, TheEndOfInputOfAHookOrTheEngineEndsTheLoopFunctionNormally) {
  for (const std::string at : {"before_run 0", "after_run 0", "engine"}) {
    if (at == "engine") {
      script.throw_at(script.runs + 1, OutOfRangeError("End of sequence"));
    } else {
      throw_once(at, OutOfRangeError("End of sequence"));
    }
    for (auto& hook : hooks) {
      const auto acts = hook->act;
      hook =
          std::make_shared<RecordingHook>(trace, RecordingHook::Options{.name = hook->name(), .phase = hook->phase()});
      hook->act = acts;
    }
    const auto session = start();
    run_until_stop(*session, [&] { session->run(script.train()); });
    const std::string asked = at == "before_run 0" ? up_to() : "abc";
    const std::string done = at == "after_run 0" ? up_to() : "";
    const std::string told = at == "before_run 0" ? before() : "abc";
    EXPECT_EQ(trace->take(), beginning() + each(asked, "before_run 0") + each(done, "after_run 0") +
                                 each(told, "on_run_failed 0: OutOfRange: End of sequence") + each("abc", "end"))
        << at;
    EXPECT_TRUE(session->should_stop());
  }
}

TEST_P(SessionLifecycleTest, X09_S7_AnotherErrorOfARunAbortsAllHooksLastFirst) {
  throw_once("after_run 0", InvalidArgumentError("broken"));
  const auto session = start();
  EXPECT_EQ(what_of([&] { run_until_stop(*session, [&] { session->run(script.train()); }); }),
            "InvalidArgument: broken");
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "before_run 0") + each(up_to(), "after_run 0") +
                                each("abc", "on_run_failed 0: InvalidArgument: broken") +
                                each("cba", "abort InvalidArgument: broken"));
}

TEST_P(SessionLifecycleTest, TheDestructorEndsAllHooksAndLogsWhatTheyThrow) {
  bad().act["end"] = throwing(std::runtime_error("broken"));
  start().reset();
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "end"));
  EXPECT_NE(log.find("while the session was closed: broken"), std::string::npos);
}

TEST_P(SessionLifecycleTest, TheDestructorWhileTheEndOfInputUnwindsEndsAllHooks) {
  script.throw_at(1, OutOfRangeError("End of sequence"));
  EXPECT_EQ(what_of([&] { start()->run(script.train()); }), "OutOfRange: End of sequence");
  EXPECT_EQ(trace->lines(), beginning() + each("abc", "before_run 0") +
                                each("abc", "on_run_failed 0: OutOfRange: End of sequence") + each("abc", "end"));
}

TEST_P(SessionLifecycleTest, TheDestructorWhileAnotherErrorUnwindsAbortsAllHooksLastFirst) {
  throw_once("before_run 0", std::runtime_error("broken"));
  EXPECT_EQ(what_of([&] { start()->run(script.train()); }), "broken");
  EXPECT_EQ(trace->lines(), beginning() + each(up_to(), "before_run 0") + each(before(), "on_run_failed 0: broken") +
                                each("cba", "abort broken"));
}

TEST_P(SessionLifecycleTest, TheDestructorWhileAForeignErrorUnwindsAbortsWithoutOne) {
  EXPECT_EQ(what_of([&] {
              const auto session = start();
              throw std::logic_error("outside");
            }),
            "outside");
  EXPECT_EQ(trace->lines(), beginning() + each("cba", "abort no error"));
}

}  // namespace
}  // namespace trainhook
