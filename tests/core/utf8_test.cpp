// SPDX-License-Identifier: Apache-2.0
/// @file
/// What is UTF-8, and what becomes of strings that are not.
#include <trainhook/core/utf8.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/log_lines.hpp>

namespace trainhook {
namespace {

TEST(Utf8, HasCharactersOfOneToFourBytes) {
  for (const std::string_view text :
       {"", "dense/kernel", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(detail::is_utf8(text)) << text;
}

TEST(Utf8, HasNothingElse) {
  for (const std::string_view text : {"\x80", "\xff", "a\xc3", "\xe2\x82", "\xc3(", "\xc0\x80", "\xe0\x80\x80",
                                      "\xf0\x80\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80"})
    EXPECT_FALSE(detail::is_utf8(text)) << text;
}

TEST(Utf8, ReplacesEachOtherByteInATextAndSaysSo) {
  const testing::LogLines log;
  EXPECT_EQ(detail::utf8_text("K\xc3\xa4se", "the note"), "K\xc3\xa4se");
  EXPECT_TRUE(log.lines.empty());
  EXPECT_EQ(detail::utf8_text("K\xe4se \xe2\x82", "the note"), "K\xef\xbf\xbdse \xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(log.count("W the note is not UTF-8 and is written as 'K\xef\xbf\xbdse \xef\xbf\xbd\xef\xbf\xbd'"), 1U);
}

TEST(Utf8, IsCutBetweenLetters) {
  const std::string_view text = "K\xc3\xa4se \xe2\x82\xac\xff!";
  for (const auto& [letters, bytes] :
       {std::pair(0, 0), {1, 1}, {2, 3}, {3, 4}, {5, 6}, {6, 9}, {7, 10}, {8, 11}, {99, 11}})
    EXPECT_EQ(detail::utf8_prefix(text, static_cast<std::size_t>(letters)),
              text.substr(0, static_cast<std::size_t>(bytes)));
}

TEST(Utf8, IsWhatNamesMustBe) {
  detail::expect_utf8("K\xc3\xa4se", "the column");
  try {
    detail::expect_utf8("K\xe4se", "the column");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(), "the column 'K\xef\xbf\xbdse' is not UTF-8, which files need; convert it");
  }
  EXPECT_EQ(detail::checked_name("K\xc3\xa4se", "model"), "K\xc3\xa4se");
  EXPECT_THROW((void)detail::checked_name("K\xe4se", "model"), DataLossError);
}

}  // namespace
}  // namespace trainhook
