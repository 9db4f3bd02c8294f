// SPDX-License-Identifier: Apache-2.0
/// @file
/// The graphs that are written beside checkpoints say how their saver saves.
#include <trainhook/model/graph_def/meta_graph_def.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/loop/loop_session.hpp>

namespace trainhook {
namespace {

using detail::meta_graph_of;

TEST(GraphExport, SaysWhatTheSaverDoes) {
  Graph graph;
  make_variable("w", zeros(graph, {2}));
  EigenSession session(graph);
  const SaverDef plain = parse_meta_graph(meta_graph_of(graph, {})).saver_def.value();
  EXPECT_FALSE(plain.sharded);
  EXPECT_EQ(plain.max_to_keep, 5);
  const SaverDef other =
      parse_meta_graph(meta_graph_of(graph, {.sharded = true, .max_to_keep = 3, .keep_checkpoint_every_n_hours = 2}))
          .saver_def.value();
  EXPECT_TRUE(other.sharded);
  EXPECT_EQ(other.max_to_keep, 3);
  EXPECT_EQ(other.keep_checkpoint_every_n_hours, 2);
}

TEST(GraphExport, DescribesALoopsVariableThatIsLargerThanTheMemory) {
  LoopSession loop;
  EXPECT_EQ(loop.graph_export(), nullptr);
  loop.export_graph(graph_export());
  loop.variable("w", {.dtype = DType::Float,
                      .shape = Shape{std::int64_t{1} << 50},
                      .read = [](std::span<std::byte>) {},
                      .write = [](std::span<const std::byte>) {}});
  const std::string bytes = meta_graph_of(loop.graph(), {});
  EXPECT_LT(bytes.size(), 10'000U);
  EXPECT_NE(bytes.find("w/Initializer/zeros"), std::string::npos);
}

TEST(GraphExport, DescribesALoopsVariableThatChangesItsSizeAsOneWithoutRows) {
  LoopSession loop;
  std::vector<float> points(6);
  loop.variable("points", points, {.shape = {2, 3}, .resizable = true});
  const MetaGraphDef def = parse_meta_graph(meta_graph_of(loop.graph(), {}));
  const auto zeros = std::ranges::find(def.graph_def.nodes, "points/Initializer/zeros", &NodeDef::name);
  ASSERT_NE(zeros, def.graph_def.nodes.end());
  EXPECT_EQ(std::get<Tensor>(zeros->attrs.at("value")).shape(), (Shape{0, 3}));
  const auto variable = std::ranges::find(def.graph_def.nodes, "points", &NodeDef::name);
  EXPECT_EQ(std::get<PartialShape>(variable->attrs.at("shape")), PartialShape({-1, 3}));
}

TEST(GraphExport, ItsSaverHasTheVariablesThatAreNamed) {
  Graph graph;
  for (const char* name : {"a", "b", "c"}) make_variable(name, zeros(graph, {2}));
  EigenSession session(graph);
  const std::string bytes = meta_graph_of(graph, {.var_list = {"c", "a"}});
  const MetaGraphDef def = parse_meta_graph(bytes);
  const auto names = std::ranges::find(def.graph_def.nodes, "save/SaveV2/tensor_names", &NodeDef::name);
  ASSERT_NE(names, def.graph_def.nodes.end());
  EXPECT_EQ(std::get<Tensor>(names->attrs.at("value")), Tensor::of<std::string>({"a", "c"}));
}

TEST(GraphExport, AGraphFileOfAnotherProgramIsAnErrorAndStays) {
  testing::MemoryFileSystem disk;
  disk.make_directories("run");
  disk.write_file("run/graph.pbtxt", "of another program\n");
  Graph graph;
  create_global_step(graph);
  try {
    monitored_training_session<EigenSession>(graph, {.checkpoint_dir = "run", .file_system = &disk}).close();
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_NE(std::string(error.what()).find("run/graph.pbtxt"), std::string::npos) << error.what();
  }
  EXPECT_EQ(disk.contents("run/graph.pbtxt"), "of another program\n");
}

TEST(GraphExport, AFullDiskAtTheStartDoesNotEndARunThatToleratesFailedSaves) {
  testing::LogLines log;
  testing::MemoryFileSystem disk;
  disk.set_capacity(0);
  LoopSession loop;
  loop.export_graph(graph_export());
  auto session = monitored_training_session(
      loop, {.checkpoint_dir = "run",
             .hooks = {CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .tolerated_save_failures = 50})},
             .file_system = &disk});
  for (int i = 0; i < 4; ++i) session.run([] {});
  EXPECT_EQ(log.count("E CheckpointSaverHook: run/graph.pbtxt could not be written"), 1U);
  EXPECT_THROW(session.close(), ResourceExhaustedError);
}

}  // namespace
}  // namespace trainhook
