// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of QueueRunner: what its threads run, and how they end.
#include <trainhook/compat/queue_runner.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/graph.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_like.hpp>

namespace trainhook {
namespace {

/// An engine with a queue of `capacity` places: `enqueue` blocks while it is full, `close` and `cancel` end it. After
/// `limit` elements the source fails with `end`.
class QueueEngine {
 public:
  [[nodiscard]] Graph& graph() noexcept { return graph_; }
  void execute(const RunRequest& request, std::span<Tensor>) {
    const std::string& name = request.fetches[0].node().name();
    std::unique_lock lock(mutex);
    if (name == "enqueue") {
      has_begun = true;
      changed.notify_all();
      if (size == limit) std::rethrow_exception(end);
      ++waiting;
      changed.notify_all();
      changed.wait(lock, [&] { return size < capacity || cancelled || breaks; });
      --waiting;
      if (breaks) std::rethrow_exception(end);
      if (cancelled) throw CancelledError("the queue was cancelled");
      ++size;
    } else if (name == "close") {
      ++closes;
    } else {
      ++cancels;
      if (on_cancel) on_cancel();
      cancelled = true;
    }
    changed.notify_all();
  }
  [[nodiscard]] std::vector<StateSpec> state() const { return {}; }
  [[nodiscard]] std::vector<NamedTensor> snapshot(std::span<const std::string>) const { return {}; }
  void load(std::span<const NamedTensor>) {}
  void close() {}

  template <class Condition>
  void wait_until(Condition is_true) {
    std::unique_lock lock(mutex);
    changed.wait(lock, is_true);
  }
  void wait_until_size(int wanted) {
    wait_until([&] { return size == wanted; });
  }

 private:
  Graph graph_;

 public:
  Operation enqueue = graph_.add({.type = "NoOp", .name = "enqueue"});
  Operation close_queue = graph_.add({.type = "NoOp", .name = "close"});
  Operation cancel = graph_.add({.type = "NoOp", .name = "cancel"});
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0;
  int capacity = 1'000;
  int limit = -1;
  std::exception_ptr end;
  int closes = 0;
  int cancels = 0;
  int waiting = 0;
  bool cancelled = false;
  std::function<void()> on_cancel;
  bool breaks = false;
  bool has_begun = false;
};

TEST(QueueRunner, FillsTheQueueUntilAStopIsRequestedThenCancelsWhoIsBlocked) {
  QueueEngine engine;
  engine.capacity = 3;
  add_queue_runner(
      engine.graph(),
      {.enqueue_ops = {engine.enqueue, engine.enqueue}, .close_op = engine.close_queue, .cancel_op = engine.cancel});
  Coordinator coordinator;
  start_queue_runners(engine, coordinator);
  engine.wait_until_size(3);
  coordinator.request_stop();
  coordinator.join();
  EXPECT_TRUE(engine.cancelled);
  EXPECT_EQ(engine.closes, 0);
  EXPECT_EQ(coordinator.error(), nullptr);
}

TEST(QueueRunner, StartsNoSecondThreadsForASessionWhoseThreadsRun) {
  QueueEngine engine;
  QueueEngine other;
  const QueueRunner runner({.enqueue_ops = {engine.enqueue}, .cancel_op = engine.cancel});
  Coordinator coordinator;
  engine.capacity = 1;
  runner.create_threads(engine, coordinator);
  runner.create_threads(engine, coordinator);
  runner.create_threads(other, coordinator);  // a session of its own
  engine.wait_until_size(1);
  other.wait_until([&] { return other.has_begun; });
  coordinator.request_stop();
  coordinator.join();
  EXPECT_EQ(engine.cancels, 1);
  EXPECT_EQ(other.cancels, 1);
}

TEST(QueueRunner, StartsThreadsAgainWhenTheOthersWereToldToStop) {
  QueueEngine engine;
  engine.capacity = 0;  // the thread stays in its queue, since nothing cancels it
  const QueueRunner runner({.enqueue_ops = {engine.enqueue}});
  auto stuck = std::make_unique<Coordinator>();
  runner.create_threads(engine, *stuck);
  engine.wait_until([&] { return engine.has_begun; });
  stuck->request_stop();
  Coordinator coordinator;
  runner.create_threads(engine, coordinator);
  engine.wait_until([&] { return engine.waiting == 2; });
  coordinator.request_stop();
  {
    const std::scoped_lock lock(engine.mutex);
    engine.cancelled = true;
  }
  engine.changed.notify_all();
  stuck->join();
  coordinator.join();
}

TEST(QueueRunner, TheLastThreadClosesTheQueueWhenTheSourceHasEnded) {
  QueueEngine engine;
  engine.limit = 5;
  engine.end = std::make_exception_ptr(OutOfRangeError("End of sequence"));
  const QueueRunner runner({.enqueue_ops = {engine.enqueue, engine.enqueue}, .close_op = engine.close_queue});
  Coordinator coordinator;
  runner.create_threads(engine, coordinator);
  coordinator.join();
  EXPECT_EQ(engine.size, 5);
  EXPECT_EQ(engine.closes, 1);
  EXPECT_EQ(coordinator.error(), nullptr);
}

TEST(QueueRunner, AnotherErrorStopsTheCoordinator) {
  QueueEngine engine;
  engine.limit = 0;
  engine.end = std::make_exception_ptr(DataLossError("the file is torn"));
  const QueueRunner runner(
      {.enqueue_ops = {engine.enqueue}, .close_op = engine.close_queue, .cancel_op = engine.cancel});
  Coordinator coordinator;
  runner.create_threads(engine, coordinator);
  EXPECT_THROW(coordinator.join(), DataLossError);
  EXPECT_EQ(engine.closes, 0);
  EXPECT_TRUE(engine.cancelled);
}

TEST(QueueRunner, TheQueueIsClosedAfterTheErrorIsRecorded) {
  QueueEngine engine;
  engine.limit = 0;
  engine.end = std::make_exception_ptr(DataLossError("the file is torn"));
  Coordinator coordinator;
  std::string error_at_cancel = "not cancelled";
  engine.on_cancel = [&] { error_at_cancel = describe(coordinator.error()); };
  const QueueRunner runner({.enqueue_ops = {engine.enqueue}, .cancel_op = engine.cancel});
  runner.create_threads(engine, coordinator);
  EXPECT_THROW(coordinator.join(), DataLossError);
  EXPECT_EQ(error_at_cancel, "DataLoss: the file is torn");
}

TEST(QueueRunner, AnErrorThatIsNotACancellationCountsAfterTheStopToo) {
  QueueEngine engine;
  engine.capacity = 0;
  const QueueRunner runner({.enqueue_ops = {engine.enqueue}});
  Coordinator coordinator;
  runner.create_threads(engine, coordinator);
  engine.wait_until([&] { return engine.has_begun; });
  coordinator.request_stop();
  {
    const std::scoped_lock lock(engine.mutex);
    engine.end = std::make_exception_ptr(DataLossError("the file is torn"));
    engine.breaks = true;
  }
  engine.changed.notify_all();
  EXPECT_THROW(coordinator.join(), DataLossError);
}

TEST(QueueRunner, NeedsSomethingToRun) {
  EXPECT_THROW(QueueRunner({}), InvalidArgumentError);
  EXPECT_THROW(QueueRunner({.enqueue_ops = {Operation()}}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
