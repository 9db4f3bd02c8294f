// SPDX-License-Identifier: Apache-2.0
/// @file
/// MetaGraphDef: saver, collections, and variables whose memory is the user's.
#include <trainhook/model/graph_def/meta_graph_def.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

struct MetaGraph : ::testing::Test {
  Graph graph;
  Variable w = make_variable("w", zeros(graph, {2}));
  Variable b = make_variable("b", zeros(graph, {3}), {.trainable = false});
};

TEST_F(MetaGraph, NamesItsSaverAndHasItsNodes) {
  const std::string text = export_meta_graph_text(graph);
  EXPECT_TRUE(contains(
      text,
      "saver_def {\n  filename_tensor_name: \"save/Const:0\"\n  save_tensor_name: \"save/control_dependency:0\"\n"
      "  restore_op_name: \"save/restore_all\"\n  max_to_keep: 5\n  keep_checkpoint_every_n_hours: 10000.0\n  version: "
      "V2\n}\n"))
      << text;
  for (const char* name : {"save/Const", "save/SaveV2", "save/RestoreV2", "save/Assign_1", "save/restore_all"}) {
    EXPECT_TRUE(contains(text, fmt::format("name: \"{}\"\n", name))) << name;
  }
}

TEST_F(MetaGraph, SaysWhetherItsSaverWritesShards) {
  EXPECT_FALSE(contains(export_meta_graph_text(graph), "sharded"));
  const MetaGraphDef def = parse_meta_graph(export_meta_graph(graph, {.max_to_keep = 2, .sharded = true}));
  EXPECT_TRUE(def.saver_def.value().sharded);
  EXPECT_EQ(def.saver_def.value().max_to_keep, 2);
  EXPECT_EQ(def.saver_def.value().keep_checkpoint_every_n_hours, 10'000);
}

TEST_F(MetaGraph, SavesInTheOrderOfNames) {
  const detail::SaverNodes saver = detail::saver_nodes(graph, global_variables(graph));
  std::vector<std::string> inputs;
  for (const NodeDef& node : saver.nodes) {
    if (node.op == "SaveV2") inputs = node.inputs;
  }
  EXPECT_EQ(inputs, (std::vector<std::string>{"save/Const", "save/SaveV2/tensor_names", "save/SaveV2/shape_and_slices",
                                              "b", "w"}));
}

TEST_F(MetaGraph, LeavesTheGraphAlone) {
  const std::size_t before = graph.size();
  graph.finalize();
  EXPECT_FALSE(export_meta_graph(graph).empty());
  EXPECT_EQ(graph.size(), before);
}

TEST_F(MetaGraph, TakesAnotherPrefixIfSaveIsTaken) {
  no_op(graph, "save/mine");
  EXPECT_TRUE(contains(export_meta_graph_text(graph), "filename_tensor_name: \"save_1/Const:0\""));
}

TEST_F(MetaGraph, WithoutASaverHasNone) {
  EXPECT_FALSE(contains(export_meta_graph_text(graph, {.add_saver = false}), "saver_def"));
  Graph empty;
  EXPECT_FALSE(contains(export_meta_graph_text(empty), "saver_def"));
}

TEST_F(MetaGraph, HasCollectionsOfVariablesAndOfNodes) {
  create_global_step(graph);
  get_or_create_global_step_read(graph);
  graph.add_to_collection(graph_keys::kTrainOp, no_op(graph, "train"));
  graph.add_to_collection("numbers", 5);
  const std::string text = export_meta_graph_text(graph);
  for (const char* key : {"variables", "trainable_variables", "global_step", "global_step_read_op_cache", "train_op"}) {
    EXPECT_TRUE(contains(text, fmt::format("  key: \"{}\"\n", key))) << key;
  }
  EXPECT_FALSE(contains(text, "\"numbers\""));
  EXPECT_TRUE(contains(text, "node_list {\n      value: \"train\"\n"));
  EXPECT_TRUE(contains(text, R"(value: "\n\003w:0\022\010w/Assign\032\010w/read:02\007zeros:08\001")")) << text;
}

TEST_F(MetaGraph, NamesCollectionsInUtf8) {
  const testing::LogLines log;
  graph.add_to_collection("K\xe4se", no_op(graph, "train"));
  EXPECT_NE(export_meta_graph(graph).find("K\xef\xbf\xbdse"), std::string::npos);
  EXPECT_EQ(log.count("the name of a collection is not UTF-8"), 1U);
}

TEST_F(MetaGraph, GivesVariablesOfTheUsersMemoryAnInitialValue) {
  Graph loop;
  Variable mine;
  mine.handle = loop.add({.type = "VariableV2",
                          .name = "mine",
                          .attrs = {{"dtype", DType::Float}, {"shape", PartialShape{2}}},
                          .outputs = {{DType::Float, Shape{2}}}});
  loop.add_to_collection(graph_keys::kGlobalVariables, mine);
  const std::string text = export_meta_graph_text(loop);
  for (const char* name : {"mine/Initializer/zeros", "mine/Assign", "mine/read"})
    EXPECT_TRUE(contains(text, fmt::format("name: \"{}\"\n", name))) << name;
}

TEST_F(MetaGraph, IsCommittedWithACheckpointAsAPartOfTheSave) {
  const Operation init = global_variables_initializer(graph);
  EigenSession session(graph);
  session.run(init);
  testing::MemoryFileSystem disk;
  Saver saver({.file_system = &disk});
  saver.save(session, {.save_path = "run/m", .global_step = 3, .parts = {meta_graph_file(graph)}});
  EXPECT_EQ(disk.contents("run/m-3.meta"), export_meta_graph(graph));
}

}  // namespace
}  // namespace trainhook
