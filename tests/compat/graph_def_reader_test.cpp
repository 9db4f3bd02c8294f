// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphDefs and MetaGraphDefs with names that are not UTF-8, and for later versions.
#include <trainhook/compat/graph_def_reader.hpp>

#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook {
namespace {

std::string error_of(const std::string& text, bool is_meta_graph = false) {
  try {
    if (is_meta_graph) {
      static_cast<void>(parse_meta_graph_text(text, "model"));
    } else {
      static_cast<void>(parse_graph_def_text(text, "model"));
    }
  } catch (const Error& error) { return error.what(); }
  return "no error";
}

TEST(GraphDefReader, RefusesNamesThatAreNotUtf8) {
  const std::string refused = "model is damaged or of another format: a name in it is not UTF-8";
  EXPECT_EQ(error_of(R"(node { name: "a\377" op: "NoOp" })"), refused);
  EXPECT_EQ(error_of(R"(node { name: "a" op: "No\377" })"), refused);
  EXPECT_EQ(error_of(R"(node { name: "a" op: "NoOp" input: "^\377" })"), refused);
  EXPECT_EQ(error_of(R"(node { name: "a" op: "NoOp" attr { key: "\377" value { i: 1 } } })"), refused);
  EXPECT_EQ(error_of(R"(graph_def {} collection_def { key: "\377" value { node_list { value: "a" } } })", true),
            refused);
  EXPECT_EQ(error_of(R"(graph_def {} collection_def { key: "k" value { node_list { value: "\377" } } })", true),
            refused);
  EXPECT_EQ(error_of(R"(node { name: "a" op: "NoOp" attr { key: "s" value { s: "\377" } } })"), "no error") << "bytes";
}

TEST(GraphDefReader, RefusesAGraphForReadersOfALaterVersion) {
  EXPECT_EQ(error_of("versions { producer: 9999 min_consumer: 1645 }"), "no error");
  EXPECT_EQ(
      error_of("versions { producer: 9999 min_consumer: 1646 }"),
      "model asks for a reader that follows version 1646 or newer of TensorFlow's op definitions, and this library "
      "follows version 1645; update this library, or write the graph with an older TensorFlow");
}

TEST(GraphDefReader, APlaceholderOfAnOldGraphWithAShapeWithoutDimensionsMayHaveAnyShape) {
  const auto shape_of = [](const std::string& op, const std::string& versions) {
    const GraphDef def = parse_graph_def_text(
        "node { name: \"x\" op: \"" + op + "\" attr { key: \"shape\" value { shape {} } } }" + versions, "model");
    return std::get<PartialShape>(def.nodes[0].attrs.at("shape"));
  };
  EXPECT_EQ(shape_of("Placeholder", "versions { producer: 21 }"), PartialShape());
  EXPECT_EQ(shape_of("Placeholder", ""), PartialShape()) << "without a version it is older than all of them";
  EXPECT_EQ(shape_of("Placeholder", "versions { producer: 22 }"), PartialShape(Shape()));
  EXPECT_EQ(shape_of("PlaceholderWithDefault", "versions { producer: 21 }"), PartialShape(Shape()));
}

}  // namespace
}  // namespace trainhook
