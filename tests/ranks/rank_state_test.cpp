// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a rank has of its own: as bytes, and beside the chief's.
#include <trainhook/ranks/rank_state.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/random.hpp>
#include <trainhook/loop/loop_session.hpp>

namespace trainhook::detail {
namespace {

RankState some_state() {
  return {{.name = "noise", .entries = {{"noise", Tensor("12 34")}}},
          {.name = "hooks",
           .entries = {{"hooks/A/version", Tensor(std::int64_t{1})},
                       {"hooks/A/sum", Tensor(2.5)},
                       {"hooks/B/version", Tensor(std::int64_t{1})}}},
          {.name = "empty"}};
}

std::vector<std::string> names_of(const std::vector<NamedTensor>& entries) {
  std::vector<std::string> names;
  for (const NamedTensor& entry : entries) names.push_back(entry.name);
  return names;
}

TEST(RankState, IsAllButTheVariables) {
  LoopSession loop;
  float weight = 1;
  int count = 3;
  loop.variable("weight", weight);
  loop.state("count", count);
  const RankState state = state_of_rank(loop);
  ASSERT_EQ(state.size(), 1U);
  EXPECT_EQ(state[0].name, "_trainhook/state/count");
  EXPECT_EQ(state[0].entries.at(0).tensor.scalar<std::int32_t>(), 3);
}

TEST(RankState, AtTheStartIsWhatRanksMayHaveOfTheirOwn) {
  LoopSession loop;
  int count = 3;
  std::mt19937 noise(1);
  PhiloxState position{.seed = 5};
  std::normal_distribution<double> normal;
  loop.state("count", count);
  loop.state("noise", noise);
  loop.state("position", position);
  loop.state("normal", normal);
  loop.state(
      "called", [] { return ADD_FAILURE() << "too early", std::string(); }, [](const std::string&) {});
  const RankState start = start_of_rank(loop);
  ASSERT_EQ(start.size(), 2U);
  noise.discard(1);
  EXPECT_EQ(parts_that_differ(start_of_rank(loop), start), std::vector<std::string>{"_trainhook/state/noise"});
  EXPECT_EQ(parts_that_differ(start, {}).size(), 2U);
}

TEST(RankState, NamesWhatTheOtherRanksHave) {
  const std::vector<std::string> names = {"_trainhook/ranks/", "_trainhook/ranks/1/noise", "_trainhook/ranks/2/a/b",
                                          "_trainhook/ranks/3", "noise"};
  const auto found = names_of_ranks(names);
  EXPECT_TRUE(found.contains("noise"));
  EXPECT_TRUE(found.contains("a/b"));
  EXPECT_FALSE(found.contains("3"));
}

TEST(RankState, IsTheSameAfterItsWay) {
  RankState sent = some_state();
  const std::vector<double> odd = {-0.0, std::numeric_limits<double>::quiet_NaN(), 1e-310};
  sent.push_back({.name = "odd", .entries = {{"odd", Tensor::copy_of<double>(odd, Shape{3, 1})}}});
  sent.push_back({.name = "none", .entries = {{"none", Tensor(DType::Float, Shape{0, 2})}}});
  sent.push_back({.name = "zeros", .entries = {{"zeros", Tensor(DType::Int64, Shape{100})}}});
  const RankState got = rank_state_in(rank_state_bytes(sent), 1);
  ASSERT_EQ(got.size(), sent.size());
  EXPECT_EQ(own_entries(1, got, sent, "").size(), 0U);
  EXPECT_EQ(own_entries(1, sent, got, "").size(), 0U);
  EXPECT_EQ(rank_state_in("", 1).size(), 0U);
}

TEST(RankState, BytesThatAreNoneAreAnErrorThatNamesTheRank) {
  const std::string good = rank_state_bytes(some_state());
  int refused = 0;
  for (std::size_t length = 1; length < good.size(); ++length) {
    try {
      static_cast<void>(rank_state_in(std::string_view(good).substr(0, length), 7));
    } catch (const DataLossError& error) {
      ++refused;
      EXPECT_NE(std::string_view(error.what()).find("the state that rank 7 has sent"), std::string_view::npos);
    }
  }
  EXPECT_GT(refused, static_cast<int>(good.size()) * 9 / 10);
  for (std::size_t place = 0; place < good.size(); ++place) {
    for (const int bits : {0x01, 0x80, 0x7f}) {
      std::string bad = good;
      bad[place] = static_cast<char>(bad[place] ^ bits);
      try {
        static_cast<void>(rank_state_in(bad, 7));
      } catch (const Error&) {  // or it is another state
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, static_cast<int>(good.size()) * 3 / 2);
}

TEST(RankState, WhatTheChiefHasTooIsNotStored) {
  EXPECT_EQ(names_of(own_entries(1, some_state(), some_state(), "hooks")), std::vector<std::string>());
  RankState other = some_state();
  other[0].entries[0].tensor = Tensor("56");
  EXPECT_EQ(names_of(own_entries(3, other, some_state(), "hooks")),
            std::vector<std::string>{"_trainhook/ranks/3/noise"});
}

TEST(RankState, OfSaveablesIsStoredAsAWhole) {
  const RankState chiefs = {{.name = "s", .entries = {{"s/a", Tensor(1)}, {"s/b", Tensor(2)}}}};
  const RankState less = {{.name = "s", .entries = {{"s/a", Tensor(1)}}}};
  EXPECT_EQ(names_of(own_entries(1, less, chiefs, "hooks")), std::vector<std::string>{"_trainhook/ranks/1/s/a"});
  EXPECT_EQ(names_of(own_entries(1, chiefs, less, "hooks")),
            (std::vector<std::string>{"_trainhook/ranks/1/s/a", "_trainhook/ranks/1/s/b"}));
  EXPECT_EQ(names_of(own_entries(1, chiefs, {}, "hooks")).size(), 2U);
}

TEST(RankState, OfHooksIsComparedHookByHook) {
  RankState chiefs = some_state();
  chiefs[1].entries.push_back({"hooks/ChiefOnly/version", Tensor(std::int64_t{1})});
  chiefs[1].entries.push_back({"hooks/ChiefOnly/step", Tensor(5)});
  EXPECT_TRUE(own_entries(1, some_state(), chiefs, "hooks").empty());
  // On the chief, B has something; here it has nothing, which must not become the chief's.
  chiefs[1].entries.push_back({"hooks/B/sum", Tensor(7)});
  EXPECT_EQ(names_of(own_entries(1, some_state(), chiefs, "hooks")),
            (std::vector<std::string>{"_trainhook/ranks/1/hooks/A/version", "_trainhook/ranks/1/hooks/A/sum"}));
  const RankState nothing = {{.name = "hooks", .entries = {{"hooks/A/version", Tensor(std::int64_t{1})}}}};
  EXPECT_EQ(names_of(own_entries(1, nothing, chiefs, "hooks")),
            std::vector<std::string>{"_trainhook/ranks/1/hooks/A/version"});
}

TEST(RankState, OfRanksThatAreNotThereIsFound) {
  const std::vector<std::string> names = {"_trainhook/ranks/",         "_trainhook/ranks/1/noise",
                                          "_trainhook/ranks/10/noise", "_trainhook/ranks/2/a",
                                          "_trainhook/ranks/2/b",      "_trainhook/ranks/4",
                                          "_trainhook/ranks/x/a",      "_trainhook/ranks/99999999999999999999/a",
                                          "_trainhook/ranks/-3/a",     "weight"};
  EXPECT_EQ(ranks_beyond(2, names), (std::vector{2, 10}));
  EXPECT_EQ(ranks_beyond(11, names), std::vector<int>());
}

}  // namespace
}  // namespace trainhook::detail
