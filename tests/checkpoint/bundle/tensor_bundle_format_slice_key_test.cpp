// SPDX-License-Identifier: Apache-2.0
/// @file
/// Keys of slices, byte for byte.
#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) / 16];
    text += kDigits[static_cast<unsigned char>(c) % 16];
  }
  return text;
}

std::string signed_key(std::int64_t value) {
  std::string key;
  detail::append_ordered_signed(key, value);
  return key;
}

TEST(SliceKey, EncodesSignedNumbersAsTensorFlowDoes) {
  for (const auto& [value, expected] : {std::pair<std::int64_t, std::string_view>{-1, "7f"},
                                        {0, "80"},
                                        {5, "85"},
                                        {63, "bf"},
                                        {64, "c040"},
                                        {-64, "40"},
                                        {-65, "3fbf"},
                                        {8191, "dfff"},
                                        {8192, "e02000"},
                                        {1'000'000, "ef4240"},
                                        {0x424242, "f0424242"},
                                        {-0x800, "3800"},
                                        {std::int64_t{1} << 31, "f880000000"},
                                        {std::numeric_limits<std::int64_t>::max(), "ffc07fffffffffffffff"},
                                        {std::numeric_limits<std::int64_t>::min(), "003f8000000000000000"}}) {
    EXPECT_EQ(hex(signed_key(value)), expected) << value;
  }
}

TEST(SliceKey, SignedNumbersSortAsTheirKeysDo) {
  std::string last = signed_key(std::numeric_limits<std::int64_t>::min());
  for (int bit = 62; bit >= 0; --bit) {
    for (const std::int64_t step : {-1, 0, 1}) {
      if (bit < 2 && step != 0) continue;
      const std::string key = signed_key(-(std::int64_t{1} << bit) + step);
      EXPECT_LT(last, key) << bit;
      last = key;
    }
  }
  for (int bit = 2; bit < 63; ++bit) {
    const std::string key = signed_key(std::int64_t{1} << bit);
    EXPECT_LT(last, key) << bit;
    last = key;
  }
}

TEST(SliceKey, IsTensorFlowsByteForByte) {
  EXPECT_EQ(hex(detail::slice_key("p", {{0, 3}, {0, 5}})), "00700001010280838085");
  EXPECT_EQ(hex(detail::slice_key("p", {{3, 2}, {}})), "0070000101028382807f");
  EXPECT_EQ(hex(detail::slice_key("part/w", {{100, 200}})), "00706172742f7700010101c064c0c8");
  EXPECT_EQ(hex(detail::slice_key(std::string_view("a\0\xff", 3), TensorSlice())), "006100ffff00000100");
}

}  // namespace
}  // namespace trainhook
