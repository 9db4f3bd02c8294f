// SPDX-License-Identifier: Apache-2.0
/// @file
/// Nodes of unknown op types: they are imported with what is known of them, and a log line says which they are.
#include <trainhook/compat/unknown_nodes.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>

namespace trainhook {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

/// Two unknown nodes, one of which a known one reads.
constexpr std::string_view kModel = R"(
  node { name: "file" op: "ReadFile" attr { key: "handler" value { func { name: "f" } } } }
  node { name: "jpeg" op: "DecodeJpeg" input: "file" attr { key: "channels" value { i: 3 } } }
  node { name: "y" op: "Neg" input: "jpeg:1" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "init" op: "NoOp" input: "^jpeg" })";

struct UnknownNodes : ::testing::Test {
  Graph graph;
  std::vector<std::string> lines;
  LogSink before = set_log_sink([this](LogLevel, std::string_view line) { lines.emplace_back(line); });

  ~UnknownNodes() override { set_log_sink(before); }

  void import(std::string_view text) {
    import_graph_def(graph, parse_graph_def_text(text, "model.pbtxt"), {.name = ""});
  }
};

TEST_F(UnknownNodes, AreImportedAndNamedInOneLogLine) {
  import(kModel);
  EXPECT_EQ(graph.size(), 4U);
  EXPECT_EQ(graph.operation("jpeg").type(), "DecodeJpeg");
  EXPECT_THAT(lines, ElementsAre("model.pbtxt: 2 of 4 nodes cannot run, their op types or dtypes are not known here: "
                                 "ReadFile ('file'), DecodeJpeg ('jpeg'). A run that needs one is an error"));
}

TEST_F(UnknownNodes, AreNotMentionedIfThereAreNone) {
  import(R"(node { name: "a" op: "NoOp" })");
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(UnknownNodes, OfManyOpTypesAreCounted) {
  std::string text;
  for (const char letter : {'A', 'B', 'C', 'D', 'E', 'F', 'G'}) {
    for (int i = 0; i < 2; ++i) text += fmt::format("node {{ name: \"{0}{1}\" op: \"My{0}\" }} ", letter, i);
  }
  import(text);
  EXPECT_THAT(
      lines,
      ElementsAre("model.pbtxt: 14 of 14 nodes cannot run, their op types or dtypes are not known here: MyA ('A0'), "
                  "MyB ('B0'), MyC ('C0'), MyD ('D0'), MyE ('E0') and 2 more. A run that needs one is an "
                  "error"));
}

TEST_F(UnknownNodes, HaveTheOutputsThatOthersReadInTheirDTypes) {
  import(kModel);
  ASSERT_EQ(graph.operation("jpeg").node().outputs().size(), 2U);
  EXPECT_EQ(graph.output("jpeg:0").dtype(), DType::Invalid);
  EXPECT_EQ(graph.output("jpeg:1").dtype(), DType::Float);
  EXPECT_FALSE(graph.output("y").shape().has_rank());
  EXPECT_EQ(graph.operation("file").node().outputs().size(), 1U);
}

TEST_F(UnknownNodes, DoNotClaimToHaveOnlyTheOutputsThatOthersRead) {
  import(kModel);
  try {
    static_cast<void>(graph.output("jpeg:2"));
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "operation jpeg (DecodeJpeg) was added without its op type's definition, and without output 2");
  }
}

TEST_F(UnknownNodes, TakeDTypesFromAttributesThatTensorFlowLeavesOut) {
  import(R"(node { name: "x" op: "Mystery" }
            node { name: "s" op: "Fill" input: "x" input: "x:1" attr { key: "T" value { type: DT_BOOL } } })");
  EXPECT_EQ(graph.output("x:0").dtype(), DType::Int32);
  EXPECT_EQ(graph.output("x:1").dtype(), DType::Bool);
}

TEST_F(UnknownNodes, KeepTheShapesThatTheFileNames) {
  import(R"(node { name: "x" op: "Mystery" attr { key: "_output_shapes" value { list {
                   shape { dim { size: 2 } } shape { unknown_rank: true } } } } }
            node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } })");
  EXPECT_EQ(graph.operation("x").node().outputs().size(), 2U);
  EXPECT_EQ(graph.output("y").shape(), PartialShape{2});
}

TEST_F(UnknownNodes, AreWrittenAsTheyWereRead) {
  import(R"(node { name: "x" op: "Mystery" attr { key: "depth" value { i: 3 } } })");
  const std::string text = as_graph_def_text(graph);
  Graph again;
  import_graph_def(again, parse_graph_def_text(text), {.name = ""});
  EXPECT_EQ(as_graph_def_text(again), text);
  EXPECT_EQ(again.operation("x").node().attr<std::int64_t>("depth"), 3);
}

/// Known op types with dtypes that no tensor here has; `y` and `sum` do without.
constexpr std::string_view kQuantized = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "small" op: "Cast" input: "x" attr { key: "SrcT" value { type: DT_FLOAT } }
         attr { key: "DstT" value { type: DT_QINT8 } } }
  node { name: "same" op: "Identity" input: "small" attr { key: "T" value { type: DT_QINT8 } } }
  node { name: "y" op: "Cast" input: "same" attr { key: "SrcT" value { type: DT_QINT8 } }
         attr { key: "DstT" value { type: DT_FLOAT } } }
  node { name: "sum" op: "AddV2" input: "y" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "half" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } })";

TEST_F(UnknownNodes, AreAlsoThoseOfAKnownOpTypeWithADTypeThatTensorsLack) {
  import(kQuantized);
  EXPECT_THAT(lines, ElementsAre("model.pbtxt: 3 of 6 nodes cannot run, their op types or dtypes are not known here: "
                                 "Cast ('small'), Identity ('same'). A run that needs one is an error"));
  EXPECT_EQ(graph.output("small").dtype(), DType::Invalid);
  EXPECT_EQ(graph.output("y").dtype(), DType::Float);
  EXPECT_EQ(graph.output("sum").dtype(), DType::Float);
}

TEST_F(UnknownNodes, DoNotKeepTheOthersFromRunning) {
  import(kQuantized);
  EigenSession session(graph);
  const Tensor two(2.0F);
  EXPECT_EQ(session.run(graph.output("half"), {{graph.output("x"), two}}), Tensor(-2.0F));
  EXPECT_EQ(session.run(graph.output("sum"), {{graph.output("x"), two}, {graph.output("y"), two}}), Tensor(4.0F));
}

TEST_F(UnknownNodes, SayWhyTheyCannotRun) {
  import(kQuantized);
  for (const bool is_read_again : {false, true}) {
    Graph other;
    if (is_read_again) import_graph_def(other, parse_graph_def(as_graph_def(graph)), {.name = ""});
    EigenSession session(is_read_again ? other : graph);
    const Graph& used = is_read_again ? other : graph;
    try {
      session.run(used.output("sum"), {{used.output("x"), Tensor(2.0F)}});
      FAIL() << "no error";
    } catch (const UnimplementedError& error) {
      EXPECT_STREQ(error.what(),
                   "node 'small' (Cast) cannot run here: model.pbtxt: no tensor here can hold DT_QINT8 (attribute DstT "
                   "of node 'small', a Cast); feed what the node gives");
    }
  }
}

TEST_F(UnknownNodes, MayHaveAShapeOfTooManyDimensions) {
  std::string dims;
  for (int i = 0; i < 9; ++i) dims += "dim { size: 1 } ";
  import(fmt::format(R"(node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
                                attr {{ key: "shape" value {{ shape {{ {0} }} }} }}
                                attr {{ key: "_output_shapes" value {{ list {{ shape {{ {0} }} }} }} }} }}
                        node {{ name: "y" op: "Neg" input: "x" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }})",
                     dims));
  EigenSession session(graph);
  EXPECT_EQ(session.run(graph.output("y"), {{graph.output("x"), Tensor(2.0F)}}), Tensor(-2.0F));
}

TEST_F(UnknownNodes, AreNotThoseThatOnlyLoseAShapeOfTooManyDimensions) {
  std::string dims;
  for (int i = 0; i < 9; ++i) dims += "dim { size: 1 } ";
  import(fmt::format(R"(node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
                                attr {{ key: "_output_shapes" value {{ list {{ shape {{ {} }} }} }} }} }})",
                     dims));
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(UnknownNodes, DoNotHideAMistake) {
  EXPECT_THROW(import(R"(node { name: "x" op: "Mystery" input: "gone" })"), InvalidArgumentError);
  EXPECT_THROW(import(R"(node { name: "x" op: "" })"), InvalidArgumentError);
  EXPECT_THROW(import(R"(node { name: "x" op: "My stery" })"), InvalidArgumentError);
  EXPECT_THROW(import(R"(node { name: "x" op: "Mystery" input: "x" })"), InvalidArgumentError);
  EXPECT_THROW(import(R"(node { name: "u" op: "Mystery" }
                         node { name: "a" op: "Neg" input: "u" attr { key: "T" value { type: DT_FLOAT } } }
                         node { name: "b" op: "Neg" input: "u" attr { key: "T" value { type: DT_INT32 } } })"),
               InvalidArgumentError);
}

TEST_F(UnknownNodes, AreThoseOfAWhileLoopWhereverTheFileBegins) {
  const std::string enter = R"(node { name: "e" op: "Enter" input: "x" attr { key: "T" value { type: DT_FLOAT } } })";
  const std::string merge = R"(node { name: "m" op: "Merge" input: "e" input: "n"
    attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } } })";
  const std::string next = R"(node { name: "n" op: "NextIteration" input: "s" })";
  const std::string way = R"(node { name: "s" op: "Neg" input: "m" attr { key: "T" value { type: DT_FLOAT } } })";
  const std::string outside = R"(node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } })";
  for (const std::string& loop : {enter + merge + next + way, next + way + merge + enter, way + enter + merge + next}) {
    Graph imported;
    import_graph_def(imported, parse_graph_def_text(loop + outside, "model.pbtxt"), {.name = ""});
    EigenSession session(imported, {.kernels = compat::kernels()});
    EXPECT_EQ(session.run(imported.output("y:0"), {{imported.output("x:0"), Tensor(2.0F)}}).scalar<float>(), -2);
    EXPECT_EQ(session.run(imported.output("s:0"), {{imported.output("m:0"), Tensor(3.0F)}}).scalar<float>(), -3);
    try {
      session.run(imported.output("s:0"), {{imported.output("x:0"), Tensor(2.0F)}});
      ADD_FAILURE() << "it ran";
    } catch (const UnimplementedError& error) {
      EXPECT_THAT(error.what(), EndsWith("cannot run here: it is part of a while_loop, which this library does not "
                                         "run; feed what the node gives"));
    }
  }
}

}  // namespace
}  // namespace trainhook
