// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordingHook and RecordingListener: what they write down, and how they misbehave.
#include <trainhook/testing/recording_hook.hpp>

#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook::testing {
namespace {

class RecordingHookTest : public ::testing::Test {
 protected:
  std::shared_ptr<RecordingHook> hook(RecordingHook::Options options) {
    return std::make_shared<RecordingHook>(trace, std::move(options));
  }
  MonitoredSession<ScriptedSession> session(HookList hooks) {
    return MonitoredSession<ScriptedSession>(std::make_shared<ScriptedSessionCreator>(script),
                                             {.hooks = std::move(hooks), .file_system = &disk, .clock = &clock});
  }

  ManualClock clock;
  MemoryFileSystem disk;
  Script script;
  std::shared_ptr<Trace> trace = std::make_shared<Trace>();
};

TEST_F(RecordingHookTest, WritesDownEveryCallback) {
  auto one = session({hook({.name = "a"})});
  one.run(script.train());
  one.close();
  EXPECT_EQ(trace->lines(), "a.begin\na.after_create_session\na.before_run 0\na.after_run 0\na.end\n");
}

TEST_F(RecordingHookTest, SharesATraceWithOthers) {
  auto both = session({hook({.name = "late", .phase = HookPhase::Save}), hook({.name = "early"})});
  (void)trace->take();
  both.run(script.train());
  EXPECT_EQ(trace->take(), "early.before_run 0\nlate.before_run 0\nearly.after_run 0\nlate.after_run 0\n");
}

TEST_F(RecordingHookTest, KeepsTheResultsOfItsFetches) {
  const Output loss = script.value("loss", [] { return 0.5F; });
  const auto watching = hook({.args = {.fetches = {loss}}});
  auto one = session({watching});
  one.run(script.train());
  ASSERT_EQ(watching->last_results.size(), 1U);
  EXPECT_EQ(watching->last_results[0], Tensor(0.5F));
}

TEST_F(RecordingHookTest, DoesWhatItIsToldAtACallback) {
  const auto stopping = hook({});
  stopping->act["after_run 1"] = [](SessionRunContext* context) { context->request_stop(); };
  auto one = session({stopping});
  int runs = 0;
  while (!one.should_stop()) {
    one.run(script.train());
    ++runs;
  }
  EXPECT_EQ(runs, 2);
}

TEST_F(RecordingHookTest, WritesDownFailuresAndTheEndByAnError) {
  const auto failing = hook({});
  failing->act["after_run 0"] = [](SessionRunContext*) { throw std::runtime_error("no"); };
  auto one = session({failing});
  (void)trace->take();
  EXPECT_THROW(one.run(script.train()), std::runtime_error);
  one.abort(std::make_exception_ptr(AbortedError("over")));
  EXPECT_EQ(trace->take(), "hook.before_run 0\nhook.after_run 0\nhook.on_run_failed 0: no\nhook.abort Aborted: over\n");
}

TEST(RecordingListener, WritesDownEveryCallback) {
  const auto trace = std::make_shared<Trace>();
  RecordingListener listener(trace, "a");
  Script script;
  ScriptedSession session(script);
  listener.begin();
  listener.before_save(session, 4);
  listener.save_failed(session, 4, std::make_exception_ptr(DataLossError("gone")));
  listener.save_failed(session, 5, std::make_exception_ptr(std::runtime_error("odd")));
  EXPECT_FALSE(listener.after_save(session, 6));
  listener.end(session, 6);
  EXPECT_EQ(trace->lines(),
            "a.begin\na.before_save 4\na.save_failed 4: DataLoss\na.save_failed 5: odd\na.after_save 6\na.end 6\n");
}

TEST(RecordingListener, DoesWhatItIsTold) {
  RecordingListener listener(std::make_shared<Trace>());
  Script script;
  ScriptedSession session(script);
  listener.stop_after = 2;
  listener.act["before_save 3"] = [] { throw UnknownError("fails"); };
  EXPECT_TRUE(listener.after_save(session, 2));
  EXPECT_FALSE(listener.after_save(session, 3));
  EXPECT_THROW(listener.before_save(session, 3), UnknownError);
}

}  // namespace
}  // namespace trainhook::testing
