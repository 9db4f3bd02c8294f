// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of FIFOQueue: the nodes it makes, their shapes, and what it refuses.
#include <trainhook/model/ops/queue.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

class FIFOQueueTest : public ::testing::Test {
 protected:
  Graph graph;
  FIFOQueue queue{graph, 3, {DType::Float, DType::Int32}, {{2}, {}}};
  Output floats = constant(graph, Tensor::of<float>({1, 2}), "floats");
  Output number = constant(graph, Tensor(std::int32_t{1}), "number");
};

TEST_F(FIFOQueueTest, MakesTensorFlowsNodes) {
  EXPECT_EQ(queue.op().type(), "FIFOQueueV2");
  EXPECT_EQ(queue.name(), "fifo_queue");
  EXPECT_EQ(queue.op().node().attr<std::int64_t>("capacity"), 3);
  EXPECT_EQ(queue.op().node().attr<std::vector<PartialShape>>("shapes"), (std::vector<PartialShape>{{2}, Shape{}}));
  const Operation enqueue = queue.enqueue({floats, number});
  EXPECT_EQ(enqueue.type() + " " + enqueue.name(), "QueueEnqueueV2 fifo_queue_enqueue");
  EXPECT_EQ(enqueue.node().inputs().size(), 3U);
  EXPECT_EQ(enqueue.node().attr<std::vector<DType>>("Tcomponents"), (std::vector{DType::Float, DType::Int32}));
  const Output next = queue.dequeue()[0];
  EXPECT_EQ(next.node().type() + " " + next.name(), "QueueDequeueV2 fifo_queue_Dequeue:0");
  const Output several = queue.dequeue_many(2)[1];
  EXPECT_EQ(several.node().type() + " " + several.name(), "QueueDequeueManyV2 fifo_queue_DequeueMany:1");
  EXPECT_EQ(several.node().inputs()[1].name(), "fifo_queue_DequeueMany/n:0");
  EXPECT_EQ(queue.size().name(), "fifo_queue_Size:0");
  const Operation close = queue.close(true);
  EXPECT_EQ(close.type() + " " + close.name(), "QueueCloseV2 fifo_queue_Close");
  EXPECT_TRUE(close.node().attr<bool>("cancel_pending_enqueues"));
  EXPECT_EQ(queue.close(false, "shut").name(), "shut");
}

TEST_F(FIFOQueueTest, LeavesOutTheScopeInTheNamesOfItsOps) {
  const Graph::Scope scope = graph.name_scope("input");
  const FIFOQueue scoped(graph, -1, {DType::Float}, {}, "rows");
  EXPECT_EQ(scoped.name(), "input/rows");
  EXPECT_EQ(scoped.size().name(), "input/rows_Size:0");
}

TEST_F(FIFOQueueTest, KnowsTheShapesOfWhatItGives) {
  EXPECT_EQ(queue.dequeue()[0].shape(), (PartialShape{2}));
  EXPECT_EQ(queue.dequeue()[1].shape(), PartialShape(Shape{}));
  EXPECT_EQ(queue.dequeue_many(5)[0].shape(), (PartialShape{5, 2}));
  EXPECT_EQ(queue.dequeue_many(number)[0].shape(), (PartialShape{1, 2})) << "the number is a constant";
  const Output fed = placeholder(graph, DType::Int32, Shape{}, "fed");
  EXPECT_EQ(queue.dequeue_many(fed)[0].shape(), (PartialShape{kUnknownDim, 2}));
  EXPECT_FALSE(FIFOQueue(graph, 3, {DType::Float}).dequeue()[0].shape().has_rank());
}

TEST_F(FIFOQueueTest, RefusesWhatDoesNotFit) {
  using testing::expect_error;
  expect_error({"fifo_queue", "2 components", "not 1"}, [&] { queue.enqueue({floats}); });
  expect_error({"component 1 is int32[]", "'floats:0' float32[2]"}, [&] { queue.enqueue({floats, floats}); });
  expect_error({"component 0 is float32[?,2]", "'floats:0' float32[2]"}, [&] { queue.enqueue_many({floats, number}); });
  expect_error({"dequeue_many of -1"}, [&] { return queue.dequeue_many(-1); });
  expect_error({"'bare' has no shapes"},
               [&] { return FIFOQueue(graph, 3, {DType::Float}, {}, "bare").dequeue_many(2); });
  expect_error({"capacity of 0"}, [&] { FIFOQueue(graph, 0, {DType::Float}); });
  expect_error({"dtypes is empty"}, [&] { FIFOQueue(graph, 1, {}); });
  expect_error({"1 dtypes and 2 shapes"}, [&] { FIFOQueue(graph, 1, {DType::Float}, {{2}, {3}}); });
  Graph other;
  expect_error({"belongs to another graph"}, [&] {
    queue.enqueue({floats, constant(other, Tensor(std::int32_t{1}))});
  });
}

}  // namespace
}  // namespace trainhook
