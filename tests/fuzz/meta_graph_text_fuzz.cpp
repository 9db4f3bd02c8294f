// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes meta graphs as text, read and imported.
#include "fuzz.hpp"

#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/graph/graph.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::Graph graph;
  th::import_meta_graph(graph, th::parse_meta_graph_text(input.rest()));
}

std::vector<std::string> fuzz::seeds() { return {data_file("model.meta.pbtxt")}; }
