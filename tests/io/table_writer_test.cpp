// SPDX-License-Identifier: Apache-2.0
/// @file
/// Table files byte for byte, and the rules by which they are cut into blocks.
#include <trainhook/io/table_writer.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/table_reader.hpp>

#include "hex.hpp"

namespace trainhook {
namespace {

using support::bytes;

const std::string kMagic = "57fb808b247547db";

std::map<std::string, std::string> read_all(const std::string& file) {
  std::map<std::string, std::string> entries;
  const detail::TableReader reader(file, "table");
  reader.for_each([&](std::string_view key, std::string_view value) { entries.emplace(key, value); });
  return entries;
}

TEST(TableWriter, OneEntryIsTheMinimalFileByteForByte) {
  detail::TableWriter table;
  table.add("", bytes("08011a020801"));
  EXPECT_EQ(table.finish(),
            bytes("00000608011a020801 00000000 01000000 00 629457f9 00000000 01000000 00 c0f2a1b0 000002 0011"
                  "00000000 01000000 00 ccbf8b5d 1608230d" +
                  std::string(72, '0') + kMagic));
}

TEST(TableWriter, ThreeEntriesAreTensorFlowsFileByteForByte) {
  detail::TableWriter table;
  table.add("", bytes("08011a020801"));
  table.add("W", bytes("0801120028043574ed716f"));
  table.add("b", bytes("080112002004280435f4bd5083"));
  EXPECT_EQ(table.finish(),
            bytes("000006 08011a020801 00010b57 080112002804 3574ed716f 00010d62 08011200 2004 2804 35f4bd5083"
                  "00000000 01000000 00 bc6c4d28 00000000 01000000 00 c0f2a1b0 00 01 02 63 00 31"
                  "00000000 01000000 00 54f2762d 3608430e" +
                  std::string(72, '0') + kMagic));
}

TEST(TableWriter, SharesPrefixesAndRestartsEverySixteenEntries) {
  detail::BlockBuilder block(detail::kRestartInterval);
  std::string expected;
  for (int i = 0; i < 17; ++i) {
    const char key[] = {'k', static_cast<char>('a' + i), '\0'};
    block.add(key, "");
    expected += i % 16 == 0 ? bytes("000200") + key : bytes("010100") + key[1];
  }
  const std::size_t second = expected.size() - 5;
  expected += bytes("00000000");
  detail::append_fixed(expected, static_cast<std::uint32_t>(second));
  expected += bytes("02000000");
  EXPECT_EQ(block.size(), expected.size());
  EXPECT_EQ(block.finish(), expected);
}

TEST(TableWriter, SeparatorsAreShortAndBetween) {
  EXPECT_EQ(detail::shortest_separator("the quick brown fox", "the who"), "the r");
  EXPECT_EQ(detail::shortest_separator("a", "b"), "a");
  EXPECT_EQ(detail::shortest_separator("a1", "c"), "b");
  EXPECT_EQ(detail::shortest_separator("ab", "abc"), "ab");
  EXPECT_EQ(detail::shortest_separator("a\xff", "b"), "a\xff");
  EXPECT_EQ(detail::shortest_separator("\xfe"
                                       "1",
                                       "\xff"
                                       "9"),
            "\xfe"
            "1");
  EXPECT_EQ(detail::short_successor("b"), "c");
  EXPECT_EQ(detail::short_successor("weights"), "x");
  EXPECT_EQ(detail::short_successor("\xff\xff"
                                    "a"),
            "\xff\xff"
            "b");
  EXPECT_EQ(detail::short_successor("\xff"), "\xff");
  EXPECT_EQ(detail::short_successor(""), "");
}

TEST(TableWriter, KeepsEntriesOfManyBlocks) {
  std::map<std::string, std::string> entries;
  for (int i = 0; i < 5000; ++i)
    entries["layer_" + std::to_string(i) + "/kernel"] = std::string(static_cast<std::size_t>(i % 300), 'v');
  detail::TableWriter table;
  for (const auto& [key, value] : entries) table.add(key, value);
  const std::string file = table.finish();
  EXPECT_GT(file.size(), 2 * detail::kTableBlockSize);
  EXPECT_EQ(read_all(file), entries);
}

TEST(TableWriter, AHugeEntryGetsItsOwnBlock) {
  detail::TableWriter table;
  table.add("a", "small");
  table.add("b", std::string(512 * 1024, 'x'));
  table.add("c", "small");
  const std::string file = table.finish();
  // The first block holds "a" alone: three lengths, a key, a value, one restart, the count.
  EXPECT_EQ(detail::fixed32_at(file, 3 + 1 + 5 + 4), 1u);
  const auto entries = read_all(file);
  EXPECT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries.at("b").size(), 512u * 1024);
}

TEST(TableWriter, AnEmptyTableIsAFileToo) { EXPECT_TRUE(read_all(detail::TableWriter().finish()).empty()); }

TEST(TableWriter, KeysMustRise) {
  detail::TableWriter table;
  table.add("b", "");
  EXPECT_THROW(table.add("b", ""), InvalidArgumentError);
  EXPECT_THROW(table.add("a", ""), InvalidArgumentError);
  EXPECT_NO_THROW(table.add("\xff", ""));
}

}  // namespace
}  // namespace trainhook
