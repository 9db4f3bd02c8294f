// SPDX-License-Identifier: Apache-2.0
/// @file
/// JSON that cannot be trusted: what is found in it, and what is refused.
#include <trainhook/exchange/strict_json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> found_in(std::string_view json) {
  std::vector<std::string> lines;
  detail::visit_json(json, "text", [&](std::span<const std::string> path, const detail::JsonValue& value) {
    using Kind = detail::JsonValue::Kind;
    const std::string what = value.kind == Kind::Object   ? "object"
                             : value.kind == Kind::Array  ? "array"
                             : value.kind == Kind::Number ? fmt::format("{}", value.number)
                             : value.kind == Kind::Text   ? fmt::format("'{}'", value.text)
                                                          : "other";
    lines.push_back(fmt::format("{} {}{}", fmt::join(path, "/"), std::string(value.arrays, '['), what));
  });
  return lines;
}

std::string complaint(std::string_view json) {
  try {
    static_cast<void>(found_in(json));
  } catch (const DataLossError& error) { return error.what(); }
  return "none";
}

TEST(StrictJson, FindsEveryValueWithItsPath) {
  EXPECT_THAT(found_in(R"({"a": {"b": [1, [2]], "c": "x"}, "d": -1, "e": null, "f": 1.5})"),
              ElementsAre(" object", "a object", "a/b array", "a/b [1", "a/b [array", "a/b [[2", "a/c 'x'", "d other",
                          "e other", "f other"));
  EXPECT_THAT(found_in("18446744073709551615"), ElementsAre(" 18446744073709551615"));
  EXPECT_THAT(found_in("18446744073709551616"), ElementsAre(" other"));
  EXPECT_THAT(found_in("{}  \n"), ElementsAre(" object"));
}

TEST(StrictJson, RefusesANameTwiceInOneObjectAndNotInTwo) {
  EXPECT_EQ(complaint(R"({"a": {"x": 1}, "b": {"x": 1}})"), "none");
  EXPECT_EQ(complaint(R"({"a": 1, "b": {"x": 1, "\u0078": 2}})"),
            "text is damaged: it has the name 'x' twice in one object");
}

TEST(StrictJson, RefusesWhatIsNotJson) {
  for (const std::string_view json : {"", "{", "{}x", "{\"a\"}", "{'a': 1}", "[1,]", "\xff", "\"\xc0\x80\"",
                                      "\"\\ud800\"", "nul", "01", "{\"a\": 1}\1"})
    EXPECT_THAT(complaint(json), HasSubstr("text is damaged: byte ")) << json;
}

TEST(StrictJson, RepeatsNothingLongInAMessage) {
  const std::string name(100'000, 'n');
  EXPECT_LT(complaint("{\"" + name + "\": 1, \"" + name + "\": 1}").size(), 300u);
  EXPECT_LT(complaint("\"" + name).size(), 300u);
}

TEST(StrictJson, RefusesMoreNamesThanAnyModelHas) {
  std::string json = "{";
  for (std::size_t i = 0; i <= detail::kMostNames; ++i) json += fmt::format("{}\"{:x}\":1", i == 0 ? "" : ",", i);
  EXPECT_EQ(complaint(json + "}"), "text is damaged: it has more than 1000000 names in one object");
}

TEST(StrictJson, RefusesDepthWithoutGoingDown) {
  EXPECT_EQ(complaint(std::string(8, '[') + std::string(8, ']')), "none");
  EXPECT_EQ(complaint(std::string(1'000'000, '[')), "text is damaged: it has more than 8 levels");
  std::string objects;
  for (int i = 0; i < 9; ++i) objects += "{\"a\":";
  EXPECT_EQ(complaint(objects), "text is damaged: it has more than 8 levels");
}

TEST(StrictJson, WritesTextsThatItReadsBack) {
  const std::string text("\0 \" \\ / \n \x1f \x7f \xc3\xa9 \xf0\x9f\x98\x80", 21);
  EXPECT_THAT(found_in(detail::json_text(text, "name")), ElementsAre(" '" + text + "'"));
  EXPECT_THROW(static_cast<void>(detail::json_text("\xff", "name")), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
