// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphDef as text and as bytes.
#include <trainhook/model/graph_def/graph_def_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/model/graph_def/node_def.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/proto/wire.hpp>

#include "allocations.hpp"
#include "temporary_folder.hpp"

namespace trainhook {
namespace {

/// The fields of a message that are messages or strings, by number.
std::vector<std::string> fields(std::string_view bytes, std::uint32_t wanted) {
  std::vector<std::string> found;
  detail::WireReader reader(bytes, "message");
  while (reader.next()) {
    if (reader.tag() == wanted) {
      found.emplace_back(reader.get_bytes());
    } else {
      reader.skip();
    }
  }
  return found;
}

TEST(GraphDefWriter, TextIsThatOfTensorFlow) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {-1, 2}, "x");
  const Output y = matmul(x, x, {.transpose_b = true}, "y");
  group(graph, {x.operation(), y.operation()}, "all");
  EXPECT_EQ(as_graph_def_text(graph), R"(node {
  name: "x"
  op: "Placeholder"
  attr {
    key: "dtype"
    value {
      type: DT_FLOAT
    }
  }
  attr {
    key: "shape"
    value {
      shape {
        dim {
          size: -1
        }
        dim {
          size: 2
        }
      }
    }
  }
}
node {
  name: "y"
  op: "MatMul"
  input: "x"
  input: "x"
  attr {
    key: "T"
    value {
      type: DT_FLOAT
    }
  }
  attr {
    key: "transpose_a"
    value {
      b: false
    }
  }
  attr {
    key: "transpose_b"
    value {
      b: true
    }
  }
}
node {
  name: "all"
  op: "NoOp"
  input: "^x"
  input: "^y"
}
versions {
  producer: 1645
}
)");
}

TEST(GraphDefWriter, BytesHoldTheSameNodesInTheSameOrder) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {-1}, "x");
  group(graph, {x.operation()}, "all");
  const std::vector<std::string> nodes = fields(as_graph_def(graph), 1);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(fields(nodes[0], 1), (std::vector<std::string>{"x"}));
  EXPECT_EQ(fields(nodes[0], 2), (std::vector<std::string>{"Placeholder"}));
  EXPECT_EQ(fields(nodes[1], 3), (std::vector<std::string>{"^x"}));
  EXPECT_EQ(as_graph_def(graph), as_graph_def(graph));
}

TEST(GraphDefWriter, NamesLaterOutputsByNumberAndPutsControlInputsLast) {
  Graph graph;
  const Operation gate = no_op(graph, "gate");
  const Operation two =
      graph.add({.type = "Two", .name = "two", .outputs = {{DType::Float, Shape{}}, {DType::Float, Shape{}}}});
  const Graph::Scope after = graph.control_dependencies({gate});
  add(two.output(1), two.output(0), "sum");
  const NodeDef def = node_def_of(graph.operation("sum").node());
  EXPECT_EQ(def.inputs, (std::vector<std::string>{"two:1", "two", "^gate"}));
}

/// A graph with a constant of four megabytes, which are all different.
struct LargeGraph : ::testing::Test {
  static constexpr std::size_t kElements = std::size_t{1} << 20;
  static constexpr std::size_t kBytes = kElements * sizeof(std::int32_t);

  Graph graph;

  LargeGraph() {
    Tensor large = Tensor::uninitialized(DType::Int32, Shape{kElements});
    std::iota(large.mutable_data<std::int32_t>().begin(), large.mutable_data<std::int32_t>().end(), 0);
    add(constant(graph, large, "large"), constant(graph, 1, "one"), "sum");
  }
};

TEST_F(LargeGraph, ItsBytesAreAllocatedOnce) {
  const support::AllocationCount count;
  const std::string bytes = as_graph_def(graph, {.add_shapes = true});
  EXPECT_LT(count.bytes(), kBytes * 5 / 4);
  EXPECT_GT(bytes.size(), kBytes);
}

TEST_F(LargeGraph, ItsFilesAreWrittenPieceByPiece) {
  const support::TemporaryFolder folder;
  for (const bool as_text : {false, true}) {
    const support::AllocationCount count;
    const std::string path = write_graph(posix_file_system(), graph, folder.path(), "graph", as_text);
    EXPECT_LT(count.bytes(), kBytes * 5 / 4) << as_text;
    EXPECT_EQ(read_file(posix_file_system(), path), as_text ? as_graph_def_text(graph) : as_graph_def(graph));
  }
}

TEST_F(LargeGraph, ItsMetaGraphIsAllocatedOnce) {
  make_variable("w", constant(graph, 1.0F, "initial"));
  const support::AllocationCount count;
  const std::string bytes = export_meta_graph(graph, {.add_shapes = true});
  EXPECT_LT(count.bytes(), kBytes * 5 / 4);
  EXPECT_GT(bytes.size(), kBytes);
}

TEST(GraphDefWriter, ItsPiecesAreTheWhole) {
  Graph graph;
  for (int i = 0; i < 3000; ++i) placeholder(graph, DType::Float, {-1}, "x");
  std::string bytes;
  int pieces = 0;
  detail::for_each_piece(graph, {.add_shapes = true}, [&](std::string_view piece) {
    bytes += piece;
    ++pieces;
  });
  EXPECT_GT(pieces, 1);
  EXPECT_EQ(bytes, as_graph_def(graph, {.add_shapes = true}));
}

TEST(GraphDefWriter, AddsShapesWhenAsked) {
  Graph graph;
  placeholder(graph, DType::Float, {-1}, "x");
  EXPECT_EQ(as_graph_def_text(graph).find("_output_shapes"), std::string::npos);
  EXPECT_NE(as_graph_def_text(graph, {.add_shapes = true}).find("key: \"_output_shapes\""), std::string::npos);
  const std::string bytes = as_graph_def(graph, {.add_shapes = true});
  EXPECT_LT(bytes.find("_output_shapes"), bytes.find("dtype")) << "attributes are sorted by name";
}

TEST(GraphDefWriter, WritesEveryKindOfAttribute) {
  Graph graph;
  graph.add({.type = "All",
             .attrs = {{"f", 0.0F},
                       {"i", std::int64_t{0}},
                       {"s", std::string()},
                       {"li", std::vector<std::int64_t>{1, 2}},
                       {"lf", std::vector<float>{0.5F}},
                       {"ls", std::vector<std::string>{"a", "b"}},
                       {"lt", std::vector<DType>{DType::Int64}},
                       {"lsh", std::vector<PartialShape>{{}, Shape{}}},
                       {"none", std::vector<std::int64_t>{}},
                       {"t", Tensor(1.0F)}}});
  const std::string text = as_graph_def_text(graph);
  for (const std::string_view part :
       {"f: 0.0\n", "i: 0\n", "s: \"\"\n", "      i: 1\n        i: 2\n", "f: 0.5\n", "s: \"b\"\n", "type: DT_INT64\n",
        "unknown_rank: true\n", "list {\n      }\n", "tensor {\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(GraphDefWriter, AFileIsAGraphByItsFirstFieldsOrALineOfItsText) {
  for (const std::size_t length : {1U, 6U, 10U, 200U, 20'000U}) {  // the length of a node takes one byte, two or three
    Graph graph;
    identity(constant(graph, Tensor(1.0F), std::string(length, 'x')));
    EXPECT_TRUE(detail::is_graph_def(as_graph_def(graph))) << length;
    EXPECT_TRUE(detail::is_graph_def(as_graph_def_text(graph))) << length;
    for (const std::string& whole : {as_graph_def(graph), as_graph_def_text(graph)}) {
      for (std::size_t cut = 1; cut < (std::min)(whole.size(), std::size_t{100}); ++cut) {
        const std::string_view beginning = std::string_view(whole).substr(0, cut);
        const bool is_blank = beginning == "\n" || beginning == "\n\n";  // which is replaced, whoever wrote it
        EXPECT_TRUE(is_blank || detail::is_graph_def(beginning)) << length << ", cut to " << cut;
      }
    }
  }
  for (const std::string_view other : {"\n# Notes\n", "\n", "\n\n", "a diary", ""})
    EXPECT_FALSE(detail::is_graph_def(other)) << other;
}

}  // namespace
}  // namespace trainhook
