// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a hook or a step may do to the session that is running it: run it again, lose it, close it.
#include <trainhook/monitored/monitored_session.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <allocations.hpp>
#include <small_engine.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using support::SmallEngine;
using testing::RecordingHook;
using testing::ScriptedSession;
using Session = MonitoredSession<ScriptedSession>;

std::string what_of(const std::function<void()>& action) {
  try {
    action();
  } catch (...) { return describe(std::current_exception()); }
  return "nothing";
}

class NestedRunTest : public ::testing::Test {
 protected:
  std::shared_ptr<RecordingHook> hook(const std::string& name, SessionRunArgs args = {}) {
    return std::make_shared<RecordingHook>(trace, RecordingHook::Options{.name = name, .args = std::move(args)});
  }
  std::unique_ptr<Session> start(HookList hooks, RetryPolicy retry = {}) {
    auto session = std::make_unique<Session>(
        std::make_shared<testing::ScriptedSessionCreator>(script),
        MonitoredSessionOptions{
            .hooks = std::move(hooks), .retry = std::move(retry), .file_system = &disk, .clock = &clock});
    (void)trace->take();
    return session;
  }

  testing::LogLines log;
  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  testing::Script script;
  Output one = script.value("one", [] { return 1.0F; });
  Output hundred = script.value("hundred", [] { return 100.0F; });
  std::shared_ptr<testing::Trace> trace = std::make_shared<testing::Trace>();
};

/// Makes a run of its own, once, in `before_run` or `after_run`, through the monitored session or the engine's, and
/// adds its result to its own fetch.
struct Nesting final : SessionRunHook {
  using Run = std::function<float(SessionRunContext&)>;
  Nesting(Output fetch, bool early, Run nested) : own(fetch), in_before_run(early), run(std::move(nested)) {}

  SessionRunArgs before_run(SessionRunContext& context) override {
    if (in_before_run) nest(context);
    return {.fetches = {own}};
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    if (!in_before_run) nest(context);
    sums.push_back(values.results[0].scalar<float>() + (is_nested ? 0 : result));
  }
  void nest(SessionRunContext& context) {
    if (is_nested) return;
    is_nested = true;
    result = run(context);
    is_nested = false;
  }

  Output own;
  bool in_before_run;
  Run run;
  bool is_nested = false;
  float result = 0;
  std::vector<float> sums;
};

TEST_F(NestedRunTest, LeavesTheOuterRunItsValues) {
  for (const bool early : {true, false}) {
    Session* session = nullptr;
    const auto nesting = std::make_shared<Nesting>(
        one, early, [&](SessionRunContext&) { return session->run(hundred).scalar<float>(); });
    const auto last = hook("last", {.fetches = {{hundred, one}}});
    const auto owned = start({nesting, last});
    session = owned.get();
    EXPECT_EQ(owned->run(one).scalar<float>(), 1);
    EXPECT_EQ(nesting->sums, (std::vector<float>{1, 101})) << "in the nested run, and in the outer one";
    ASSERT_EQ(last->last_results.size(), 2U);
    EXPECT_EQ(last->last_results[0].scalar<float>(), 100);
    EXPECT_EQ(last->last_results[1].scalar<float>(), 1);
  }
}

TEST_F(NestedRunTest, OfTheEnginesSessionLeavesTheOuterRunItsValues) {
  for (const bool early : {true, false}) {
    const auto nesting = std::make_shared<Nesting>(
        one, early, [&](SessionRunContext& context) { return context.session().run(hundred).scalar<float>(); });
    const auto session = start({nesting, hook("last")});
    EXPECT_EQ(session->run(one).scalar<float>(), 1);
    EXPECT_EQ(nesting->sums, std::vector<float>{101});
  }
}

TEST_F(NestedRunTest, WorksWithAnEngineForGraphs) {
  for (const bool early : {true, false}) {
    for (const bool of_engine : {true, false}) {
      Graph graph;
      const Operation train = increment(create_global_step(graph)).operation();
      const Output in = placeholder(graph, DType::Float, Shape{}, "in");
      const Output out = identity(in, "out");
      const Output fixed = constant(graph, Tensor(100.0F), "fixed");
      MonitoredSession<SmallEngine>* session = nullptr;
      const auto nesting = std::make_shared<Nesting>(fixed, early, [&](SessionRunContext& context) {
        const FeedDict feeds{{in, 5.0F}};
        return (of_engine ? context.session().run(out, feeds) : session->run(out, feeds)).scalar<float>();
      });
      auto owned =
          monitored_training_session<SmallEngine>(graph, {.hooks = {nesting}, .file_system = &disk, .clock = &clock});
      session = &owned;
      const auto results = owned.run({out, train}, {{in, 1.0F}});
      EXPECT_EQ(results[0].scalar<float>(), 1);
      EXPECT_EQ(nesting->sums.back(), 105);
      EXPECT_EQ(owned.global_step(), 1);
    }
  }
}

TEST_F(NestedRunTest, WorksWithALoopOfOnesOwn) {
  for (const bool early : {true, false}) {
    LoopSession loop;
    float weight = 0;
    const Variable variable = loop.variable("weight", weight);
    const Output fixed = loop.value("fixed", [] { return 100.0F; });
    MonitoredSession<LoopSession>* session = nullptr;
    const auto nesting = std::make_shared<Nesting>(
        fixed, early, [&](SessionRunContext&) { return session->run([&] { return weight += 1; }); });
    auto owned = monitored_training_session(loop, {.hooks = {nesting}, .file_system = &disk, .clock = &clock});
    session = &owned;
    const float result = owned.run([&] {
      nesting->is_nested = true;
      EXPECT_EQ(owned.run(variable.read).scalar<float>(), early ? 1 : 0);
      nesting->is_nested = false;
      return weight += 10;
    });
    EXPECT_EQ(result, early ? 11 : 10);
    EXPECT_EQ(nesting->sums.back(), early ? 101 : 111);
    EXPECT_EQ(loop.global_step(), 2);
  }
}

TEST_F(NestedRunTest, WithoutOneAStepAllocatesNothing) {
  const auto session = start({StopAtStepHook({.last_step = 1'000'000}), StopAtStepHook({.last_step = 2'000'000})});
  script.keeps_requests = false;
  const auto steps = [&] {
    for (int i = 0; i < 10; ++i) session->run(script.train());
  };
  steps();
  const support::AllocationCount count;
  steps();
  EXPECT_EQ(count.so_far(), 0U);
}

TEST_F(NestedRunTest, ItsLossIsOneOfTheOuterRun) {
  const auto a = hook("a");
  const auto b = hook("b");
  const auto session = start({a, b});
  bool has_nested = false;
  b->act["after_run 0"] = [&](SessionRunContext*) {
    if (!std::exchange(has_nested, true)) session->run(script.train());
  };
  script.throw_at(1, AbortedError("lost"));
  EXPECT_EQ(session->run(one).scalar<float>(), 1);
  EXPECT_EQ(script.sessions, 2);
  EXPECT_EQ(trace->take(),
            "a.before_run 0\nb.before_run 0\na.after_run 0\nb.after_run 0\n"
            "a.before_run 1\nb.before_run 1\na.on_run_failed 1: Aborted: lost\nb.on_run_failed 1: Aborted: lost\n"
            "b.on_run_failed 1: Aborted: lost\n"
            "a.after_create_session\nb.after_create_session\n"
            "a.before_run 2\nb.before_run 2\na.after_run 2\nb.after_run 2\n");
}

TEST_F(NestedRunTest, ItsLossMayBeCaught) {
  const auto a = hook("a");
  const auto session = start({a});
  a->act["after_run 0"] = [&](SessionRunContext*) {
    EXPECT_EQ(what_of([&] { session->run(script.train()); }), "Aborted: lost");
  };
  script.throw_at(1, AbortedError("lost"));
  EXPECT_EQ(session->run(one).scalar<float>(), 1);
  EXPECT_EQ(script.sessions, 1);
  session->run(script.train());
  session->close();
}

TEST_F(NestedRunTest, AStepFunctionThatLosesTheSessionByOneIsCalledAgain) {
  const auto session = start({hook("a")});
  script.throw_at(1, UnavailableError("gone"));
  int calls = 0;
  const float result = session->run_step_fn([&](StepContext<ScriptedSession>& step) {
    ++calls;
    session->run(script.train());
    return step.session().run(one).scalar<float>() + step.run_with_hooks(hundred).scalar<float>();
  });
  EXPECT_EQ(result, 101);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(script.sessions, 2);
}

TEST_F(NestedRunTest, AStepFunctionThatCatchesTheLossContinuesInItsSession) {
  const auto session = start({hook("a")});
  script.throw_at(1, UnavailableError("gone"));
  const float result = session->run_step_fn([&](StepContext<ScriptedSession>& step) {
    EXPECT_EQ(what_of([&] { session->run(script.train()); }), "Unavailable: gone");
    EXPECT_FALSE(session->should_stop());
    return step.session().run(one).scalar<float>() + step.run_with_hooks(hundred).scalar<float>();
  });
  EXPECT_EQ(result, 101);
  EXPECT_EQ(script.sessions, 1);
}

TEST_F(NestedRunTest, ALossByAThreadIsUpToTheOuterRun) {
  const auto a = hook("a");
  const auto session = start({a});
  a->act["after_run 0"] = [&](SessionRunContext*) {
    a->last_coordinator->request_stop(std::make_exception_ptr(AbortedError("lost")));
    EXPECT_FALSE(session->should_stop());
  };
  EXPECT_EQ(session->run(one).scalar<float>(), 1);
  EXPECT_EQ(script.sessions, 1);
  EXPECT_FALSE(session->should_stop());
  EXPECT_EQ(script.sessions, 2);
}

TEST_F(NestedRunTest, IsRefusedWhileTheSessionIsRecreated) {
  const auto a = hook("a");
  const auto session = start({a});
  std::string seen;
  a->act["after_create_session"] = [&](SessionRunContext*) {
    EXPECT_TRUE(session->should_stop());
    seen = what_of([&] { session->run(script.train()); });
  };
  script.throw_at(1, AbortedError("lost"));
  session->run(script.train());
  EXPECT_EQ(seen,
            "FailedPrecondition: the session is being created: run it from before_run on, or through its SessionRef");
}

TEST_F(NestedRunTest, ACloseInACallbackComesWhenTheRunIsOver) {
  for (const std::string callback : {"before_run 0", "after_run 0"}) {
    SCOPED_TRACE(callback);
    const auto a = hook("a");
    const auto session = start({a, hook("b")});
    a->act[callback] = [&](SessionRunContext*) {
      session->close();
      EXPECT_TRUE(session->should_stop());
      EXPECT_EQ(what_of([&] { session->run(one); }),
                "FailedPrecondition: Session is already closed; create a new one to continue");
    };
    EXPECT_EQ(session->run(one).scalar<float>(), 1);
    EXPECT_EQ(trace->take(), "a.before_run 0\nb.before_run 0\na.after_run 0\nb.after_run 0\na.end\nb.end\n");
    EXPECT_TRUE(session->should_stop());
    session->close();
    EXPECT_EQ(trace->take(), "");
  }
}

TEST_F(NestedRunTest, ACloseInTheStepComesWhenTheRunIsOver) {
  const auto session = start({hook("a")});
  EXPECT_EQ(session->run([&] {
    session->close();
    return 7;
  }),
            7);
  EXPECT_EQ(trace->take(), "a.before_run 0\na.after_run 0\na.end\n");

  const auto another = start({hook("a")});
  EXPECT_EQ(another->run_step_fn([&](StepContext<ScriptedSession>& step) {
    another->close();
    EXPECT_THROW(step.run_with_hooks(script.train()), FailedPreconditionError);
    return step.session().run(one).scalar<float>();
  }),
            1);
}

TEST_F(NestedRunTest, ACloseInACallbackEndsTheSessionThoughTheRunFails) {
  const auto a = hook("a");
  const auto b = hook("b");
  const auto session = start({a, b});
  a->act["after_run 0"] = [&](SessionRunContext*) { session->close(); };
  a->act["end"] = [](SessionRunContext*) { throw InternalError("a cannot end"); };
  b->act["after_run 0"] = [](SessionRunContext*) { throw InvalidArgumentError("broken"); };
  EXPECT_EQ(what_of([&] { session->run(one); }), "InvalidArgument: broken");
  EXPECT_TRUE(trace->take().ends_with("b.on_run_failed 0: InvalidArgument: broken\na.end\nb.end\n"));
  EXPECT_EQ(log.count("E hook 'a' failed in end: Internal: a cannot end"), 1U);
}

TEST_F(NestedRunTest, AnErrorOfACloseInACallbackLeavesTheRun) {
  const auto a = hook("a");
  const auto session = start({a});
  a->act["after_run 0"] = [&](SessionRunContext*) { session->close(); };
  a->act["end"] = [](SessionRunContext*) { throw InternalError("a cannot end"); };
  EXPECT_EQ(what_of([&] { session->run(one); }), "Internal: a cannot end");
  EXPECT_TRUE(session->should_stop());
}

TEST_F(NestedRunTest, AfterACloseInACallbackALossIsNotRunAgain) {
  const auto a = hook("a");
  const auto b = hook("b");
  const auto session = start({a, b});
  a->act["after_run 0"] = [&](SessionRunContext*) { session->close(); };
  b->act["after_run 0"] = [](SessionRunContext*) { throw AbortedError("lost"); };
  session->run(script.train());
  EXPECT_EQ(trace->take(),
            "a.before_run 0\nb.before_run 0\na.after_run 0\nb.after_run 0\nb.on_run_failed 0: Aborted: lost\n"
            "a.after_create_session\nb.after_create_session\na.end\nb.end\n");
  EXPECT_EQ(script.closes, 2);
}

TEST_F(NestedRunTest, AnAbortInACallbackComesWhenTheRunIsOver) {
  const auto a = hook("a");
  const auto session = start({a, hook("b")});
  a->act["after_run 0"] = [&](SessionRunContext*) { session->abort(std::make_exception_ptr(InternalError("enough"))); };
  EXPECT_EQ(session->run(one).scalar<float>(), 1);
  EXPECT_EQ(trace->take(),
            "a.before_run 0\nb.before_run 0\na.after_run 0\nb.after_run 0\nb.abort Internal: enough\na.abort Internal: "
            "enough\n");
}

TEST_F(NestedRunTest, OneHookInTwoOpenSessionsIsRefusedByTheSecond) {
  const auto shared = hook("shared");
  const auto first = start({hook("a"), shared});
  testing::Script other;
  const auto begin_second = [&] {
    Session(std::make_shared<testing::ScriptedSessionCreator>(other),
            {.hooks = {hook("b"), shared, hook("c")}, .file_system = &disk, .clock = &clock})
        .close();
  };
  EXPECT_EQ(
      what_of(begin_second),
      "FailedPrecondition: a hook, RecordingHook, is in another session that is still open; a hook belongs to one "
      "session at a time, so close that session before, or make a hook for each");
  EXPECT_EQ(
      trace->take(),
      "b.begin\nb.abort FailedPrecondition: a hook, RecordingHook, is in another session that is still open; a hook "
      "belongs to one session at a time, so close that session before, or make a hook for each\n");
  first->run(one);
  first->close();
  EXPECT_EQ(trace->take(),
            "a.before_run 0\nshared.before_run 0\na.after_run 0\nshared.after_run 0\na.end\nshared.end\n");
  EXPECT_EQ(what_of(begin_second), "nothing");
}

TEST_F(NestedRunTest, AHookIsFreeAgainHoweverItsSessionEnded) {
  const auto shared = hook("shared");
  shared->act["begin"] = [](SessionRunContext*) { throw InternalError("not now"); };
  EXPECT_EQ(what_of([&] { (void)start({shared}); }), "Internal: hook 'RecordingHook' failed in begin: not now");
  shared->act.clear();
  (void)start({shared})->abort(nullptr);
  (void)start({shared});  // ended by its destructor
  start({shared})->close();
}

}  // namespace
}  // namespace trainhook
