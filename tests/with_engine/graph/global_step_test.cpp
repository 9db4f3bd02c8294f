// SPDX-License-Identifier: Apache-2.0
/// @file
/// The read of the global step, whose addition is an op of the model.
#include <trainhook/graph/global_step.hpp>

#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/compat/ops.hpp>
#include <trainhook/graph/graph.hpp>

#include "as_defined.hpp"
#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(GlobalStep, ReadIsMadeOnceAndNotWithoutAStep) {
  Graph graph;
  EXPECT_FALSE(get_or_create_global_step_read(graph).has_value());
  create_global_step(graph);
  const std::optional<Output> read = get_or_create_global_step_read(graph);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->name(), "global_step/add:0");
  EXPECT_EQ(read->dtype(), DType::Int64);
  EXPECT_EQ(support::nodes_unlike_their_definition(graph, [](std::string_view type) { return find_op_def(type); }), "");
  EXPECT_EQ(get_or_create_global_step_read(graph), read);
  graph.add_to_collection(graph_keys::kGlobalStepRead, *read);
  testing::expect_error<FailedPreconditionError>({"multiple items"}, [&] { get_or_create_global_step_read(graph); });
}

TEST(RequireGlobalStep, X45_NamesTheHookThatNeedsIt) {
  const Graph graph;
  try {
    detail::require_global_step(graph, "SomeHook");
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_NE(std::string(error.what()).find("Global step should be created to use SomeHook"), std::string::npos);
  }
}

}  // namespace
}  // namespace trainhook
