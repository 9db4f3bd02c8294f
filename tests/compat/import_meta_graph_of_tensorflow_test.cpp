// SPDX-License-Identifier: Apache-2.0
/// @file
/// Graphs and meta graphs that TensorFlow wrote, whole and damaged.
#include <trainhook/compat/import_meta_graph.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"
#include "data_files.hpp"

namespace trainhook {
namespace {

using testing::data_file;

/// What import makes of it.
std::string imported(const GraphDef& def) {
  Graph graph;
  import_graph_def(graph, def, {.name = ""});
  return as_graph_def(graph);
}

std::vector<std::string> names_of(const MetaGraphDef& def) {
  Graph graph;
  import_meta_graph(graph, def);
  std::vector<std::string> names;
  for (const Variable& variable : global_variables(graph)) names.push_back(variable.name());
  std::ranges::sort(names);
  return names;
}

TEST(ImportMetaGraphOfTensorFlow, GivesTheSameGraphFromBytesAndFromText) {
  const GraphDef binary = read_graph_def(posix_file_system(), data_file("graph.pb"));
  const GraphDef text = read_graph_def(posix_file_system(), data_file("graph.pbtxt"));
  EXPECT_GT(binary.nodes.size(), 50U);
  EXPECT_EQ(imported(binary), imported(text));
}

TEST(ImportMetaGraphOfTensorFlow, GivesTheVariablesFromBytesAndFromText) {
  const std::vector<std::string> expected = {"b", "b/Momentum", "global_step", "w", "w/Momentum"};
  EXPECT_EQ(names_of(read_meta_graph(posix_file_system(), data_file("model.ckpt-3.meta"))), expected);
  EXPECT_EQ(names_of(read_meta_graph(posix_file_system(), data_file("model.meta.pbtxt"))), expected);
}

/// Damages one of the files; what is read of it is imported too.
template <class Read>
void damage(const char* name, const Read& read, std::size_t most) {
  const std::string path = std::string("run/") + name;
  testing::MemoryFileSystem disk;
  testing::expect_refused_or_read(
      read_file(posix_file_system(), data_file(name)), path,
      [&](const std::string& damaged) {
        disk.write_file(path, damaged);
        return read(disk, path);
      },
      most);
}

TEST(ImportMetaGraphOfTensorFlow, NamesTheGraphThatIsDamaged) {
  const auto read = [](FileSystem& disk, const std::string& path) { return imported(read_graph_def(disk, path)); };
  damage("graph.pb", read, 600);
  damage("graph.pbtxt", read, 300);
}

TEST(ImportMetaGraphOfTensorFlow, NamesTheMetaGraphThatIsDamaged) {
  const auto read = [](FileSystem& disk, const std::string& path) { return names_of(read_meta_graph(disk, path)); };
  damage("model.ckpt-3.meta", read, 600);
  damage("model.meta.pbtxt", read, 100);
}

}  // namespace
}  // namespace trainhook
