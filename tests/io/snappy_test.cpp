// SPDX-License-Identifier: Apache-2.0
/// @file
/// Snappy: texts that Google's library packed, each kind of element, and everything that is not Snappy.
#include <trainhook/io/snappy.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "damage.hpp"
#include "hex.hpp"

namespace trainhook {
namespace {

using support::bytes;

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
