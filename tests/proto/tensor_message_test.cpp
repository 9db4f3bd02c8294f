// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names of dtypes in text.
#include <trainhook/proto/tensor_message.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace trainhook::detail
