// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, queues that queue runners fill, or nothing.
#include <trainhook/engine/kernels.hpp>

#include <cstdint>
#include <exception>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/model/ops/queue.hpp>
#include <trainhook/compat/singular_monitored_session.hpp>
#include <trainhook/compat/queue_runner.hpp>
#include <trainhook/testing/log_lines.hpp>

namespace trainhook {
namespace {

template <class Act>
std::string error_of(Act&& act) {
  try {
    act();
    return "no error";
  } catch (...) { return describe(std::current_exception()); }
}

/// A pipeline whose elements go through a queue that a runner fills.
class QueueRunnerOnAQueue : public ::testing::Test {
 protected:
  struct Session final : GraphSession {
    explicit Session(Graph& graph) : GraphSession(graph, {.kernels = {kernels::data(), kernels::queue()}}) {}
  };
  void fill_from(const Dataset& dataset) {
    const Output source = make_iterator(graph, dataset).get_next<1>()[0];
    const Operation enqueue = queue.enqueue({source});
    add_queue_runner(queue, {enqueue, enqueue});
  }

  Graph graph;
  FIFOQueue queue{graph, 2, {DType::Int64}, {Shape{}}};
  Output next = queue.dequeue()[0];
};

TEST_F(QueueRunnerOnAQueue, FeedsAMonitoredSessionUntilTheInputEnds) {
  fill_from(Dataset::range(0, 50));
  SingularMonitoredSession<Session> session(graph);
  std::set<std::int64_t> seen;
  run_until_stop(session, [&] { seen.insert(session.run(next).scalar<std::int64_t>()); });
  EXPECT_EQ(seen.size(), 50U);
  EXPECT_EQ(*seen.rbegin(), 49);
}

TEST_F(QueueRunnerOnAQueue, EndsWithTheSessionThoughItsThreadsWait) {
  fill_from(Dataset::range(0, 50).repeat());
  SingularMonitoredSession<Session> session(graph);
  EXPECT_LT(session.run(next).scalar<std::int64_t>(), 50);
  session.close();
  EXPECT_TRUE(session.errors().empty());
}

TEST_F(QueueRunnerOnAQueue, AnErrorOfTheInputReachesTheLoopThatWaits) {
  fill_from(Dataset::range(0, 50).map([](Element element) {
    if (element[0].scalar<std::int64_t>() == 5) throw DataLossError("the file is torn");
    return element;
  }));
  SingularMonitoredSession<Session> session(graph);
  try {
    run_until_stop(session, [&] { session.run(next); });
    FAIL() << "no error";
  } catch (const DataLossError& error) {
    EXPECT_NE(std::string(error.what()).find("the file is torn"), std::string::npos);
  }
}

TEST_F(QueueRunnerOnAQueue, ThatIsNotStartedLeavesNoRunWaiting) {
  fill_from(Dataset::range(0, 50));
  Session session(graph);
  EXPECT_EQ(error_of([&] { static_cast<void>(session.run(next)); }),
            "FailedPrecondition: fifo_queue_Dequeue (QueueDequeueV2): nothing fills FIFOQueue 'fifo_queue': its queue "
            "runners were not started; a monitored session starts them, and so does start_queue_runners");
  session.run(queue.enqueue({constant(graph, Tensor(std::int64_t{7}))}));
  EXPECT_EQ(session.run(next), Tensor(std::int64_t{7})) << "a value that was put in by hand";
}

TEST_F(QueueRunnerOnAQueue, OfAnImportedGraphRuns) {
  fill_from(Dataset::range(0, 50));
  Graph numbers;
  const FIFOQueue filled(numbers, 2, {DType::Int64}, {Shape{}}, "numbers");
  add_queue_runner(filled, {filled.enqueue({constant(numbers, Tensor(std::int64_t{9}))})});
  const std::string name = filled.dequeue()[0].name();
  Graph again;
  import_meta_graph(again, parse_meta_graph(export_meta_graph(numbers)));
  SingularMonitoredSession<Session> session(again);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(session.run(again.output(name)), Tensor(std::int64_t{9}));
  session.close();

  Graph bare;
  const testing::LogLines log;
  import_graph_def(bare, parse_graph_def(as_graph_def(numbers)), {.name = ""});
  Session raw(bare);
  EXPECT_NE(error_of([&] { static_cast<void>(raw.run(bare.output(name))); }).find("has no queue runner for it"),
            std::string::npos);
}

}  // namespace
}  // namespace trainhook
