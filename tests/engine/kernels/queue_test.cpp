// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, queues: order, who waits for what, and how waiting ends.
#include <trainhook/engine/kernels.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/queue.hpp>
#include <trainhook/testing/manual_clock.hpp>

namespace trainhook {
namespace {

/// Runs something on a thread and gives what it threw.
class Background {
 public:
  template <class Body>
  explicit Background(Body body)
      : thread_([this, body = std::move(body)] {
          try {
            body();
          } catch (...) { error_ = std::current_exception(); }
        }) {}
  std::string error() {
    thread_.join();
    return describe(error_);
  }

 private:
  std::exception_ptr error_;
  std::thread thread_;
};

template <class Act>
std::string error_of(Act&& act) {
  try {
    act();
    return "no error";
  } catch (...) { return describe(std::current_exception()); }
}

class QueueKernels : public ::testing::Test {
 protected:
  void put(std::int64_t value) { session.run(enqueue, {{in, Tensor(value)}}); }
  std::int64_t take() { return session.run(dequeue).scalar<std::int64_t>(); }
  std::int32_t count() { return session.run(size).scalar<std::int32_t>(); }

  Graph graph;
  FIFOQueue queue{graph, 1, {DType::Int64}, {Shape{}}};
  Output in = placeholder(graph, DType::Int64, {}, "in");
  Output rows_in = placeholder(graph, DType::Int64, {kUnknownDim}, "rows_in");
  Operation enqueue = queue.enqueue({in});
  Operation enqueue_rows = queue.enqueue_many({rows_in});
  Output dequeue = queue.dequeue()[0];
  Output dequeue_three = queue.dequeue_many(3)[0];
  Output size = queue.size();
  Operation close = queue.close();
  Operation cancel = queue.close(true, "cancel");
  GraphSession session{graph, {.kernels = {kernels::data(), kernels::queue()}}};
};

TEST_F(QueueKernels, GiveElementsOfSeveralComponentsInTheOrderTheyCame) {
  const FIFOQueue pairs(graph, -1, {DType::String, DType::Float});
  const Output name = placeholder(graph, DType::String, {});
  const Output value = placeholder(graph, DType::Float, {kUnknownDim});
  const Operation put_pair = pairs.enqueue({name, value});
  const std::vector<Output> next = pairs.dequeue();
  session.run(put_pair, {{name, Tensor("a")}, {value, Tensor::of<float>({1})}});
  session.run(put_pair, {{name, Tensor("b")}, {value, Tensor::of<float>({2, 3})}});
  for (const auto& [expected_name, expected] :
       {std::pair{Tensor("a"), Tensor::of<float>({1})}, std::pair{Tensor("b"), Tensor::of<float>({2, 3})}}) {
    const std::vector<Tensor> got = session.run(std::vector<Fetch>{next[0], next[1]});
    EXPECT_EQ(got[0], expected_name);
    EXPECT_EQ(got[1], expected);
  }
  EXPECT_EQ(session.run(pairs.size()).scalar<std::int32_t>(), 0);
}

TEST_F(QueueKernels, KeepTheValueThatWasPutIn) {
  Tensor fed = Tensor::of<float>({1, 2});
  const FIFOQueue vectors(graph, 2, {DType::Float}, {{2}});
  const Output x = placeholder(graph, DType::Float, {2});
  session.run(vectors.enqueue({x}), {{x, fed}});
  fed.mutable_data<float>()[0] = 9;
  EXPECT_EQ(session.run(vectors.dequeue()[0]), Tensor::of<float>({1, 2}));
}

TEST_F(QueueKernels, GiveEachSessionItsOwnQueue) {
  put(1);
  GraphSession other(graph, {.kernels = {kernels::queue()}});
  EXPECT_EQ(other.run(size).scalar<std::int32_t>(), 0);
  EXPECT_EQ(count(), 1);
  EXPECT_TRUE(session.state().empty()) << "what a queue holds is not saved";
}

TEST_F(QueueKernels, AFullQueueLetsEnqueuesWaitForDequeuesOfAnotherThread) {
  Background producer([&] { session.run(enqueue_rows, {{rows_in, Tensor::of<std::int64_t>({1, 2, 3, 4, 5, 6})}}); });
  for (std::int64_t i = 1; i <= 3; ++i) EXPECT_EQ(take(), i);
  EXPECT_EQ(session.run(dequeue_three), Tensor::of<std::int64_t>({4, 5, 6})) << "more than the capacity, as they come";
  EXPECT_EQ(producer.error(), "no error");
}

TEST_F(QueueKernels, EveryElementGoesToOneOfManyThreads) {
  constexpr std::int64_t kEach = 300;
  std::vector<std::set<std::int64_t>> seen(3);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < seen.size(); ++t) {
      threads.emplace_back([this, t] {
        for (std::int64_t i = 0; i < kEach; ++i) put(static_cast<std::int64_t>(t) * kEach + i);
      });
      threads.emplace_back([this, &mine = seen[t]] {
        for (std::int64_t i = 0; i < kEach; ++i) mine.insert(take());
      });
    }
  }
  std::set<std::int64_t> all;
  for (const std::set<std::int64_t>& mine : seen) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 3 * kEach);
  EXPECT_EQ(count(), 0);
}

TEST_F(QueueKernels, AClosedQueueGivesWhatItHoldsAndThenTheEndOfInput) {
  put(7);
  session.run(close);
  session.run(close);
  EXPECT_EQ(error_of([&] { put(8); }),
            "Cancelled: fifo_queue_enqueue (QueueEnqueueV2) of int64[]: FIFOQueue 'fifo_queue' is closed");
  const std::string insufficient = "FIFOQueue 'fifo_queue' is closed and has insufficient elements ";
  EXPECT_EQ(error_of([&] { session.run(dequeue_three); }),
            "OutOfRange: fifo_queue_DequeueMany (QueueDequeueManyV2) of int32[]: " + insufficient +
                "(requested 3, current size 1)");
  EXPECT_EQ(take(), 7);
  EXPECT_EQ(error_of([&] { take(); }),
            "OutOfRange: fifo_queue_Dequeue (QueueDequeueV2): " + insufficient + "(requested 1, current size 0)");
}

TEST_F(QueueKernels, ClosingWakesADequeueThatWaitsForMoreThanWillCome) {
  put(1);
  Background consumer([&] { session.run(dequeue_three); });
  put(2);  // there is room once the consumer has taken the first
  session.run(close);
  EXPECT_NE(consumer.error().find("(requested 3, current size 2)"), std::string::npos);
  EXPECT_EQ(take(), 1) << "what it had taken is back, in order";
  EXPECT_EQ(take(), 2);
}

TEST_F(QueueKernels, EnqueuesThatWaitWhenTheQueueIsClosedStillCome) {
  Background producer([&] { session.run(enqueue_rows, {{rows_in, Tensor::of<std::int64_t>({1, 2, 3})}}); });
  EXPECT_EQ(take(), 1);
  session.run(close);
  EXPECT_EQ(take(), 2);
  EXPECT_EQ(take(), 3);
  EXPECT_THROW(take(), OutOfRangeError);
  EXPECT_EQ(producer.error(), "no error");
}

TEST_F(QueueKernels, EnqueuesThatWaitAreCancelledIfClosingSaysSo) {
  Background producer([&] { session.run(enqueue_rows, {{rows_in, Tensor::of<std::int64_t>({1, 2, 3})}}); });
  EXPECT_EQ(take(), 1);
  session.run(cancel);
  EXPECT_EQ(producer.error(),
            "Cancelled: fifo_queue_EnqueueMany (QueueEnqueueManyV2) of int64[3]: the enqueue was cancelled: the queue "
            "was closed");
}

TEST_F(QueueKernels, ClosingTheSessionWakesAllThatWait) {
  put(1);
  Background consumer([&] { session.run(dequeue_three); });
  put(2);  // done when the consumer is in its run
  session.close();
  EXPECT_NE(
      consumer.error().find(
          "Cancelled: fifo_queue_DequeueMany (QueueDequeueManyV2) of int32[]: the dequeue was cancelled: the session"),
      std::string::npos);
  EXPECT_THROW(take(), FailedPreconditionError);
}

TEST_F(QueueKernels, ClosingTheSessionWakesAWaitingEnqueue) {
  Background producer([&] { session.run(enqueue_rows, {{rows_in, Tensor::of<std::int64_t>({1, 2, 3})}}); });
  EXPECT_EQ(take(), 1);
  session.close();
  EXPECT_NE(producer.error().find("the enqueue was cancelled: the session was closed"), std::string::npos);
}

TEST_F(QueueKernels, ARunThatHasATimeoutWaitsNoLongerThanThat) {
  testing::ManualClock clock;
  GraphSession limited(graph, {.kernels = {kernels::queue()}, .clock = &clock});
  const RunOptions options{.timeout = std::chrono::seconds(5)};
  limited.run(enqueue, {{in, Tensor(std::int64_t{1})}});
  Background consumer([&] { limited.run(dequeue_three, {}, &options); });
  limited.run(enqueue, {{in, Tensor(std::int64_t{2})}});  // done when the consumer is in its run
  while (clock.waiters() == 0) std::this_thread::yield();
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(consumer.error(),
            "DeadlineExceeded: fifo_queue_DequeueMany (QueueDequeueManyV2) of int32[]: the run took longer than its "
            "timeout of 5000 ms");
  EXPECT_EQ(limited.run(dequeue).scalar<std::int64_t>(), 1) << "what it had taken is back, in order";
  EXPECT_EQ(limited.run(dequeue).scalar<std::int64_t>(), 2);
}

TEST_F(QueueKernels, ATupleOfNoElementsNeedsNoWaiting) {
  session.run(enqueue_rows, {{rows_in, Tensor(DType::Int64, Shape{0})}});
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(session.run(queue.dequeue_many(0)[0]), Tensor(DType::Int64, Shape{0}));
}

TEST_F(QueueKernels, SayWhatDoesNotFit) {
  const FIFOQueue vectors(graph, 2, {DType::Float}, {{2}}, "vectors");
  const Output open = placeholder(graph, DType::Float, PartialShape());
  EXPECT_EQ(
      error_of([&] {
        session.run(vectors.enqueue({open}, "e"), {{open, Tensor::of<float>({1, 2, 3})}});
      }),
      "InvalidArgument: e (QueueEnqueueV2) of float32[3]: FIFOQueue 'vectors' takes (float32[2]), not (float32[3])");
  EXPECT_EQ(error_of([&] {
              session.run(vectors.enqueue_many({open}, "m"), {{open, Tensor(1.0F)}});
            }),
            "InvalidArgument: m (QueueEnqueueManyV2) of float32[]: the components must have the same first dimension, "
            "one row for each element");
  const Output n = placeholder(graph, DType::Int32, {}, "n");
  EXPECT_EQ(error_of([&] {
              session.run(vectors.dequeue_many(n, "d")[0], {{n, Tensor(std::int32_t{-1})}});
            }),
            "InvalidArgument: d (QueueDequeueManyV2) of int32[]: n is -1; it must not be negative");
}

TEST_F(QueueKernels, RefuseNodesThatDoNotGoTogether) {
  const GraphIterator iterator = make_iterator(graph, Dataset::range(3));
  const Output handle = queue.op().output();
  const auto node = [&](NodeSpec spec) { return graph.add(std::move(spec)); };
  const Attrs dequeues{{"component_types", std::vector{DType::Int64}}, {"timeout_ms", std::int64_t{-1}}};
  const Operation from_iterator = node({.type = "QueueDequeueV2",
                                        .name = "d",
                                        .inputs = {iterator.op().output()},
                                        .attrs = dequeues,
                                        .outputs = {{DType::Int64, {}}}});
  EXPECT_EQ(error_of([&] { session.run(from_iterator); }),
            "InvalidArgument: input 0 of d (QueueDequeueV2) must be of op type FIFOQueueV2, not 'IteratorV2:0'");
  const Operation from_queue =
      node({.type = "IteratorGetNext", .name = "i", .inputs = {handle}, .outputs = {{DType::Int64, {}}}});
  EXPECT_EQ(error_of([&] { session.run(from_queue); }),
            "InvalidArgument: input 0 of i (IteratorGetNext) must be of op type IteratorV2, not 'fifo_queue:0'");
  const Operation of_another_dtype = node(
      {.type = "QueueDequeueV2", .name = "f", .inputs = {handle}, .attrs = dequeues, .outputs = {{DType::Float, {}}}});
  EXPECT_THROW(session.run(of_another_dtype), InvalidArgumentError);
  const Operation hurried = node(
      {.type = "QueueEnqueueV2", .name = "h", .inputs = {handle, in}, .attrs = {{"timeout_ms", std::int64_t{10}}}});
  EXPECT_THROW(session.run(hurried, {{in, Tensor(std::int64_t{1})}}), UnimplementedError);
  EXPECT_EQ(error_of([&] {
              session.run(dequeue, {{handle, Tensor()}});
            }),
            "InvalidArgument: 'fifo_queue:0' names a resource, which cannot be fed");
}

TEST_F(QueueKernels, RefuseAQueueThatSeveralNodesShare) {
  const auto shared = [&](std::string name) {
    return graph.add({.type = "FIFOQueueV2",
                      .attrs = {{"capacity", std::int64_t{-1}},
                                {"component_types", std::vector{DType::Int64}},
                                {"shared_name", std::move(name)}},
                      .outputs = {{DType::Invalid, {}}}});
  };
  const auto size_of = [&](Operation op) {
    return session.run(
        graph.add({.type = "QueueSizeV2", .inputs = {op.output()}, .outputs = {{DType::Int32, {}}}}).output());
  };
  const Operation alone = shared("alone");
  EXPECT_EQ(size_of(alone).scalar<std::int32_t>(), 0);
  const Operation one = shared("both");
  shared("both");
  EXPECT_THROW(size_of(one), UnimplementedError);
}

}  // namespace
}  // namespace trainhook
