// SPDX-License-Identifier: Apache-2.0
/// @file
/// MetaGraphDefs back into graphs: collections, variables, the saver's nodes left out.
#include <trainhook/compat/import_meta_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/model/layers.hpp>
#include <trainhook/model/moving_averages.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/optimizers.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"

namespace trainhook {
namespace {

using ::testing::HasSubstr;

struct ImportMetaGraph : ::testing::Test {
  Graph graph;
  Output x = placeholder(graph, DType::Float, {-1, 4}, "x");
  Output loss = reduce_mean(dense(x, 2, "out"), {}, "loss");
  Variable step = get_or_create_global_step(graph);
  Operation train = MomentumOptimizer({.learning_rate = 0.1, .momentum = 0.9}).minimize(loss, step);
  Variable local = make_variable("seen", zeros(graph, {}),
                                 {.trainable = false, .collections = {std::string(graph_keys::kLocalVariables)}});

  void SetUp() override {
    summary::scalar("loss", loss);
    graph.add_to_collection(graph_keys::kTrainOp, train);
    graph.add_to_collection("losses", loss);
    graph.add_to_collection("my_variables", local);
  }
};

TEST_F(ImportMetaGraph, OfWhatWeWroteGivesTheSameBytesAgain) {
  const std::string bytes = export_meta_graph(graph);
  for (const MetaGraphDef& def : {parse_meta_graph(bytes), parse_meta_graph_text(export_meta_graph_text(graph))}) {
    Graph again;
    import_meta_graph(again, def);
    EXPECT_EQ(export_meta_graph_text(again), export_meta_graph_text(graph));
    EXPECT_EQ(export_meta_graph(again), bytes);
  }
}

TEST_F(ImportMetaGraph, BringsTheCollectionsBack) {
  Graph again;
  import_meta_graph(again, parse_meta_graph(export_meta_graph(graph)));
  ASSERT_EQ(global_variables(again).size(), global_variables(graph).size());
  for (std::size_t i = 0; i < global_variables(graph).size(); ++i) {
    EXPECT_EQ(global_variables(again)[i].name(), global_variables(graph)[i].name());
    EXPECT_EQ(global_variables(again)[i].trainable, global_variables(graph)[i].trainable);
  }
  ASSERT_EQ(trainable_variables(again).size(), 2U);
  EXPECT_EQ(trainable_variables(again)[0].initializer.name(), trainable_variables(graph)[0].initializer.name());
  EXPECT_EQ(trainable_variables(again)[0].initial_value.name(), trainable_variables(graph)[0].initial_value.name());
  EXPECT_EQ(local_variables(again).at(0).name(), "seen");
  EXPECT_EQ(again.collection<Variable>("my_variables").at(0).name(), "seen");
  EXPECT_EQ(get_global_step(again).value().name(), "global_step");
  EXPECT_EQ(again.collection<Operation>(graph_keys::kTrainOp).at(0).name(), train.name());
  EXPECT_EQ(again.collection<Output>(graph_keys::kSummaries).at(0).name(), "loss_1:0");
  EXPECT_EQ(again.collection<Output>("losses").at(0).name(), "loss:0");
}

TEST_F(ImportMetaGraph, KeepsWhichPartOfAPartitionedVariableAVariableIs) {
  const SaveSliceInfo lower{.full_name = "m", .full_shape = {3, 2}, .var_offset = {2, 0}, .var_shape = {1, 2}};
  make_variable("m/part_1", zeros(graph, {1, 2}), {.save_slice_info = std::make_shared<const SaveSliceInfo>(lower)});
  const std::string bytes = export_meta_graph(graph);
  Graph again;
  import_meta_graph(again, parse_meta_graph(bytes));
  EXPECT_EQ(export_meta_graph(again), bytes);
  const Variable part = global_variables(again).back();
  ASSERT_NE(part.save_slice_info, nullptr);
  EXPECT_EQ(part.save_slice_info->full_name, "m");
  EXPECT_EQ(part.save_slice_info->spec(), "3 2 2,1:0,2");
}

TEST_F(ImportMetaGraph, RefusesAPartThatIsNotOfItsWhole) {
  SaveSliceInfo slice{.full_name = "m", .full_shape = {3, 2}, .var_offset = {2, 0}, .var_shape = {1, 2}};
  EXPECT_NO_THROW(slice.validate("v", Shape{1, 2}));
  EXPECT_THROW(slice.validate("v", Shape{2, 2}), InvalidArgumentError);
  EXPECT_THROW(slice.validate("v", PartialShape{}), InvalidArgumentError);
  slice.var_offset = {3, 0};
  EXPECT_THROW(slice.validate("v", Shape{1, 2}), InvalidArgumentError);
  slice.var_offset = {std::numeric_limits<std::int64_t>::max(), 0};
  EXPECT_THROW(slice.validate("v", Shape{1, 2}), InvalidArgumentError);
  slice.var_offset = {0};
  EXPECT_THROW(slice.validate("v", Shape{1, 2}), InvalidArgumentError);
}

TEST_F(ImportMetaGraph, LeavesTheNodesOfTheSaverOut) {
  const MetaGraphDef def = parse_meta_graph(export_meta_graph(graph, {.max_to_keep = 7}));
  Graph again;
  import_meta_graph(again, def);
  EXPECT_EQ(again.size(), graph.size());
  ASSERT_TRUE(def.saver_def.has_value());
  EXPECT_EQ(def.saver_def->max_to_keep, 7);
  EXPECT_EQ(def.saver_def->restore_op_name, "save/restore_all");
  EXPECT_EQ(def.tensorflow_version, "2.15.0");
}

TEST_F(ImportMetaGraph, PutsEverythingUnderAScope) {
  Graph again;
  import_meta_graph(again, parse_meta_graph(export_meta_graph(graph)), {.import_scope = "copy"});
  EXPECT_EQ(global_variables(again).front().name(), "copy/" + global_variables(graph).front().name());
  EXPECT_EQ(again.collection<Output>("losses").at(0).name(), "copy/loss:0");
}

TEST_F(ImportMetaGraph, ContinuesFromItsPosition) {
  Graph again;
  import_meta_graph(again, parse_meta_graph(export_meta_graph(graph)));
  const Operation more = GradientDescentOptimizer({.learning_rate = 0.5}).minimize(again.output("loss:0"));
  EXPECT_EQ(more.node().type(), "NoOp");
}

TEST_F(ImportMetaGraph, SaysWhatACollectionNamesThatIsNotThere) {
  MetaGraphDef def = parse_meta_graph(export_meta_graph(graph), "model.meta");
  def.collections = {{.key = "losses", .nodes = {"gone:0"}}};
  Graph again;
  try {
    import_meta_graph(again, def);
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(std::string(error.what()), "model.meta: collection losses names 'gone:0', which is not there");
  }
}

TEST(ImportMetaGraphFiles, OfAFileWithABitFlippedOrCutIsAnErrorOrAGraph) {
  Graph graph;
  make_variable("w", zeros(graph, {2}));
  const auto read = [](const std::string& content) {
    Graph again;
    import_meta_graph(again, parse_meta_graph(content, "damaged.meta"));
    return export_meta_graph(again);
  };
  testing::expect_refused_or_read(export_meta_graph(graph), "damaged.meta", read, 15'000);
}

TEST(ImportMetaGraphFiles, AreReadByTheEndingOfTheirNames) {
  testing::MemoryFileSystem disk;
  Graph graph;
  make_variable("w", zeros(graph, {2}));
  write_file_atomically(disk, "model.meta", export_meta_graph(graph));
  write_file_atomically(disk, "model.meta.txt", export_meta_graph_text(graph));
  EXPECT_EQ(read_meta_graph(disk, "model.meta").graph_def.nodes.size(),
            read_meta_graph(disk, "model.meta.txt").graph_def.nodes.size());
}

/// Two variables of one name in TensorFlow, so that their names in the graph and in the checkpoint have nothing in
/// common.
constexpr const char* kSavedModel = R"(
graph_def {
  node { name: "v_1" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape { dim { size: 2 } } } } }
  node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
  node { name: "lost" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
  node { name: "saver_filename" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
  node { name: "restore" op: "StatefulPartitionedCall" input: "saver_filename" input: "v" input: "v_1"
         attr { key: "f" value { func { name: "restores" } } } }
  library { function {
    signature { name: "restores" input_arg { name: "prefix" type: DT_STRING } input_arg { name: "first" type: DT_RESOURCE }
                input_arg { name: "second" type: DT_RESOURCE } }
    node_def { name: "names" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
               attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } }
                                                    string_val: "b/VALUE" string_val: "a/VALUE" } } } }
    node_def { name: "R" op: "RestoreV2" input: "prefix" input: "names:output:0" input: "names:output:0"
               attr { key: "dtypes" value { list { type: DT_FLOAT type: DT_FLOAT } } } }
    node_def { name: "I" op: "Identity" input: "R:tensors:0" attr { key: "T" value { type: DT_FLOAT } } }
    node_def { name: "J" op: "Identity" input: "R:tensors:1" attr { key: "T" value { type: DT_FLOAT } } }
    node_def { name: "A" op: "AssignVariableOp" input: "second" input: "I:output:0"
               attr { key: "dtype" value { type: DT_FLOAT } } }
    node_def { name: "B" op: "AssignVariableOp" input: "first" input: "J:output:0"
               attr { key: "dtype" value { type: DT_FLOAT } } } } } }
saver_def { save_tensor_name: "save:0" restore_op_name: "restore" })";

TEST_F(ImportMetaGraph, MakesVariablesOfWhatASavedModelOfTensorFlow2Restores) {
  for (const std::string scope : {"", "copy"}) {
    Graph other;
    import_meta_graph(other, parse_meta_graph_text(kSavedModel), {.import_scope = scope});
    const std::vector<Variable> variables = global_variables(other);
    ASSERT_EQ(variables.size(), 2U);
    const std::string prefix = scope.empty() ? "" : scope + "/";
    EXPECT_EQ(variables[0].name(), prefix + "v");
    EXPECT_EQ(variables[0].save_slice_info->full_name, "a/VALUE");
    EXPECT_EQ(variables[0].save_slice_info->spec(), "");
    EXPECT_EQ(variables[1].name(), prefix + "v_1");
    EXPECT_EQ(variables[1].read.name(), prefix + "v_1/read:0");
    EXPECT_EQ(variables[1].save_slice_info->full_name, "b/VALUE");
    EXPECT_EQ(variables[1].save_slice_info->spec(), "2 0,2");
  }
}

TEST_F(ImportMetaGraph, LeavesVariablesWithoutElementsOrAShapeOutOfARestore) {
  for (const std::string dim : {"size: 0", "size: -1"}) {
    std::string text = kSavedModel;
    text.replace(text.find("size: 2"), 7, dim);
    Graph other;
    const testing::LogLines lines;
    import_meta_graph(other, parse_meta_graph_text(text));
    ASSERT_EQ(global_variables(other).size(), 1U) << dim;
    EXPECT_EQ(global_variables(other)[0].name(), "v");
    EXPECT_EQ(lines.count("variable 'v_1' of shape"), 1U);
  }
}

TEST_F(ImportMetaGraph, LeavesVariablesToTheCollectionOfThem) {
  Graph other;
  import_meta_graph(other, parse_meta_graph_text(std::string(kSavedModel) + "collection_def { key: \"variables\" }"));
  EXPECT_TRUE(global_variables(other).empty());
}

TEST_F(ImportMetaGraph, LeavesOutVariablesThatASavedModelRestoresFromSomethingElse) {
  const std::pair<std::string, std::string> changes[] = {{"R:tensors:1", "R:tensors:7"},
                                                         {"RestoreV2", "Mystery"},
                                                         {"input: \"v\"", "input: \"saver_filename\""},
                                                         {"names:output:0", "prefix"}};
  for (const auto& [from, to] : changes) {
    std::string text = kSavedModel;
    text.replace(text.find(from), from.size(), to);
    Graph other;
    import_meta_graph(other, parse_meta_graph_text(text));
    for (const Variable& variable : global_variables(other)) EXPECT_EQ(variable.name(), "v_1") << to;
  }
}

TEST(ImportMetaGraphFiles, OfASavedModelAreTheGraphThatServes) {
  const auto graph_of = [](const std::string& tag) {
    return "meta_graphs { meta_info_def { tags: \"gpu\" tags: \"" + tag + "\" } graph_def { node { name: \"" + tag +
           "\" op: \"NoOp\" } } } ";
  };
  testing::MemoryFileSystem disk;
  const auto name_in = [&](const std::string& path, const std::string& content) {
    write_file_atomically(disk, path, content);
    return read_meta_graph(disk, path).graph_def.nodes.at(0).name;
  };
  EXPECT_EQ(name_in("saved_model.pbtxt", graph_of("train") + graph_of("serve")), "serve");
  EXPECT_EQ(name_in("saved_model.pbtxt", graph_of("eval") + graph_of("train")), "eval");
  Graph graph;
  make_variable("w", zeros(graph, {2}));
  const std::string bytes = export_meta_graph(graph);
  const std::string header{'\x12', static_cast<char>(bytes.size() % 128 + 128), static_cast<char>(bytes.size() / 128)};
  EXPECT_EQ(name_in("saved_model.pb", header + bytes), graph.nodes().begin()->name());
  EXPECT_THROW(name_in("saved_model.pb", ""), DataLossError);
}

TEST_F(ImportMetaGraph, LeavesOutTheCallsThatSaveAndRestoreASavedModelOfTensorFlow2) {
  Graph other;
  import_meta_graph(other, parse_meta_graph_text(R"(
      graph_def { node { name: "saver_filename" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
                  node { name: "save" op: "StatefulPartitionedCall" input: "saver_filename" }
                  node { name: "restore" op: "StatefulPartitionedCall" input: "saver_filename" }
                  node { name: "serve" op: "StatefulPartitionedCall" input: "saver_filename" } }
      saver_def { save_tensor_name: "save:0" restore_op_name: "restore" })"));
  EXPECT_FALSE(other.find_operation("save").has_value());
  EXPECT_FALSE(other.find_operation("restore").has_value());
  EXPECT_TRUE(other.find_operation("serve").has_value());
}

}  // namespace
}  // namespace trainhook
