// SPDX-License-Identifier: Apache-2.0
/// @file
/// Imports a graph of anybody and prints what of it cannot run: list_unknown <file>. A MetaGraphDef if the name has the
/// ending .meta, else a GraphDef; as text if it ends in txt. Prints a line "nodes <count>", and one "<op type> <count>"
/// for each op type that is not known here.

#include <cstddef>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include <fmt/core.h>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace th = trainhook;

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw th::InvalidArgumentError("usage: list_unknown <file>");
    const std::string path = argv[1];
    th::FileSystem& disk = th::posix_file_system();
    th::Graph graph;
    if (path.ends_with(".meta")) {
      th::import_meta_graph(graph, th::read_meta_graph(disk, path));
    } else {
      th::import_graph_def(graph, th::read_graph_def(disk, path), {.name = ""});
    }
    std::map<std::string, std::size_t> unknown;
    std::size_t nodes = 0;
    for (const th::Node& node : graph.nodes()) {
      ++nodes;
      if (node.op_def() == nullptr) ++unknown[std::string(node.type())];
    }
    fmt::print("nodes {}\n", nodes);
    for (const auto& [type, count] : unknown) fmt::print("{} {}\n", type, count);
  } catch (const std::exception& error) {
    fmt::print(stderr, "list_unknown: {}\n", error.what());
    return 1;
  }
}
