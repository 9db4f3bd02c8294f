// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes graphs in binary form, read, imported and written again.
#include "fuzz.hpp"

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::Graph graph;
  th::import_graph_def(graph, th::parse_graph_def(input.rest()));
  static_cast<void>(th::as_graph_def(graph));
}

std::vector<std::string> fuzz::seeds() { return {data_file("graph.pb")}; }
