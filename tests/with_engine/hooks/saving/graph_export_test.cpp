// SPDX-License-Identifier: Apache-2.0
/// @file
/// The graphs that are exported beside checkpoints say how their saver saves.
#include <trainhook/hooks/saving/graph_export.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <trainhook/compat/meta_graph_def_reader.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/loop/loop_session.hpp>

namespace trainhook {
namespace {

using detail::export_meta_graph_for;

TEST(GraphExport, SaysWhatTheSaverDoes) {
  Graph graph;
  make_variable("w", zeros(graph, {2}));
  const SaverDef plain = parse_meta_graph(export_meta_graph_for(graph, {})).saver_def.value();
  EXPECT_FALSE(plain.sharded);
  EXPECT_EQ(plain.max_to_keep, 5);
  const SaverDef other =
      parse_meta_graph(
          export_meta_graph_for(graph, {.sharded = true, .max_to_keep = 3, .keep_checkpoint_every_n_hours = 2}))
          .saver_def.value();
  EXPECT_TRUE(other.sharded);
  EXPECT_EQ(other.max_to_keep, 3);
  EXPECT_EQ(other.keep_checkpoint_every_n_hours, 2);
}

TEST(GraphExport, DescribesALoopsVariableThatIsLargerThanTheMemory) {
  LoopSession loop;
  loop.variable("w", {.dtype = DType::Float,
                      .shape = Shape{std::int64_t{1} << 50},
                      .read = [](std::span<std::byte>) {},
                      .write = [](std::span<const std::byte>) {}});
  const std::string bytes = export_meta_graph_for(loop.graph(), {});
  EXPECT_LT(bytes.size(), 10'000U);
  EXPECT_NE(bytes.find("w/Initializer/zeros"), std::string::npos);
}

TEST(GraphExport, ItsSaverHasTheVariablesThatAreNamed) {
  Graph graph;
  for (const char* name : {"a", "b", "c"}) make_variable(name, zeros(graph, {2}));
  const std::string bytes = export_meta_graph_for(graph, {.var_list = {"c", "a"}});
  const MetaGraphDef def = parse_meta_graph(bytes);
  const auto names = std::ranges::find(def.graph_def.nodes, "save/SaveV2/tensor_names", &NodeDef::name);
  ASSERT_NE(names, def.graph_def.nodes.end());
  EXPECT_EQ(std::get<Tensor>(names->attrs.at("value")), Tensor::of<std::string>({"a", "c"}));
}

}  // namespace
}  // namespace trainhook
