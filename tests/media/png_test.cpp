// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of PNG encoding and decoding.
#include <trainhook/media/png.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainhook {
namespace {

std::vector<std::uint8_t> ramp(std::size_t size) {
  std::vector<std::uint8_t> pixels(size);
  for (std::size_t i = 0; i < size; ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 + i / 11);
  return pixels;
}

class PngChannels : public ::testing::TestWithParam<int> {};

TEST_P(PngChannels, GiveBackThePixelsThatWereEncoded) {
  const int channels = GetParam();
  const std::vector<std::uint8_t> pixels = ramp(static_cast<std::size_t>(5 * 7 * channels));
  const Tensor decoded = decode_png(encode_png(pixels, 5, 7, channels), "image");
  EXPECT_EQ(decoded.shape(), (Shape{5, 7, channels}));
  const std::span<const std::uint8_t> back = decoded.data<std::uint8_t>();
  EXPECT_EQ(std::vector<std::uint8_t>(back.begin(), back.end()), pixels);
}

INSTANTIATE_TEST_SUITE_P(Png, PngChannels, ::testing::Values(1, 2, 3, 4));

TEST(Png, IsTheSameEachTime) {
  const std::vector<std::uint8_t> pixels = ramp(28 * 28);
  EXPECT_EQ(encode_png(pixels, 28, 28, 1), encode_png(pixels, 28, 28, 1));
}

TEST(Png, EncodesASinglePixel) {
  EXPECT_EQ(decode_png(encode_png(ramp(3), 1, 1, 3), "image").shape(), (Shape{1, 1, 3}));
}

TEST(Png, RefusesSizesThatDoNotFit) {
  const std::vector<std::uint8_t> pixels = ramp(12);
  EXPECT_THROW(static_cast<void>(encode_png(pixels, 3, 3, 1)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_png(pixels, 0, 3, 1)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_png(pixels, -3, -4, 1)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_png(pixels, 3, 4, 5)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_png(pixels, std::int64_t{1} << 40, 1, 1)), InvalidArgumentError);
}

TEST(Png, RefusesAnyTruncation) {
  const std::string bytes = encode_png(ramp(28 * 28), 28, 28, 1);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(static_cast<void>(decode_png(bytes.substr(0, size), "image")), DataLossError) << size;
  }
}

TEST(Png, RefusesAnyFlippedBit) {
  const std::string bytes = encode_png(ramp(8 * 8), 8, 8, 1);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    EXPECT_THROW(static_cast<void>(decode_png(damaged, "image")), DataLossError) << i;
  }
}

TEST(Png, NamesWhatItCannotDecode) {
  try {
    static_cast<void>(decode_png("GIF89a", "tag input/image/0"));
    FAIL();
  } catch (const DataLossError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("tag input/image/0 is not a PNG")) << error.what();
  }
}

/// Changes a number in the header and makes its checksum right again.
std::string with_header_number(std::string bytes, std::size_t offset, std::uint32_t number) {
  const auto put = [&bytes](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(offset, number);
  put(29, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()) + 12, 17)));
  return bytes;
}

TEST(Png, AllocatesNothingForAHeaderThatPromisesTooMuch) {
  const std::string bytes = encode_png(ramp(8 * 8), 8, 8, 1);
  EXPECT_EQ(with_header_number(bytes, 16, 8), bytes);
  EXPECT_THROW(static_cast<void>(decode_png(with_header_number(bytes, 16, 900'000), "image")), DataLossError);
  const std::string huge = with_header_number(with_header_number(bytes, 16, 900'000), 20, 900'000);
  EXPECT_THROW(static_cast<void>(decode_png(huge, "image")), DataLossError);
  EXPECT_THROW(static_cast<void>(decode_png(with_header_number(bytes, 20, 9), "image")), DataLossError);
  EXPECT_THROW(static_cast<void>(decode_png(with_header_number(bytes, 16, 0), "image")), DataLossError);
}

}  // namespace
}  // namespace trainhook
