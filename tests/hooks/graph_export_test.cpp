// SPDX-License-Identifier: Apache-2.0
/// @file
/// The graphs that are exported beside checkpoints say how their saver saves.
#include <trainhook/hooks/graph_export.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph_def/meta_graph_def_reader.hpp>

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

}  // namespace
}  // namespace trainhook
