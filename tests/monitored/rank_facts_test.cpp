// SPDX-License-Identifier: Apache-2.0
/// @file
/// What ranks must have in common.
#include <trainhook/monitored/rank_facts.hpp>

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>

namespace trainhook::detail {
namespace {

TEST(Facts, AboutAProgramNameItsGraphAndItsLastStep) {
  Graph graph;
  graph.set_random_seed(5);
  const Facts facts = facts_about(graph, in_phases({StopAtStepHook({.last_step = 9})}));
  ASSERT_EQ(facts.size(), 5U);
  EXPECT_EQ(facts[0].first, "the digest of the program's file");
  EXPECT_NE(facts[0].second, "00000000");
  EXPECT_EQ(facts[1].first, "the library's compiler");
  EXPECT_NE(facts[1].second, "");
  EXPECT_EQ(facts[2].first, "the digest of the graph");
  EXPECT_EQ(facts[3], (std::pair<std::string, std::string>("the graph's random seed", "5")));
  EXPECT_EQ(facts[4], (std::pair<std::string, std::string>("StopAtStepHook's last_step", "9")));
}

TEST(Facts, AreTheSameAfterTheirWay) {
  const Facts facts = {{"a", "1"}, {"b", ""}, {"", "c"}};
  EXPECT_EQ(facts_in(fact_bytes(facts)), facts);
  EXPECT_EQ(facts_in(""), Facts());
  EXPECT_EQ(facts_in("cut off"), (Facts{{"cut off", ""}}));  // of another build
}

TEST(Facts, ThatDifferAreNamedFromBothSides) {
  EXPECT_EQ(fact_differences({{"a", "1"}, {"b", "2"}}, {{"a", "1"}, {"b", "2"}}), "");
  EXPECT_EQ(fact_differences({{"a", "1"}, {"b", "2"}}, {{"a", "3"}, {"c", "4"}}),
            "a is '1' and not '3', b is '2' and not there, c is not there and not '4'");
}

}  // namespace
}  // namespace trainhook::detail
