// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element types: numbers and names that files contain.
#include <trainhook/core/dtype.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

TEST(DType, HasTensorFlowsNumbers) {
  EXPECT_EQ(static_cast<int>(dtype_of<float>), 1);
  EXPECT_EQ(static_cast<int>(dtype_of<double>), 2);
  EXPECT_EQ(static_cast<int>(dtype_of<std::int32_t>), 3);
  EXPECT_EQ(static_cast<int>(dtype_of<std::string>), 7);
  EXPECT_EQ(static_cast<int>(dtype_of<std::int64_t>), 9);
  EXPECT_EQ(static_cast<int>(dtype_of<bool>), 10);
  EXPECT_EQ(static_cast<int>(dtype_of<BFloat16>), 14);
  EXPECT_EQ(static_cast<int>(dtype_of<Half>), 19);
  EXPECT_EQ(static_cast<int>(dtype_of<std::uint64_t>), 23);
}

TEST(DType, HasTensorFlowsNames) {
  EXPECT_EQ(dtype_name(DType::Float), "float32");
  EXPECT_EQ(dtype_name(DType::Half), "float16");
  EXPECT_EQ(dtype_name(DType::Invalid), "invalid");
}

template <class T>
class DTypeOf : public ::testing::Test {};
using Elements =
    ::testing::Types<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                     std::uint32_t, std::uint64_t, bool, Half, BFloat16, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(DTypeOf, Elements);

TYPED_TEST(DTypeOf, SizeInFilesIsTheSizeInMemory) { EXPECT_EQ(dtype_size(dtype_of<TypeParam>), sizeof(TypeParam)); }

TEST(DType, StringsHaveNoFixedSize) { EXPECT_EQ(dtype_size(DType::String), 0u); }

TEST(DType, KnowsFloatingFromInteger) {
  EXPECT_TRUE(is_floating(DType::BFloat16));
  EXPECT_FALSE(is_floating(DType::Complex64));
  EXPECT_TRUE(is_integer(DType::UInt8));
  EXPECT_FALSE(is_integer(DType::Bool));
}

static_assert(TensorElement<float> && TensorElement<long long> && !TensorElement<char> && !TensorElement<void*>);

TEST(DType, HalvesHaveTheirNumbers) {
  EXPECT_EQ(to_float(Half{0x3c00}), 1);
  EXPECT_EQ(to_float(Half{0x0001}), 0x1p-24F);
  EXPECT_EQ(to_float(Half{0x7bff}), 65504);
  EXPECT_EQ(to_float(Half{0xfc00}), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(to_float(Half{0x7c01})));
  EXPECT_EQ(to_float(BFloat16{0x4049}), 3.140625F);
  EXPECT_EQ(static_cast<float>(Half{0x3c00}), 1);
  EXPECT_EQ(static_cast<float>(BFloat16{0x4049}), 3.140625F);
  EXPECT_EQ(fmt::format("{} {}", Half{0xc500}, BFloat16{0x4049}), "-5 3.140625");
}

}  // namespace
}  // namespace trainhook
