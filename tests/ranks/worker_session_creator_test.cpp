// SPDX-License-Identifier: Apache-2.0
/// @file
/// Chief and workers of one process: who waits for whom, who ends the session, and what a loss means to the others.
#include <trainhook/ranks/worker_session_creator.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/ranks/local_master.hpp>
#include <trainhook/ranks/workers.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using testing::ScriptedSession;

class WorkerSessionCreatorTest : public ::testing::Test {
 protected:
  std::shared_ptr<SessionCreator> chief() {
    return ranks::publish(master, std::make_shared<ChiefSessionCreator>(
                                      script.graph(), [this] { return OwnedSession::make<ScriptedSession>(script); },
                                      ChiefSessionCreatorOptions{.file_system = &disk, .clock = &clock}));
  }
  WorkerSessionCreator worker(Duration wait = 10s) {
    return WorkerSessionCreator({.master = master, .max_wait_secs = wait});
  }
  template <class E, class Action>
  static std::string message_of(Action action) {
    try {
      action();
    } catch (const E& error) { return error.what(); }
    return "nothing was thrown";
  }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  testing::Script script;
  std::shared_ptr<LocalMaster> master = std::make_shared<LocalMaster>(clock);
};

TEST_F(WorkerSessionCreatorTest, SharesTheChiefsSessionAndGraph) {
  const auto of_chief = chief();
  const OwnedSession mine = of_chief->create_session();
  WorkerSessionCreator of_worker = worker();
  EXPECT_EQ(&of_worker.graph(), &script.graph());
  EXPECT_EQ(of_worker.create_session().session, mine.session);
  EXPECT_EQ(script.sessions, 1);
  EXPECT_TRUE(of_chief->is_chief());
  EXPECT_FALSE(of_worker.is_chief());
}

TEST_F(WorkerSessionCreatorTest, WaitsInItsThreadUntilTheChiefIsReady) {
  std::promise<SessionRef> joined;
  std::thread thread([&] { joined.set_value(worker(1h).create_session().session); });
  while (clock.waiters() == 0) std::this_thread::yield();
  const auto of_chief = chief();
  const OwnedSession mine = of_chief->create_session();
  EXPECT_EQ(joined.get_future().get(), mine.session);
  thread.join();
}

TEST_F(WorkerSessionCreatorTest, S30_GivesUpAtItsDeadlineExactly) {
  clock.auto_advance(true);
  const Duration start = clock.monotonic_now();
  const std::string message = message_of<DeadlineExceededError>([&] { (void)worker(3s).create_session(); });
  EXPECT_TRUE(message.starts_with("Session was not ready after waiting 3 secs")) << message;
  EXPECT_EQ(clock.monotonic_now() - start, 3s);
}

TEST_F(WorkerSessionCreatorTest, AWorkerWhoseChiefNeverComesSaysSo) {
  clock.auto_advance(true);
  const auto trace = std::make_shared<testing::Trace>();
  const auto of_worker = std::make_shared<WorkerSessionCreator>(worker(3s));
  EXPECT_THROW(
      MonitoredSession<ScriptedSession>(
          of_worker, {.hooks = {testing::RecordingHook(trace, {.name = "a"})}, .file_system = &disk, .clock = &clock}),
      DeadlineExceededError);
  EXPECT_EQ(trace->lines(), "");
}

TEST_F(WorkerSessionCreatorTest, AWaitWithoutEndIsNotOverAtOnce) {
  std::promise<std::string> joined;
  std::atomic<bool> is_back = false;
  std::thread thread([&] {
    joined.set_value(message_of<DeadlineExceededError>([&] { (void)worker(Duration::max()).create_session(); }));
    is_back = true;
  });
  while (clock.waiters() == 0 && !is_back) std::this_thread::yield();
  const auto of_chief = chief();
  const OwnedSession mine = of_chief->create_session();
  thread.join();
  EXPECT_EQ(joined.get_future().get(), "nothing was thrown");
}

TEST_F(WorkerSessionCreatorTest, TheLastUserEndsTheSession) {
  const auto of_chief = chief();
  OwnedSession mine = of_chief->create_session();
  OwnedSession theirs = worker().create_session();
  mine.close();
  EXPECT_EQ(script.closes, 0);
  theirs.session.run(script.train());
  theirs.close();
  EXPECT_EQ(script.closes, 1);
  clock.auto_advance(true);
  EXPECT_THROW((void)worker().create_session(), DeadlineExceededError);
}

TEST_F(WorkerSessionCreatorTest, ALossOfTheChiefsIsALossOfTheWorkers) {
  const auto of_chief = chief();
  OwnedSession mine = of_chief->create_session();
  WorkerSessionCreator of_worker = worker();
  OwnedSession theirs = of_worker.create_session();
  EXPECT_FALSE(theirs.shared->is_lost());
  mine.close();  // as a recovery does
  const OwnedSession next = of_chief->create_session();
  EXPECT_TRUE(theirs.shared->is_lost());
  EXPECT_THROW(theirs.session.run(script.train()), FailedPreconditionError);
  EXPECT_EQ(of_worker.create_session().session, next.session);
}

TEST_F(WorkerSessionCreatorTest, SaysWhatIsWrongWithItsOptions) {
  EXPECT_EQ(message_of<UnimplementedError>([] { WorkerSessionCreator({}); }),
            "WorkerSessionCreator: master is not given; a worker is a thread of its chief's process, so give both the "
            "same LocalMaster");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)worker(-2s); }),
            "WorkerSessionCreator: max_wait_secs is -2; it must not be negative");
}

}  // namespace
}  // namespace trainhook
