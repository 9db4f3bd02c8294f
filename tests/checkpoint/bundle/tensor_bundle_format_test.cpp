// SPDX-License-Identifier: Apache-2.0
/// @file
/// Headers and entries of bundles, byte for byte, and those that no writer makes.
#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

using detail::decode_bundle_entry;
using detail::decode_bundle_header;

BundleEntry decode(const std::string& text) { return decode_bundle_entry(text, "w", 1, "run/x.index"); }

TEST(BundleHeader, IsTensorFlowsByteForByte) {
  EXPECT_EQ(detail::encode_bundle_header(1), std::string("\x08\x01\x1a\x02\x08\x01"));
  EXPECT_EQ(detail::encode_bundle_header(2), std::string("\x08\x02\x1a\x02\x08\x01"));
  EXPECT_EQ(decode_bundle_header(detail::encode_bundle_header(12), "x"), 12u);
}

TEST(BundleHeader, WithoutVersionIsAnOldOne) { EXPECT_EQ(decode_bundle_header("\x08\x03", "x"), 3u); }

TEST(BundleHeader, IsRefusedIfItCannotBeHonoured) {
  EXPECT_THROW(decode_bundle_header("", "x"), DataLossError);                                   // no shards
  EXPECT_THROW(decode_bundle_header("\x08\x01\x10\x01", "x"), UnimplementedError);              // big-endian
  EXPECT_THROW(decode_bundle_header("\x08\x01\x1a\x02\x10\x02", "x"), UnimplementedError);      // min_consumer 2
  EXPECT_THROW(decode_bundle_header("\x08\x01\x1a\x02\x18\x01", "x"), UnimplementedError);      // bad_consumers 1
  EXPECT_THROW(decode_bundle_header("\x08\x01\x1a\x03\x1a\x01\x01", "x"), UnimplementedError);  // the same, packed
  EXPECT_THROW(decode_bundle_header("\x08\x01\x1a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "x"),
               DataLossError);  // producer -1
}

TEST(BundleEntry, IsTensorFlowsByteForByte) {
  BundleEntry entry{.dtype = DType::Float, .shape = Shape{2, 2}, .offset = 8, .size = 16, .crc32c = 0x7498284c};
  EXPECT_EQ(detail::encode_bundle_entry(entry),
            "\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02\x20\x08\x28\x10\x35\x4c\x28\x98\x74");
  const BundleEntry back = decode(detail::encode_bundle_entry(entry));
  EXPECT_EQ(back.dtype, entry.dtype);
  EXPECT_EQ(back.shape, entry.shape);
  EXPECT_EQ(back.offset, entry.offset);
  EXPECT_EQ(back.size, entry.size);
  EXPECT_EQ(back.crc32c, entry.crc32c);
}

TEST(BundleEntry, ScalarsAndEmptyDimensionsArePresent) {
  EXPECT_EQ(detail::encode_bundle_entry({.dtype = DType::Float, .size = 4}),
            std::string("\x08\x01\x12\x00\x28\x04", 6));
  EXPECT_EQ(detail::encode_bundle_entry({.dtype = DType::Float, .shape = Shape{0}}),
            std::string("\x08\x01\x12\x02\x12\x00", 6));
}

TEST(BundleEntry, ThatContradictsItselfIsDataLossNamingTensorAndFile) {
  const std::string four_floats = std::string("\x08\x01\x12\x04\x12\x02\x08\x04", 8);
  for (const std::string& bad :
       {four_floats + "\x28\x0f",                                                          // 15 bytes
        four_floats,                                                                       // none
        four_floats + "\x28\x10\x18\x01",                                                  // shard 1 of 1
        four_floats + "\x28\x10\x20" + std::string(9, '\xff') + "\x01",                    // offset -1
        std::string("\x08\x01\x12\x0d\x12\x0b\x08", 7) + std::string(9, '\xff') + "\x01",  // dimension -1
        std::string("\x08\x07\x12\x04\x12\x02\x08\x04\x28\x03", 10)}) {  // four strings in three bytes
    try {
      decode(bad);
      FAIL();
    } catch (const DataLossError& error) {
      EXPECT_NE(std::string(error.what()).find("run/x.index"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("tensor w"), std::string::npos) << error.what();
    }
  }
}

TEST(BundleEntry, WithMoreElementsThanCanBeCountedIsDataLoss) {
  std::string shape;
  for (int i = 0; i < 3; ++i) shape += "\x12\x0a\x08" + std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x40", 9);
  EXPECT_THROW(decode("\x08\x01\x12" + std::string(1, static_cast<char>(shape.size())) + shape), DataLossError);
}

TEST(BundleEntry, OfATypeNotHeldHereSaysSoWithoutSpoilingTheOthers) {
  const auto unsupported = [](const std::string& text) {
    const BundleEntry entry = decode(text);
    EXPECT_EQ(entry.dtype, DType::Invalid);
    return entry.unsupported.value_or(BundleEntry::Unsupported{});
  };
  EXPECT_EQ(unsupported(std::string("\x08\x15\x12\x00", 4)).reason,
            "it is variant[], and this library has no tensor of this dtype");
  EXPECT_EQ(unsupported("\x08\x63\x12\x04\x12\x02\x08\x03\x28\x06").reason,
            "it is dtype 99[3], and this library has no tensor of this dtype");

  std::string nine_dims;
  for (int i = 0; i < 9; ++i) nine_dims += "\x12\x02\x08\x01";
  const auto deep =
      unsupported("\x08\x01\x12" + std::string(1, static_cast<char>(nine_dims.size())) + nine_dims + "\x28\x04");
  EXPECT_EQ(deep.dtype, "float32");
  EXPECT_EQ(deep.shape, "[1,1,1,1,1,1,1,1,1]");
  EXPECT_EQ(deep.reason, "it is float32[1,1,1,1,1,1,1,1,1], and this library has no tensor of more than 8 dimensions");
}

TEST(BundleEntry, OfAPartitionedVariableIsTensorFlowsByteForByte) {
  const BundleEntry entry{.dtype = DType::Float, .shape = Shape{5, 5}, .slices = {{{0, 3}, {0, 5}}, {{3, 2}, {}}}};
  const std::string text(
      "\x08\x01\x12\x08\x12\x02\x08\x05\x12\x02\x08\x05\x3a\x08\x0a\x02\x10\x03\x0a\x02\x10\x05"
      "\x3a\x08\x0a\x04\x08\x03\x10\x02\x0a\x00",
      32);
  EXPECT_EQ(detail::encode_bundle_entry(entry), text);
  EXPECT_EQ(decode(text).slices, entry.slices);
}

TEST(BundleEntry, WithAnImpossibleSliceIsDataLoss) {
  const std::string five_floats = std::string("\x08\x01\x12\x04\x12\x02\x08\x05", 8);
  for (const std::string& bad : {five_floats + std::string("\x3a\x04\x0a\x02\x10\x06", 6),          // 6 of 5
                                 five_floats + std::string("\x3a\x06\x0a\x04\x08\x04\x10\x02", 8),  // 4 and 5 of 5
                                 five_floats + std::string("\x3a\x04\x0a\x02\x10\x00", 6),          // none
                                 five_floats + std::string("\x3a\x04\x0a\x02\x08\x01", 6),          // all from 1
                                 five_floats + std::string("\x3a\x04\x0a\x00\x0a\x00", 6),          // of a matrix
                                 five_floats + std::string("\x3a\x00", 2),                          // of a scalar
                                 five_floats + "\x3a\x0d\x0a\x0b\x10" + std::string(9, '\xff') + "\x01",
                                 std::string("\x08\x01\x12\x02\x12\x00\x3a\x02\x0a\x00", 10)}) {  // of no elements
    try {
      static_cast<void>(decode(bad));
      ADD_FAILURE() << "no error";
    } catch (const DataLossError& error) {
      EXPECT_NE(std::string(error.what()).find("tensor w"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("run/x.index"), std::string::npos) << error.what();
    }
  }
}

TEST(BundleDataPath, PadsToFiveDigits) {
  EXPECT_EQ(detail::bundle_data_path("run/m", 0, 1), "run/m.data-00000-of-00001");
  EXPECT_EQ(detail::bundle_data_path("run/m", 12, 123456), "run/m.data-00012-of-123456");
}

}  // namespace
}  // namespace trainhook
