// SPDX-License-Identifier: Apache-2.0
/// @file
/// Queue runners of graphs from files: those that can run come back, the others are named.
#include <trainhook/compat/queue_runner.hpp>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/model/ops/queue.hpp>
#include <trainhook/testing/log_lines.hpp>

namespace trainhook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<detail::QueueRunnerDef> runners_of(const Graph& graph) {
  return graph.collection<detail::QueueRunnerDef>(graph_keys::kQueueRunners);
}

class QueueRunnersOfFiles : public ::testing::Test {
 protected:
  QueueRunnersOfFiles() {
    const FIFOQueue queue(graph_, 2, {DType::Float}, {Shape{}}, "batch");
    enqueue_ = queue.enqueue({constant(graph_, Tensor(1.0F))}, "enqueue");
    add_queue_runner(queue, {enqueue_, enqueue_});
  }

  testing::LogLines log_;
  Graph graph_;
  Operation enqueue_;
};

TEST_F(QueueRunnersOfFiles, ComeBack) {
  const std::string bytes = export_meta_graph(graph_);
  Graph again;
  import_meta_graph(again, parse_meta_graph(bytes), {.import_scope = "in"});
  ASSERT_EQ(runners_of(again).size(), 1U);
  const detail::QueueRunnerDef runner = runners_of(again)[0];
  EXPECT_EQ(runner.queue_name, "in/batch");
  EXPECT_EQ(runner.enqueue_ops, (std::vector(2, again.operation("in/enqueue"))));
  EXPECT_EQ(runner.close_op, again.operation("in/batch_Close"));
  EXPECT_EQ(runner.cancel_op, again.operation("in/batch_Close_1"));
  EXPECT_THAT(log_.take(), ElementsAre());
  Graph whole;
  import_meta_graph(whole, parse_meta_graph(bytes));
  EXPECT_EQ(export_meta_graph(whole), bytes);
}

TEST_F(QueueRunnersOfFiles, ThatNeedAnUnknownOpAreNamed) {
  const Output decoded =
      graph_.add({.type = "DecodeJpeg", .name = "jpeg", .outputs = {{DType::Float, Shape{}}}}).output();
  const FIFOQueue queue(graph_, 2, {DType::Float}, {Shape{}}, "images");
  add_queue_runner(queue, {queue.enqueue({decoded})});
  const std::string bytes = export_meta_graph(graph_);
  static_cast<void>(log_.take());
  Graph again;
  import_meta_graph(again, parse_meta_graph(bytes, "model.meta"));
  EXPECT_THAT(
      log_.take(),
      ElementsAre(HasSubstr("model.meta: 1 of "),
                  HasSubstr("model.meta: the queue runner of 'images' is left out: 'jpeg' (DecodeJpeg) cannot run"),
                  HasSubstr("model.meta: no queue runner fills the queues 'images': run their enqueue")));
  ASSERT_EQ(runners_of(again).size(), 2U);
  EXPECT_EQ(runners_of(again)[1].queue_name, "images");
  EXPECT_TRUE(runners_of(again)[1].enqueue_ops.empty());
  EXPECT_EQ(parse_meta_graph(export_meta_graph(again)).collections[0].messages.size(), 1U);
}

TEST_F(QueueRunnersOfFiles, WithoutNodesAreNamed) {
  import_meta_graph(graph_, parse_meta_graph_text(R"(graph_def {} collection_def { key: "queue_runners" value {
                             bytes_list { value: "\n\005batch" value: "\n\001q\022\004gone" } } })",
                                                  "model.meta"));
  EXPECT_THAT(log_.take(),
              ElementsAre(HasSubstr("the queue runner of 'batch' is left out: it has no enqueue operation"),
                          HasSubstr("the queue runner of 'q' is left out: 'gone' is not in the graph")));
  EXPECT_EQ(runners_of(graph_).size(), 1U);
}

TEST_F(QueueRunnersOfFiles, AGraphDefHasNone) {
  Graph again;
  import_graph_def(again, parse_graph_def(as_graph_def(graph_), "graph.pb"));
  EXPECT_THAT(log_.take(), ElementsAre(HasSubstr("graph.pb: no queue runner fills the queues 'import/batch'")));
  EXPECT_TRUE(runners_of(again).at(0).enqueue_ops.empty());
}

}  // namespace
}  // namespace trainhook
