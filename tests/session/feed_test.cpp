// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the values that replace outputs in a run.
#include <trainhook/session/feed.hpp>

#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>

namespace trainhook {
namespace {

class FeedTest : public ::testing::Test {
 protected:
  Graph graph;
  Graph other;
  Output x = constant(graph, Tensor(1.0F), "x");
  Output y = constant(graph, Tensor(1.0F), "y");
};

TEST_F(FeedTest, ByNameIsLookedUpAndTheRestStaysAsItIs) {
  const FeedDict feeds{{x, 2.0F}, {"y:0", 3.0F}};
  EXPECT_TRUE(detail::has_names(feeds));
  const FeedDict known = detail::without_names(feeds, graph, "a feed of a test");
  ASSERT_EQ(known.size(), 2U);
  EXPECT_FALSE(detail::has_names(known));
  EXPECT_EQ(known[0].key, x);
  EXPECT_EQ(known[0].value.scalar<float>(), 2);
  EXPECT_EQ(known[1].key, y);
  EXPECT_EQ(known[1].value.scalar<float>(), 3);
}

TEST_F(FeedTest, AWrongNameOrAKeyOfAnotherGraphIsAnErrorThatSaysWhere) {
  const auto message = [&](const FeedDict& feeds) -> std::string {
    try {
      detail::check_feeds(feeds, graph, "a feed of", "MyHook");
    } catch (const Error& error) { return error.what(); }
    return "nothing";
  };
  EXPECT_EQ(message({{x, 2.0F}, {"y", 3.0F}}), "nothing");
  EXPECT_TRUE(message({{"z:0", 2.0F}}).starts_with("a feed of MyHook: ")) << message({{"z:0", 2.0F}});
  EXPECT_EQ(message({{constant(other, Tensor(1.0F), "x"), 2.0F}}),
            "a feed of MyHook is 'x:0', which belongs to another graph");
}

}  // namespace
}  // namespace trainhook
