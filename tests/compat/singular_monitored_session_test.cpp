// SPDX-License-Identifier: Apache-2.0
/// @file
/// SingularMonitoredSession: as a MonitoredSession, but a loss is an error as any other.
#include <trainhook/compat/singular_monitored_session.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <small_engine.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>

namespace trainhook {
namespace {

using support::SmallEngine;
using Session = SingularMonitoredSession<SmallEngine>;

class SingularMonitoredSessionTest : public ::testing::Test {
 protected:
  ~SingularMonitoredSessionTest() override { set_log_sink(previous_sink); }

  SingularMonitoredSessionOptions options(HookList hooks, const std::string& directory = {}) {
    return {.hooks = std::move(hooks), .checkpoint_dir = directory, .file_system = &disk, .clock = &clock};
  }
  std::int64_t now(Session& session) { return session.run(step.read).scalar<std::int64_t>(); }

  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  std::shared_ptr<testing::Trace> trace = std::make_shared<testing::Trace>();
  std::shared_ptr<testing::RecordingHook> hook =
      std::make_shared<testing::RecordingHook>(trace, testing::RecordingHook::Options{.name = "a"});
  Graph graph;
  Variable step = create_global_step(graph);
  Output inc = increment(step);
  LogSink previous_sink = set_log_sink([](LogLevel, std::string_view) {});
};

TEST_F(SingularMonitoredSessionTest, M095_Initializes) {
  Session session(graph, options({}));
  EXPECT_EQ(now(session), 0);
}

TEST_F(SingularMonitoredSessionTest, M100_ShowsItsGraph) {
  Session session(graph, options({}));
  EXPECT_EQ(&session.graph(), &graph);
}

TEST_F(SingularMonitoredSessionTest, M101_ShowsItsEngine) {
  Session session(graph, options({}));
  static_assert(std::is_same_v<decltype(session.raw_session()), SmallEngine&>);
  EXPECT_EQ(session.raw_session().run(inc).scalar<std::int64_t>(), 1);
  session.close();
  EXPECT_THROW((void)session.raw_session(), FailedPreconditionError);
}

TEST_F(SingularMonitoredSessionTest, M098_AThreadsErrorLetsTheNextRunWorkAndComesOutAtTheEnd) {
  Session session(graph, options({hook}));
  std::int64_t seen = -1;
  EXPECT_THROW(run_until_stop(session,
                              [&] {
                                hook->last_coordinator->request_stop(
                                    std::make_exception_ptr(std::runtime_error("a thread wants to stop")));
                                seen = now(session);
                              }),
               std::runtime_error);
  EXPECT_EQ(seen, 0);
}

TEST_F(SingularMonitoredSessionTest, ALossLeavesRunAndTheSessionContinues) {
  for (const std::string callback : {"before_run 0", "after_run 0"}) {
    hook->act = {{callback, [this](SessionRunContext*) {
                    hook->act.clear();
                    throw AbortedError("lost");
                  }}};
    (void)trace->take();
    Session session(graph, options({hook}));
    EXPECT_THROW(session.run(inc), AbortedError);
    EXPECT_FALSE(session.should_stop());
    EXPECT_EQ(now(session), callback == "after_run 0" ? 1 : 0);  // the same session
    session.close();
    hook = std::make_shared<testing::RecordingHook>(trace, testing::RecordingHook::Options{.name = "a"});
  }
}

TEST_F(SingularMonitoredSessionTest, ALossWhileItIsMadeLeavesTheConstructor) {
  hook->act["after_create_session"] = [](SessionRunContext*) { throw UnavailableError("lost"); };
  EXPECT_THROW(Session(graph, options({hook})), UnavailableError);
  EXPECT_EQ(trace->lines(), "a.begin\na.after_create_session\na.abort Unavailable: lost\n");
}

TEST_F(SingularMonitoredSessionTest, X27_S11_AThreadsErrorOfAnyKindStopsTheLoopWithoutAThrowAndComesOutOfClose) {
  for (const std::exception_ptr& error :
       {std::make_exception_ptr(AbortedError("lost")), std::make_exception_ptr(InternalError("broken"))}) {
    Session session(graph, options({hook}));
    hook->last_coordinator->request_stop(error);
    static_assert(noexcept(session.should_stop()));
    EXPECT_TRUE(session.should_stop());
    EXPECT_THROW(session.close(), Error);
    ASSERT_EQ(session.errors().size(), 1U);
    EXPECT_EQ(session.errors()[0], error);
    hook = std::make_shared<testing::RecordingHook>(trace, testing::RecordingHook::Options{.name = "a"});
  }
}

TEST_F(SingularMonitoredSessionTest, RestoresFromADirectoryOrAFile) {
  {
    Session session(graph, options({CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1})}, "run"));
    session.run(inc);
    session.run(inc);
    session.close();
  }
  Session from_directory(graph, options({}, "run"));
  EXPECT_EQ(now(from_directory), 2);
  SingularMonitoredSessionOptions of_file = options({});
  of_file.checkpoint_filename_with_path = "run/model.ckpt-1";
  Session from_file(graph, of_file);
  EXPECT_EQ(now(from_file), 1);
}

TEST_F(SingularMonitoredSessionTest, S17_AModelFromElsewhereIsSavedOverOneOfTheSameStep) {
  testing::LogLines log;
  const auto saved_weight = [&] {
    return BundleReader("a/model.ckpt-0", {.file_system = &disk}).get_tensor("w").scalar<float>();
  };
  const auto saves = [&](float weight, const std::string& into, SingularMonitoredSessionOptions from) {
    LoopSession loop;
    loop.variable("w", weight);
    from.hooks = {CheckpointSaverHook({.checkpoint_dir = into, .save_steps = 10})};
    static_cast<void>(log.take());
    SingularMonitoredSession<LoopSession>(loop, std::move(from)).close();
    return log.count("Saving checkpoints");
  };
  EXPECT_EQ(saves(1, "a", options({})), 1U);
  EXPECT_EQ(saves(2, "b", options({})), 1U);
  EXPECT_EQ(saves(3, "a", options({}, "a")), 0U) << "restored, so there is nothing to save";
  EXPECT_EQ(saves(3, "./a/", options({}, "a")), 0U) << "the same directory, whatever it is called";
  EXPECT_EQ(saved_weight(), 1);
  SingularMonitoredSessionOptions other = options({});
  other.checkpoint_filename_with_path = "b/model.ckpt-0";
  EXPECT_EQ(saves(3, "a", other), 1U);
  EXPECT_EQ(saved_weight(), 2);
  EXPECT_EQ(saves(4, "a", options({})), 1U) << "initialized again";
  EXPECT_EQ(saved_weight(), 4);
}

TEST_F(SingularMonitoredSessionTest, GoesAroundALoopOfOnesOwn) {
  LoopSession loop;
  float weight = 1;
  loop.variable("weight", weight);
  SingularMonitoredSession<LoopSession> session(loop, options({hook}));
  session.run([&] { weight *= 2; });
  session.close();
  EXPECT_EQ(weight, 2);
  EXPECT_EQ(trace->lines(), "a.begin\na.after_create_session\na.before_run 0\na.after_run 0\na.end\n");
}

}  // namespace
}  // namespace trainhook
