// SPDX-License-Identifier: Apache-2.0
/// @file
/// LiveSession: one life of a session beside background threads.
#include <trainhook/monitored/live_session.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <shared_session_double.hpp>
#include <small_engine.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/compat/queue_runner.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using detail::Hooks;
using detail::LiveSession;

using support::SmallEngine;

/// An error of an engine's own.
struct KernelBroke : InvalidArgumentError {
  using InvalidArgumentError::InvalidArgumentError;
};

class LiveSessionTest : public ::testing::Test {
 protected:
  ~LiveSessionTest() override { set_log_sink(previous_sink); }

  std::unique_ptr<LiveSession> make() {
    auto session =
        std::make_unique<LiveSession>(creator->create_session(), hooks, services, recovery, std::chrono::seconds(120));
    session->start(creator->is_chief());
    return session;
  }
  float run(LiveSession& session, float fed) {
    const Fetch fetch(out);
    const Feed feed{in, fed};
    Tensor result;
    session.run({.fetches = {&fetch, 1}, .feed_dict = {&feed, 1}}, {&result, 1});
    return result.scalar<float>();
  }

  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  FileWriterCache writers{{.file_system = &disk, .clock = &clock}};
  detail::SessionServices services{disk, clock, writers};
  detail::RecoveryPolicy recovery{{}, clock};
  Graph graph;
  Output in = placeholder(graph, DType::Float, Shape{}, "in");
  Output out = identity(in, "out");
  Hooks hooks;
  std::shared_ptr<ChiefSessionCreator> creator =
      chief_session_creator<SmallEngine>(graph, {.file_system = &disk, .clock = &clock});
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

TEST_F(LiveSessionTest, M031_ShowsTheEnginesGraph) { EXPECT_EQ(&make()->session().graph(), &graph); }

TEST_F(LiveSessionTest, M032_Runs) { EXPECT_EQ(run(*make(), 42), 42); }

TEST_F(LiveSessionTest, M033_CloseAsksThreadsToStopAndEndsTheSession) {
  const auto session = make();
  EXPECT_FALSE(session->should_stop());
  EXPECT_TRUE(session->close().empty());
  EXPECT_TRUE(session->should_stop());
  EXPECT_TRUE(session->close().empty());
  EXPECT_THROW(run(*session, 1), FailedPreconditionError);
}

TEST_F(LiveSessionTest, M034_StopsWhenItsCoordinatorIsAskedTo) {
  const auto session = make();
  EXPECT_FALSE(session->should_stop());
  session->coordinator().request_stop();
  EXPECT_TRUE(session->should_stop());
  EXPECT_EQ(run(*session, 3), 3);  // a run still works
}

TEST_F(LiveSessionTest, M036_S39_CloseAfterAnErrorStopsAllThreadsAtOnce) {
  const Duration start = clock.monotonic_now();
  const auto session = make();
  std::atomic<int> alive = 0;
  for (int i = 0; i < 3; ++i) {
    ++alive;
    session->coordinator().start_thread([&alive, this](const std::stop_token& stop) {
      detail::wait_for_stop(stop, clock, clock.monotonic_now() + std::chrono::hours(24));
      --alive;
    });
  }
  EXPECT_EQ(run(*session, 1), 1);
  EXPECT_EQ(run(*session, 2), 2);
  const Fetch unfed(out);
  Tensor result;
  EXPECT_THROW(session->run({.fetches = {&unfed, 1}}, {&result, 1}), InvalidArgumentError);
  EXPECT_EQ(alive, 3);
  EXPECT_TRUE(session->close().empty());
  EXPECT_EQ(alive, 0);
  EXPECT_TRUE(session->coordinator().should_stop());
  EXPECT_TRUE(session->should_stop());
  EXPECT_EQ(clock.monotonic_now(), start);
}

TEST_F(LiveSessionTest, M038_TheErrorThatLeavesRunIsTheOneThatWasThrown) {
  struct Breaking final : SessionRunHook {
    void after_run(SessionRunContext&, const SessionRunValues&) override {
      try {
        throw KernelBroke("kernel broke");
      } catch (...) {
        thrown = std::current_exception();
        throw;
      }
    }
    std::exception_ptr thrown;
  };
  const auto hook = std::make_shared<Breaking>();
  hooks.push_back(hook);
  const auto session = make();
  try {
    (void)run(*session, 1);
    FAIL();
  } catch (const KernelBroke& error) {  // neither sliced nor wrapped
    EXPECT_STREQ(error.what(), "kernel broke");
    EXPECT_EQ(std::current_exception(), hook->thrown);
  }
}

TEST_F(LiveSessionTest, AThreadsErrorThatCameFirstIsThrownAndTheOtherKeptBehindIt) {
  const auto session = make();
  session->coordinator().request_stop(std::make_exception_ptr(AbortedError("lost")));
  EXPECT_THROW(session->guarded([] { throw CancelledError("so this was cancelled"); }), AbortedError);
  const std::vector<std::exception_ptr> errors = session->close();
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(describe(errors[0]), "Aborted: lost");
  EXPECT_EQ(describe(errors[1]), "Cancelled: so this was cancelled");
}

TEST_F(LiveSessionTest, QueueRunnersRunFromBeforeAfterCreateSessionUntilClose) {
  const Variable filled =
      make_variable("filled", constant(graph, Tensor(std::int64_t{0}), "zero"), {.trainable = false});
  add_queue_runner(graph, {.enqueue_ops = {assign_add(filled, constant(graph, Tensor(std::int64_t{1}))).operation()},
                           .cancel_op = assign(filled, constant(graph, Tensor(std::int64_t{-1}))).operation()});
  struct Waiting final : SessionRunHook {
    explicit Waiting(Variable of) : filled(of) {}
    void after_create_session(SessionRef session, Coordinator&) override {
      while (session.run(filled.read).scalar<std::int64_t>() < 3) std::this_thread::yield();
    }
    Variable filled;
  };
  hooks.push_back(std::make_shared<Waiting>(filled));
  const auto session = make();
  EXPECT_EQ(run(*session, 1), 1);
  EXPECT_TRUE(session->close().empty());  // its threads have ended
}

TEST_F(LiveSessionTest, ASessionThatItsChiefHasGivenUpIsUnavailable) {
  struct Sharing final : SessionCreator {
    explicit Sharing(Graph& graph) : session(graph) {}
    Graph& graph() override { return session.graph(); }
    OwnedSession create_session() override { return {.owner = {}, .session = session, .shared = share}; }
    SmallEngine session;
    std::shared_ptr<support::SharedSessionDouble> share = std::make_shared<support::SharedSessionDouble>();
  } sharing(graph);
  LiveSession session(sharing.create_session(), hooks, services, recovery, std::chrono::seconds(1));
  session.start(true);
  EXPECT_EQ(run(session, 1), 1);
  sharing.share->lost = true;
  sharing.session.close();
  try {
    (void)run(session, 1);
    FAIL();
  } catch (const UnavailableError& error) {
    EXPECT_STREQ(error.what(),
                 "the chief has given up the session: FailedPrecondition: Attempted to use a closed Session.");
  }
}

}  // namespace
}  // namespace trainhook
