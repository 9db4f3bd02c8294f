// SPDX-License-Identifier: Apache-2.0
/// @file
/// What is said about a name that is not there, and the names of types.
#include <trainhook/core/names_in_messages.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook::detail {
namespace {

TEST(SuggestNames, NamesThoseWithTheSameLastPart) {
  EXPECT_EQ(suggest_names({"dense/kernel", "dense/bias", "out/kernel/Adam"}, "hidden/kernel"),
            "names like it are: dense/kernel, out/kernel/Adam");
}

TEST(SuggestNames, TakesWhatFollowsADotIfTheWholeLastPartIsNowhere) {
  const std::vector<std::string_view> names = {"a", "net/fc1.weight", "net/fc2.weight"};
  EXPECT_EQ(suggest_names(names, "net/enc.fc1.weight"), "names like it are: net/fc1.weight");
  EXPECT_EQ(suggest_names(names, "fc3.weight"), "names like it are: net/fc1.weight, net/fc2.weight");
  EXPECT_EQ(suggest_names(names, "fc3."), "it holds: a, net/fc1.weight, net/fc2.weight");
}

TEST(SuggestNames, NamesTheFirstOnesIfNoneIsLikeIt) {
  EXPECT_EQ(suggest_names({"b", "a"}, "x"), "it holds: b, a");
  EXPECT_EQ(suggest_names({"b", "a"}, "scope/"), "it holds: b, a");
}

TEST(SuggestNames, NamesEightAtMostAndSaysHowManyThereAre) {
  const std::vector<std::string_view> nine = {"w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"};
  EXPECT_EQ(suggest_names(nine, "w"), "names like it are: w0, w1, w2, w3, w4, w5, w6, w7, ... (9 in all)");
  EXPECT_EQ(suggest_names(nine, "x"), "it holds: w0, w1, w2, w3, w4, w5, w6, w7, ... (9 in all)");
}

TEST(SuggestNames, OfManyNamesThoseFirstThatAreMostLikeIt) {
  std::vector<std::string> names;
  for (int i = 0; i < 21; ++i) names.push_back("net/layer" + std::to_string(i) + "/kernel");
  names[15] = "loss";
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string likest = suggest_names(views, "net/layr17/kernel");
  EXPECT_TRUE(likest.starts_with("names like it are: net/layer17/kernel, net/layer7/kernel, ")) << likest;
  EXPECT_TRUE(likest.ends_with(", ... (20 in all)")) << likest;
  EXPECT_TRUE(suggest_names(views, "los").starts_with("names like it are: loss")) << suggest_names(views, "los");
  EXPECT_TRUE(suggest_names(views, "lss").starts_with("it holds: loss, ")) << suggest_names(views, "lss");
}

TEST(SuggestNames, OfNoneSaysSo) { EXPECT_EQ(suggest_names({}, "x"), "it holds none"); }

TEST(SuggestNames, TakesTheKeysOfAMap) {
  EXPECT_EQ(suggest_keys(std::map<std::string, int>{{"a", 1}, {"b", 2}}, "x"), "it holds: a, b");
}

}  // namespace
}  // namespace trainhook::detail

namespace trainhook {
namespace {

template <class T>
struct Box {};

TEST(TypeName, LacksScopesAndTemplateArguments) {
  const std::vector<std::pair<std::string, std::string>> types = {
      {"Hook", "Hook"},
      {"a::b::Hook", "Hook"},
      {"my::Hook<std::string>", "Hook"},
      {"Hook<a::b<c::d> >", "Hook"},
      {"my::Box<std::string>::Hook", "Hook"},
      {"(anonymous namespace)::f(std::vector<int>)::Hook<std::string>", "Hook"},
  };
  for (const auto& [type, name] : types) EXPECT_EQ(detail::short_type_name(type), name) << type;
  EXPECT_EQ(detail::short_type_name(typeid(Box<std::string>)), "Box");
}

}  // namespace
}  // namespace trainhook
