// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names of dtypes in text, and the dimensions of a shape in protobuf's encoding.
#include <trainhook/proto/shared_messages.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "hex.hpp"

namespace trainhook::detail {
namespace {

TEST(DataTypeNames, AreThoseOfTensorFlow) {
  EXPECT_EQ(data_type_name(1), "DT_FLOAT");
  EXPECT_EQ(data_type_name(23), "DT_UINT64");
  for (const std::uint64_t other : {0U, 11U, 101U, 257U}) EXPECT_EQ(data_type_name(other), "") << "printed as a number";
  EXPECT_EQ(data_type_of_name("DT_BFLOAT16"), std::uint64_t{14});
  EXPECT_EQ(data_type_of_name("DT_INVALID"), std::uint64_t{0});
  EXPECT_EQ(data_type_of_name("DT_BANANA"), std::nullopt);
}

TEST(DataTypeNames, AreShortForPeople) {
  EXPECT_EQ(short_dtype_name(1), "float32");
  EXPECT_EQ(short_dtype_name(12), "quint8");
  EXPECT_EQ(short_dtype_name(20), "resource");
  EXPECT_EQ(short_dtype_name(27), "float8_e4m3b11fnuz");
  for (const std::uint64_t other : {0U, 99U, 257U})
    EXPECT_EQ(short_dtype_name(other), "dtype " + std::to_string(other));
}

TEST(DataTypeNames, OfReferencesAndOfWhatNoTensorHereHoldsAreRead) {
  EXPECT_EQ(data_type_of_name("DT_FLOAT_REF"), std::uint64_t{1});
  EXPECT_EQ(data_type_of_name("DT_RESOURCE"), std::uint64_t{20});
}

using support::bytes;
using Dims = std::vector<std::int64_t>;

TEST(TensorShapeProto, LeavesOutASizeOfZero) {
  const std::string text = message_bytes(shape_message(Dims{3, 0, 300}));
  EXPECT_EQ(text, bytes("1202 0803  1200  1203 08ac02"));
  EXPECT_EQ(dims_of(parse_message<TensorShapeMessage>(text, "shape")), (Dims{3, 0, 300}));
}

TEST(TensorShapeProto, GivesNegativeSizesAsTheyAreAndPassesOverNamesAndTheUnknownRank) {
  const std::string text = bytes("1801  120e 08ffffffffffffffffff01 1201 78");
  EXPECT_EQ(dims_of(parse_message<TensorShapeMessage>(text, "shape")), Dims{-1});
}

TEST(TensorShapeProto, CutOffIsDataLoss) {
  const std::string text = bytes("1202 08");
  EXPECT_THROW((void)dims_of(parse_message<TensorShapeMessage>(text, "shape")), DataLossError);
}

}  // namespace
}  // namespace trainhook::detail
