// SPDX-License-Identifier: Apache-2.0
/// @file
/// start_warm <checkpoint> <result> <tensor or scope> <variable or scope>...: gives a few variables their initial
/// values by init_from_checkpoint, in a graph and in a session, and writes them as <result>-graph and <result>-session.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include <fmt/core.h>

#include <trainhook/compat/init_from_checkpoint.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/trainhook.hpp>

namespace {

namespace th = trainhook;

/// The variables of test_warm_start.py.
void build(th::Graph& graph) {
  const auto part = [&](const char* name, std::int64_t row, std::int64_t rows) {
    th::make_variable(
        name, th::zeros(graph, {rows, 2}),
        {.save_slice_info = std::make_shared<const th::SaveSliceInfo>(th::SaveSliceInfo{
             .full_name = "new/m", .full_shape = {5, 2}, .var_offset = {row, 0}, .var_shape = {rows, 2}})});
  };
  th::make_variable("new/w", th::zeros(graph, {2, 3}));
  th::make_variable("new/deep/b", th::zeros(graph, {}));
  part("new/m/part_0", 0, 3);
  part("new/m/part_1", 3, 2);
  th::make_variable("other", th::zeros(graph, {2, 3}));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    th::AssignmentMap map;
    for (int i = 3; i + 1 < argc; i += 2) map.emplace_back(argv[i], argv[i + 1]);
    const std::string result = argv[2];
    th::Graph graph;
    build(graph);
    th::Graph plain;
    build(plain);
    th::init_from_checkpoint(graph, argv[1], map);
    th::EigenSession session(graph);
    session.run(th::global_variables_initializer(graph));
    th::Saver().save(session, {.save_path = result + "-graph", .parts = {th::meta_graph_file(graph)}});
    th::EigenSession loaded(plain);
    loaded.run(th::global_variables_initializer(plain));
    th::init_from_checkpoint(loaded, argv[1], map);
    th::Saver().save(loaded, {.save_path = result + "-session"});
  } catch (const std::exception& error) { fmt::print("{}\n", error.what()); }
}
