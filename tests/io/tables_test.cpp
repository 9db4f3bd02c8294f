// SPDX-License-Identifier: Apache-2.0
/// @file
/// Table files byte for byte, and the rules by which they are cut into blocks; handles of blocks, there and back;
/// damaged table files: every one is refused by name, none is read wrongly. Snappy: texts that Google's library packed,
/// each kind of element, and everything that is not Snappy.
#include <trainhook/io/tables.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/error.hpp>

#include "damage.hpp"
#include "expect_error.hpp"
#include "hex.hpp"
#include "packed_table.hpp"

namespace trainhook {
namespace {

using support::append_block;
using support::as_literals;
using support::bytes;
using support::packed_table;
using support::table_footer;
using Entries = std::map<std::string, std::string>;

const std::string kMagic = "57fb808b247547db";

Entries read_all(const std::string& file) {
  Entries entries;
  const detail::TableReader reader(file, "run/x.index");
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

TEST(BlockHandle, TakesWhatItAppended) {
  std::string text;
  detail::BlockHandle{300, 5}.append_to(text);
  EXPECT_EQ(text, "\xac\x02\x05");
  std::string_view view = text;
  const auto handle = detail::BlockHandle::take(view);
  ASSERT_TRUE(handle.has_value());
  EXPECT_EQ(handle->offset, 300u);
  EXPECT_EQ(handle->size, 5u);
  EXPECT_TRUE(view.empty());
}

TEST(BlockHandle, OfHalfTheBytesIsNone) {
  std::string_view view = "\xac\x02";
  EXPECT_FALSE(detail::BlockHandle::take(view).has_value());
}

std::string sample_table() {
  detail::TableWriter table(64);  // small blocks: several of them, with an index worth its name
  for (char c = 'a'; c < 'k'; ++c) table.add(std::string("layer/") + c, std::string(10, c));
  return table.finish();
}

/// A file with this block in place of data, all checksums right.
std::string table_around(const std::string& block, const std::string& index_key, char type = 0) {
  std::string file;
  detail::BlockBuilder index_builder(1);
  std::string handle;
  append_block(file, block, type).append_to(handle);
  index_builder.add(index_key, handle);
  const detail::BlockHandle metaindex = append_block(file, detail::BlockBuilder(16).finish(), 0);
  const detail::BlockHandle index = append_block(file, index_builder.finish(), 0);
  return file + table_footer(metaindex, index);
}

std::string block_of(const std::string& entries) {
  std::string block = entries;
  detail::append_fixed(block, 0u);
  detail::append_fixed(block, 1u);
  return block;
}

TEST(TableReader, GivesEntriesInOrder) {
  const Entries entries = read_all(sample_table());
  EXPECT_EQ(entries.size(), 10u);
  EXPECT_EQ(entries.at("layer/c"), std::string(10, 'c'));
}

TEST(TableReader, RefusesEveryTruncation) {
  const std::string file = sample_table();
  for (std::size_t size = 0; size < file.size(); ++size) {
    try {
      read_all(file.substr(0, size));
      FAIL() << "read a file cut to " << size;
    } catch (const DataLossError& error) {
      EXPECT_NE(std::string(error.what()).find("run/x.index"), std::string::npos) << error.what();
    }
  }
}

TEST(TableReader, RefusesEveryFlippedBit) {
  const std::string file = sample_table();
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    EXPECT_THROW(read_all(testing::flipped(file, bit)), DataLossError) << "bit " << bit;
  }
}

TEST(TableReader, ABlockWithAFlippedBitIsAnErrorOrIsReadThoughItsChecksumFits) {
  detail::BlockBuilder entries(4);
  for (char c = 'a'; c < 'k'; ++c) entries.add(std::string("layer/") + c, std::string(10, c));
  const auto read = [](const std::string& block) { return read_all(table_around(block, "z")); };
  testing::expect_refused_or_read(entries.finish(), "run/x.index", read);
}

TEST(TableReader, TellsATornFileFromAForeignOne) {
  const auto message = [](const std::string& file) -> std::string {
    try {
      read_all(file);
      return "no error";
    } catch (const DataLossError& error) { return error.what(); }
  };
  EXPECT_NE(message("short").find("too short to be a table"), std::string::npos);
  EXPECT_NE(message(std::string(100, 'x')).find("bad magic number"), std::string::npos);
}

TEST(TableReader, RefusesLengthsThatDoNotFitThoughTheChecksumDoes) {
  const std::string huge = "\xff\xff\xff\xff\x0f";
  for (const std::string& entries :
       {std::string("\x01\x01\x00k", 4),  // shares a byte of no key
        std::string("\x00\x05\x00k", 4),  // key beyond the block
        std::string("\x00\x01\x05k", 4),  // value beyond the block
        std::string("\x00", 1) + huge + huge + "k", std::string("\x00\x01", 2) + huge + "k",
        std::string("\x80", 1)}) {  // no end of a length
    EXPECT_THROW(read_all(table_around(block_of(entries), "z")), DataLossError);
  }
}

TEST(TableReader, RefusesImpossibleRestartCounts) {
  std::string block;
  detail::append_fixed(block, 0xffffffff);
  EXPECT_THROW(read_all(table_around(block, "z")), DataLossError);
  EXPECT_THROW(read_all(table_around("", "z")), DataLossError);
}

TEST(TableReader, RefusesKeysOutOfOrder) {
  EXPECT_THROW(read_all(table_around(block_of(std::string("\x00\x01\x00"
                                                          "b\x00\x01\x00"
                                                          "a",
                                                          8)),
                                     "z")),
               DataLossError);
  EXPECT_THROW(read_all(table_around(block_of(std::string("\x00\x01\x00"
                                                          "a\x00\x01\x00"
                                                          "a",
                                                          8)),
                                     "z")),
               DataLossError);
  EXPECT_THROW(read_all(table_around(block_of(std::string("\x00\x01\x00"
                                                          "b",
                                                          4)),
                                     "a")),
               DataLossError);
}

TEST(TableReader, RefusesKeysThatUnfoldToManyTimesTheFile) {
  std::string entries = std::string("\x00", 1);
  detail::append_varint(entries, 20'000);
  entries += '\0';
  entries += std::string(20'000, 'k');
  for (int i = 0; i < 255; ++i) {  // each entry costs a few bytes and unfolds to 20 thousand
    detail::append_varint(entries, 20'000 - 1 + (i == 0 ? 1 : 0));
    entries += std::string("\x01\x00", 2);
    entries += static_cast<char>(i);
  }
  EXPECT_THROW(read_all(table_around(block_of(entries), std::string(20'001, '\xff'))), DataLossError);
}

TEST(TableReader, ReadsABlockThatGooglesLibraryPacked) {  // libsnappy 1.1.9, with copies in the values
  const std::string packed = bytes("6a 34 00000178 0007286c617965722f61 9e0100 0c06012862 9e0100 1c 0000000001000000");
  EXPECT_EQ(read_all(table_around(packed, "z", 1)),
            (Entries{{"", "x"}, {"layer/a", std::string(40, 'a')}, {"layer/b", std::string(40, 'b')}}));
}

TEST(TableReader, ReadsATableWhoseEveryBlockIsPacked) {
  EXPECT_EQ(read_all(packed_table(sample_table())), read_all(sample_table()));
}

TEST(TableReader, RefusesEveryFlippedBitOfAPackedTable) {
  const std::string file = packed_table(sample_table());
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit)
    EXPECT_THROW(read_all(testing::flipped(file, bit)), DataLossError) << "bit " << bit;
}

TEST(TableReader, APackedBlockWithAFlippedBitIsAnErrorOrIsReadThoughItsChecksumFits) {
  detail::BlockBuilder entries(4);
  for (char c = 'a'; c < 'k'; ++c) entries.add(std::string("layer/") + c, std::string(10, c));
  const auto read = [](const std::string& packed) { return read_all(table_around(packed, "z", 1)); };
  testing::expect_refused_or_read(as_literals(entries.finish()), "run/x.index", read);
}

TEST(TableReader, SaysWhichBlockIsNotWhatSnappyMakes) {
  testing::expect_error<DataLossError>({"run/x.index", "the block at byte 0 is not what Snappy makes"},
                                       [] { read_all(table_around("\x05\x10hell", "z", 1)); });
}

TEST(TableReader, UnpacksABlockOnceHoweverOftenTheIndexNamesIt) {
  std::string file, handle;
  detail::BlockBuilder index(1);
  append_block(file, as_literals(detail::BlockBuilder(16).finish()), 1).append_to(handle);
  for (const char* key : {"a", "b"}) index.add(key, handle);
  const detail::BlockHandle metaindex = append_block(file, detail::BlockBuilder(16).finish(), 0);
  const detail::BlockHandle index_handle = append_block(file, index.finish(), 0);
  testing::expect_error<DataLossError>({"its index is out of order"},
                                       [&] { read_all(file + table_footer(metaindex, index_handle)); });
}

TEST(TableReader, SaysWhichCompressionItDoesNotRead) {
  const auto read = [](char type) { read_all(table_around(block_of(""), "z", type)); };
  testing::expect_error<UnimplementedError>(
      {"run/x.index", "of a format that is not read here: a block is compressed in way 2 (zstd); write it again"},
      [&] { read(2); });
  testing::expect_error<UnimplementedError>({"in way 255;"}, [&] { read('\xff'); });
}

std::optional<std::string> unpack(std::string_view hex) { return detail::unpack_snappy(bytes(hex)); }

/// `size` different bytes, as far as there are.
std::string literal(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * 7 + i / 256);
  return text;
}

TEST(Snappy, UnpacksWhatGooglesLibraryPacks) {  // libsnappy 1.1.9
  EXPECT_EQ(unpack("00"), "");
  EXPECT_EQ(unpack("05 10 68656c6c6f"), "hello");
  EXPECT_EQ(unpack("24 1c 6162636465666768 5e0800 0c 7461696c"), "abcdefghabcdefghabcdefghabcdefghtail");
  std::string zeros = "e807 00 00";
  for (int i = 0; i < 15; ++i) zeros += "fe0100";
  EXPECT_EQ(unpack(zeros + "9a0100"), std::string(1000, '\0'));
}

TEST(Snappy, TakesLiteralsWhoseLengthHasAnyNumberOfBytes) {
  const std::string sixty = literal(60), longer = literal(61), long_one = literal(300);
  EXPECT_EQ(detail::unpack_snappy(bytes("3c ec") + sixty), sixty);
  EXPECT_EQ(detail::unpack_snappy(bytes("3d f0 3c") + longer), longer);
  EXPECT_EQ(detail::unpack_snappy(bytes("ac02 f4 2b01") + long_one), long_one);
  EXPECT_EQ(detail::unpack_snappy(bytes("ac02 f8 2b0100") + long_one), long_one);
  EXPECT_EQ(detail::unpack_snappy(bytes("ac02 fc 2b010000") + long_one), long_one);
}

TEST(Snappy, TakesCopiesWhoseOffsetHasOneTwoOrFourBytes) {
  const std::string text = literal(300);
  const std::string head = bytes("b402 f4 2b01") + text;  // 300 bytes of 308
  const auto copied = [&](std::string_view element) { return detail::unpack_snappy(head + bytes(element)); };
  EXPECT_EQ(copied("31 2c"), text + text.substr(0, 8));  // upper bits of the offset 300 in the tag, as 1 << 8
  EXPECT_EQ(copied("11 08"), text + text.substr(292));
  EXPECT_EQ(copied("1e 2c01"), text + text.substr(0, 8));
  EXPECT_EQ(copied("1f 2c010000"), text + text.substr(0, 8));
}

TEST(Snappy, RepeatsTheBytesOfACopyThatIsLongerThanItsOffset) {
  EXPECT_EQ(unpack("07 00 61 0901"), "aaaaaaa");
  EXPECT_EQ(unpack("0b 08 616263 1103"), "abcabcabcab");
  EXPECT_EQ(unpack("0b 08 616263 1e0300"), "abcabcabcab");
  EXPECT_EQ(unpack("0b 08 616263 1f03000000"), "abcabcabcab");
}

TEST(Snappy, RefusesACopyOfNothingOrFromBeforeTheText) {
  EXPECT_EQ(unpack("07 08 616263 0103"), "abcabca");
  EXPECT_EQ(unpack("07 08 616263 0100"), std::nullopt);
  EXPECT_EQ(unpack("07 08 616263 0104"), std::nullopt);
  EXPECT_EQ(unpack("07 08 616263 0e0000"), std::nullopt);
  EXPECT_EQ(unpack("07 08 616263 0e0400"), std::nullopt);
  EXPECT_EQ(unpack("07 08 616263 0f00000000"), std::nullopt);
  EXPECT_EQ(unpack("07 08 616263 0f03000080"), std::nullopt);
  EXPECT_EQ(unpack("04 0101"), std::nullopt);  // before any text
}

TEST(Snappy, RefusesMoreAndFewerBytesThanItsSizeSays) {
  EXPECT_EQ(unpack("04 10 68656c6c6f"), std::nullopt);
  EXPECT_EQ(unpack("06 10 68656c6c6f"), std::nullopt);
  EXPECT_EQ(unpack("06 08 616263 0103"), std::nullopt);
  EXPECT_EQ(unpack("08 08 616263 0103"), std::nullopt);
  EXPECT_EQ(unpack("01"), std::nullopt);
}

TEST(Snappy, RefusesEveryTruncation) {
  for (const std::string& packed : {bytes("07 08 616263 0103"), bytes("07 08 616263 0e0300"),
                                    bytes("07 08 616263 0f03000000"), bytes("ac02 fc 2b010000") + literal(300)}) {
    ASSERT_TRUE(detail::unpack_snappy(packed));
    for (std::size_t size = 0; size < packed.size(); ++size)
      EXPECT_EQ(detail::unpack_snappy(packed.substr(0, size)), std::nullopt) << size << " of " << packed.size();
  }
}

TEST(Snappy, RefusesASizeThatItsBytesCannotMakeWithoutTakingMemoryForIt) {
  EXPECT_EQ(unpack("ffffffffffffffffff01 00 61"), std::nullopt);
  EXPECT_EQ(unpack("ffffffff0f 00 61"), std::nullopt);
  EXPECT_EQ(unpack("ffffffffffffffffffff 00 61"), std::nullopt);                       // no number
  EXPECT_EQ(unpack("ff01 00 61 fe0100 fe0100 fe0100 f60100"), std::string(255, 'a'));  // as much as they can make
}

TEST(Snappy, FlippedBitsAreRefusedOrUnpacked) {
  const std::string packed = bytes("24 1c 6162636465666768 5e0800 0c 7461696c");
  for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
    const std::optional<std::string> text = detail::unpack_snappy(testing::flipped(packed, bit));
    EXPECT_LE(text.value_or("").size(), 22 * packed.size()) << "bit " << bit;
  }
}

}  // namespace
}  // namespace trainhook
