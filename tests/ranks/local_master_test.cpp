// SPDX-License-Identifier: Apache-2.0
/// @file
/// Chief, workers and queue runners of one process: whose end, and whose error, is whose.
#include <trainhook/ranks/local_master.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <small_engine.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/model/ops/queue.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/compat/singular_monitored_session.hpp>
#include <trainhook/ranks/worker_session_creator.hpp>
#include <trainhook/ranks/workers.hpp>
#include <trainhook/compat/queue_runner.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using testing::RecordingHook;
using testing::ScriptedSession;

std::string what_of(const std::function<void()>& action) {
  try {
    action();
  } catch (...) { return describe(std::current_exception()); }
  return "nothing";
}

/// How a session ended for its hook: the last line of its trace.
std::string end_of(testing::Trace& trace) {
  std::string lines = trace.take();
  if (!lines.empty()) lines.pop_back();
  return lines.substr(lines.rfind('\n') + 1);
}

/// A graph whose input goes through a queue.
class QueueTest : public ::testing::Test {
 protected:
  struct Engine final : GraphSession {
    explicit Engine(Graph& graph)
        : GraphSession(graph, {.kernels = {kernels::data(), kernels::queue(), kernels::state(),
                                           KernelGroup(support::kSmallKernels)}}) {}
  };
  struct Input {
    explicit Input(const Dataset& dataset, std::int64_t capacity = 2)
        : queue(graph, capacity, {DType::Int64}, {Shape{}}), next(queue.dequeue()[0]) {
      const Operation enqueue = queue.enqueue({make_iterator(graph, dataset).get_next<1>()[0]});
      add_queue_runner(queue, {enqueue, enqueue});
    }
    Graph graph;
    FIFOQueue queue;
    Output next;
  };

  /// Numbers without end, or until the file is torn at the sixth.
  static Dataset numbers() { return Dataset::range(0, 50).repeat(); }
  static Dataset torn() {
    return Dataset::range(0, 50).map([](Element element) {
      if (element[0].scalar<std::int64_t>() == 5) throw DataLossError("the file is torn");
      return element;
    });
  }
  std::shared_ptr<RecordingHook> hook(const std::shared_ptr<testing::Trace>& trace) {
    return std::make_shared<RecordingHook>(trace, RecordingHook::Options{.name = "hook"});
  }
  MonitoredSession<Engine> start(Input& input, const std::shared_ptr<LocalMaster>& master, bool is_chief,
                                 const std::shared_ptr<testing::Trace>& trace) {
    return monitored_training_session<Engine>(input.graph,
                                              {.peers = is_chief ? ranks::chief(master) : ranks::worker(master),
                                               .hooks = {hook(trace)},
                                               .file_system = &disk});
  }

  testing::LogLines log;
  testing::MemoryFileSystem disk;
  std::shared_ptr<testing::Trace> chiefs = std::make_shared<testing::Trace>();
  std::shared_ptr<testing::Trace> workers = std::make_shared<testing::Trace>();
};

constexpr int kRepeats = 100;  // either thread may come first

TEST_F(QueueTest, AnErrorOfTheInputIsNeverTakenForItsEnd) {
  for (int i = 0; i < kRepeats; ++i) {
    Input input(torn());
    const std::string seen = what_of([&] {
      SingularMonitoredSession<Engine> session(input.graph, {.hooks = {hook(chiefs)}, .file_system = &disk});
      while (!session.should_stop()) session.run(input.next);
      session.close();
    });
    ASSERT_NE(seen.find("the file is torn"), std::string::npos) << seen;
    const std::string end = end_of(*chiefs);
    ASSERT_TRUE(end.starts_with("hook.abort DataLoss: ")) << end;
  }
}

TEST_F(QueueTest, AWorkerThatEndsIsNothingToItsChief) {
  for (int i = 0; i < kRepeats; ++i) {
    Input input(numbers());
    const auto master = std::make_shared<LocalMaster>();
    auto chief = start(input, master, true, chiefs);
    std::thread thread([&] {
      auto worker = start(input, master, false, workers);
      for (int run = 0; run < 5; ++run) worker.run(input.next);
      EXPECT_EQ(what_of([&] { worker.close(); }), "nothing");
    });
    for (int run = 0; run < 5; ++run) chief.run(input.next);
    thread.join();
    EXPECT_EQ(what_of([&] {
                for (int run = 0; run < 5; ++run) chief.run(input.next);
                chief.close();
              }),
              "nothing");
    EXPECT_TRUE(chief.errors().empty());
    EXPECT_EQ(end_of(*chiefs), "hook.end");
    EXPECT_EQ(end_of(*workers), "hook.end");
  }
}

TEST_F(QueueTest, AChiefThatEndsIsTheEndOfInputToItsWorkers) {
  for (int i = 0; i < kRepeats; ++i) {
    Input input(numbers());
    const auto master = std::make_shared<LocalMaster>();
    auto chief = start(input, master, true, chiefs);
    std::promise<void> is_running;
    std::thread thread([&] {
      auto worker = start(input, master, false, workers);
      worker.run(input.next);
      is_running.set_value();
      EXPECT_EQ(what_of([&] { run_until_stop(worker, [&] { worker.run(input.next); }); }), "nothing");
    });
    is_running.get_future().wait();
    chief.close();
    thread.join();
    EXPECT_EQ(end_of(*chiefs), "hook.end");
    EXPECT_EQ(end_of(*workers), "hook.end");
  }
}

TEST_F(QueueTest, AnErrorOfTheInputReachesChiefAndWorker) {
  for (int i = 0; i < kRepeats; ++i) {
    Input input(torn());
    const auto master = std::make_shared<LocalMaster>();
    auto chief = start(input, master, true, chiefs);
    std::promise<void> is_there;
    std::string seen_by_worker;
    std::thread thread([&] {
      seen_by_worker = what_of([&] {
        auto worker = start(input, master, false, workers);
        is_there.set_value();
        run_until_stop(worker, [&] { worker.run(input.next); });
      });
    });
    is_there.get_future().wait();
    const std::string seen_by_chief = what_of([&] { run_until_stop(chief, [&] { chief.run(input.next); }); });
    thread.join();
    ASSERT_TRUE(seen_by_chief.starts_with("DataLoss: ")) << seen_by_chief;
    ASSERT_TRUE(seen_by_worker.starts_with("DataLoss: ")) << seen_by_worker;
    ASSERT_NE(seen_by_worker.find("the file is torn"), std::string::npos) << seen_by_worker;
    ASSERT_TRUE(end_of(*chiefs).starts_with("hook.abort DataLoss: "));
    ASSERT_TRUE(end_of(*workers).starts_with("hook.abort DataLoss: "));
  }
}

TEST_F(QueueTest, AnErrorOfTheChiefEndsAWorkerThatWaitsForInput) {
  for (int i = 0; i < kRepeats; ++i) {
    Input input(numbers());
    const auto master = std::make_shared<LocalMaster>();
    auto chief = start(input, master, true, chiefs);
    std::promise<void> is_running;
    std::string seen;
    std::thread thread([&] {
      seen = what_of([&] {
        auto worker = start(input, master, false, workers);
        worker.run(input.next);
        is_running.set_value();
        run_until_stop(worker, [&] { worker.run(input.next); });
      });
    });
    is_running.get_future().wait();
    EXPECT_THROW(run_until_stop(chief, [&] { throw InvalidArgumentError("the loss is NaN"); }), InvalidArgumentError);
    thread.join();
    const std::string error =
        "InvalidArgument: the chief of this worker ended by an error: InvalidArgument: the loss is NaN";
    ASSERT_EQ(seen, error);
    ASSERT_EQ(end_of(*chiefs), "hook.abort InvalidArgument: the loss is NaN");
    ASSERT_EQ(end_of(*workers), "hook.abort " + error);
  }
}

/// A chief and a worker in one thread, on a scripted session.
class ChiefAndWorkerTest : public ::testing::Test {
 protected:
  using Session = MonitoredSession<ScriptedSession>;

  std::unique_ptr<Session> start_chief(RetryPolicy retry = {}) {
    return std::make_unique<Session>(
        ranks::publish(master, std::make_shared<ChiefSessionCreator>(
                                   script.graph(), [this] { return OwnedSession::make<ScriptedSession>(script); },
                                   ChiefSessionCreatorOptions{.file_system = &disk, .clock = &clock})),
        MonitoredSessionOptions{
            .hooks = {chiefs_hook(), own_hook}, .retry = std::move(retry), .file_system = &disk, .clock = &clock});
  }
  std::unique_ptr<Session> start_worker() {
    auto worker = std::make_unique<Session>(
        std::make_shared<WorkerSessionCreator>(
            WorkerSessionCreatorOptions{.master = master, .max_wait_secs = std::chrono::hours(1)}),
        MonitoredSessionOptions{
            .hooks = {RecordingHook(workers, {.name = "worker"})}, .file_system = &disk, .clock = &clock});
    (void)workers->take();
    return worker;
  }
  static std::shared_ptr<RecordingHook> chiefs_hook() {
    return std::make_shared<RecordingHook>(std::make_shared<testing::Trace>(), RecordingHook::Options{.name = "chief"});
  }

  testing::LogLines log;
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  testing::Script script;
  std::shared_ptr<LocalMaster> master = std::make_shared<LocalMaster>(clock);
  std::shared_ptr<testing::Trace> workers = std::make_shared<testing::Trace>();
  std::shared_ptr<RecordingHook> own_hook =
      std::make_shared<RecordingHook>(std::make_shared<testing::Trace>(), RecordingHook::Options{.name = "own"});
};

TEST_F(ChiefAndWorkerTest, AWorkerStopsWithTheErrorThatItsChiefEndedBy) {
  const std::string error = "DataLoss: the chief of this worker ended by an error: DataLoss: the disk is gone";
  for (const std::string by : {"loop function", "run", "close", "destructor"}) {
    SCOPED_TRACE(by);
    const auto chief = start_chief();
    auto worker = start_worker();
    worker->run(script.train());
    (void)workers->take();
    chief->abort(std::make_exception_ptr(DataLossError("the disk is gone")));
    std::string seen = error;
    if (by == "loop function") {
      seen = what_of([&] { run_until_stop(*worker, [] { FAIL() << "there is no saver any more"; }); });
    } else if (by == "run") {
      seen = what_of([&] { worker->run(script.train()); });
      EXPECT_EQ(workers->take(), "");
      EXPECT_TRUE(worker->should_stop());
      EXPECT_EQ(what_of([&] { worker->close(); }), error);
    } else if (by == "close") {
      seen = what_of([&] { worker->close(); });
    } else {
      worker.reset();
    }
    EXPECT_EQ(seen, error);
    EXPECT_EQ(workers->take(), "worker.abort " + error + "\n");
  }
}

TEST_F(ChiefAndWorkerTest, AnErrorThatWouldLetAWorkerContinueIsCancelled) {
  const std::pair<std::exception_ptr, const char*> errors[] = {
      {std::make_exception_ptr(OutOfRangeError("index")), "an error: OutOfRange: index"},
      {std::make_exception_ptr(AbortedError("lost")), "an error: Aborted: lost"},
      {std::make_exception_ptr(UnavailableError("gone")), "an error: Unavailable: gone"},
      {std::make_exception_ptr(7), "an error: an exception that is not a std::exception"},
      {nullptr, "an error, which is unknown here"}};
  for (const auto& [error, text] : errors) {
    const auto chief = start_chief();
    const auto worker = start_worker();
    chief->abort(error);
    EXPECT_TRUE(worker->should_stop());
    EXPECT_EQ(what_of([&] { worker->close(); }), "Cancelled: the chief of this worker ended by " + std::string(text));
  }
}

TEST_F(ChiefAndWorkerTest, AChiefWhoseEndFailsEndsItsWorkersToo) {
  const auto chief = start_chief();
  const auto worker = start_worker();
  own_hook->act["end"] = [](SessionRunContext*) { throw ResourceExhaustedError("the disk is full"); };
  EXPECT_THROW(chief->close(), ResourceExhaustedError);
  EXPECT_EQ(what_of([&] { worker->close(); }),
            "ResourceExhausted: the chief of this worker ended by an error: ResourceExhausted: the disk is full");
}

TEST_F(ChiefAndWorkerTest, AChiefThatEndsNormallyLetsItsWorkersContinue) {
  const auto chief = start_chief();
  const auto worker = start_worker();
  chief->close();
  worker->run(script.train());
  EXPECT_FALSE(worker->should_stop());
  worker->close();
  EXPECT_EQ(workers->take(), "worker.before_run 0\nworker.after_run 0\nworker.end\n");
}

TEST_F(ChiefAndWorkerTest, AWorkerThatWaitsForTheNextSessionIsToldThatThereIsNone) {
  auto chief = start_chief({.max_attempts = 0});
  std::string seen;
  std::promise<void> is_there;
  std::promise<void> is_lost;
  std::thread thread([&] {
    const auto worker = start_worker();
    is_there.set_value();
    is_lost.get_future().wait();
    seen = what_of([&] { worker->run(script.train()); });
  });
  is_there.get_future().wait();
  master->withdraw();  // as a recovery does
  is_lost.set_value();
  while (clock.waiters() == 0) std::this_thread::yield();
  chief->abort(std::make_exception_ptr(AbortedError("lost for good")));
  thread.join();
  EXPECT_EQ(seen, "Cancelled: the chief of this worker ended by an error: Aborted: lost for good");
}

TEST_F(ChiefAndWorkerTest, AWorkerThatWaitsForItsChiefIsToldThatItFailed) {
  std::string seen;
  std::thread thread([&] { seen = what_of([&] { (void)start_worker(); }); });
  while (clock.waiters() == 0) std::this_thread::yield();
  own_hook->act["begin"] = [](SessionRunContext*) { throw InternalError("cannot begin"); };
  EXPECT_THROW((void)start_chief(), InternalError);
  thread.join();
  EXPECT_EQ(seen,
            "Internal: the chief of this worker ended by an error: Internal: hook 'RecordingHook' failed in begin: "
            "cannot begin");
}

TEST_F(ChiefAndWorkerTest, TheNextChiefOfTheSameMasterHasItsOwnWorkers) {
  start_chief()->abort(std::make_exception_ptr(InternalError("broke")));
  const auto chief = start_chief();
  const auto worker = start_worker();
  worker->run(script.train());
  worker->close();
  chief->close();
  EXPECT_TRUE(worker->errors().empty());
}

TEST_F(ChiefAndWorkerTest, ALossOfTheChiefsSessionIsNotAnEndOfInput) {
  const auto chief = start_chief();
  const auto worker = start_worker();
  script.throw_at(1, AbortedError("lost"));
  chief->run(script.train());
  EXPECT_EQ(script.sessions, 2);
  worker->run(script.train());
  EXPECT_EQ(workers->take(),
            "worker.before_run 0\nworker.on_run_failed 0: FailedPrecondition: the scripted session is closed\n"
            "worker.after_create_session\nworker.before_run 1\nworker.after_run 1\n");
}

}  // namespace
}  // namespace trainhook
