// SPDX-License-Identifier: Apache-2.0
/// @file
/// CRC32C against published vectors, and its two implementations against each other.
#include <trainhook/io/crc32c.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

struct Vector {
  std::string input;
  std::uint32_t crc;
  std::uint32_t masked;
};

std::string ascending() {
  std::string text;
  for (char c = 0; c < 32; ++c) text += c;
  return text;
}

std::vector<Vector> vectors() {
  const std::string up = ascending();
  return {{"", 0x00000000, 0xa282ead8},
          {"a", 0xc1d04330, 0x28e46e78},
          {"123456789", 0xe3069283, 0xc78ab0e5},
          {std::string(32, '\0'), 0x8a9136aa, 0x0fd7fffa},
          {std::string(32, '\xff'), 0x62a8ab43, 0xf909b029},
          {up, 0x46dd794e, 0x951f7892},
          {std::string(up.rbegin(), up.rend()), 0x113fdb5c, 0x593b0d57}};
}

TEST(Crc32c, GivesThePublishedValues) {
  for (const Vector& vector : vectors()) {
    EXPECT_EQ(crc32c::value(vector.input), vector.crc) << vector.input;
    EXPECT_EQ(crc32c::mask(vector.crc), vector.masked) << vector.input;
  }
}

TEST(Crc32c, MaskedLengthFieldsAreThoseOfRecordFiles) {
  EXPECT_EQ(crc32c::mask(crc32c::value(std::string("\x18\0\0\0\0\0\0\0", 8))), 0x224b7fa3u);
  EXPECT_EQ(crc32c::mask(crc32c::value(std::string(8, '\0'))), 0x07980329u);
  EXPECT_EQ(crc32c::mask(crc32c::value("\x1a\x11"
                                       "CRC test, one two")),
            0x5794d08au);
}

TEST(Crc32c, ExtendContinuesWhereValueStopped) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c::extend(crc32c::value(text.substr(0, cut)), text.substr(cut)), crc32c::value(text));
  }
}

TEST(Crc32c, TableAndInstructionAgreeAtEveryLengthAndAlignment) {
  if (!crc32c::detail::has_instruction()) GTEST_SKIP() << "this processor has no CRC32C instruction";
  std::mt19937 random(1);
  std::vector<std::byte> bytes(60'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const std::span<const std::byte> all(bytes);
  for (const std::size_t length :
       {0u, 1u, 7u, 8u, 9u, 255u, 1535u, 1536u, 1537u, 3 * 1536u + 5, 24'575u, 24'576u, 24'577u, 50'001u}) {
    for (std::size_t start = 0; start < 9; ++start) {
      const auto part = all.subspan(start, length);
      EXPECT_EQ(crc32c::detail::extend_by_instruction(0x12345678, part),
                crc32c::detail::extend_by_table(0x12345678, part))
          << length;
    }
  }
}

}  // namespace
}  // namespace trainhook
