// SPDX-License-Identifier: Apache-2.0
/// @file
/// Numbers in byte strings, and what is not one.
#include <trainhook/core/coding.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

TEST(Coding, FixedNumbersAreLittleEndian) {
  std::string text;
  detail::append_fixed(text, 0x04030201u);
  detail::append_fixed(text, 0x0c0b0a0908070605u);
  EXPECT_EQ(text, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c");
  EXPECT_EQ(detail::fixed32_at(text, 0), 0x04030201u);
  EXPECT_EQ(detail::fixed64_at(text, 4), 0x0c0b0a0908070605u);
}

TEST(Coding, VarintsComeBack) {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{300},
        std::uint64_t{1} << 32, std::numeric_limits<std::uint64_t>::max()}) {
    std::string text;
    detail::append_varint(text, value);
    text += "rest";
    std::string_view view = text;
    EXPECT_EQ(detail::take_varint(view), value);
    EXPECT_EQ(view, "rest");
  }
}

TEST(Coding, CutOffOrOverlongVarintsAreNone) {
  for (const std::string& bad : {std::string(), std::string("\x80"), std::string(9, '\xff'), std::string(11, '\x80'),
                                 std::string(9, '\xff') + "\x02"}) {
    std::string_view view = bad;
    EXPECT_FALSE(detail::take_varint(view).has_value()) << bad.size();
  }
}

}  // namespace
}  // namespace trainhook
