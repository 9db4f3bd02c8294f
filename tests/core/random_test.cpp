// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counter-based random numbers: values known from elsewhere, positions, distributions.
#include <trainhook/core/random.hpp>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace th = trainhook;

namespace {

TEST(Philox, GivesThePublishedKnownAnswers) {
  // The vectors that the generator's authors publish with it.
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(th::detail::philox_block(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(th::detail::philox_block(ones, ones, ones), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(th::detail::philox_block(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxGenerator, ContinuesFromASavedState) {
  for (std::uint64_t drawn = 0; drawn < 9; ++drawn) {
    th::PhiloxGenerator original(7, 3);
    for (std::uint64_t i = 0; i < drawn; ++i) original.next_u32();
    th::PhiloxGenerator restored(original.state());
    for (int i = 0; i < 9; ++i) EXPECT_EQ(restored.next_u32(), original.next_u32());
  }
}

TEST(PhiloxGenerator, DiscardsAsIfItHadDrawn) {
  th::PhiloxGenerator walked(11), jumped(11);
  for (int i = 0; i < 1237; ++i) walked.next_u32();
  jumped.discard(1237);
  EXPECT_EQ(jumped, walked);
  EXPECT_EQ(jumped.next_u64(), walked.next_u64());
}

TEST(PhiloxGenerator, StreamsAndSeedsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t stream = 0; stream < 10; ++stream) firsts.insert(th::PhiloxGenerator(seed, stream).next_u64());
  }
  EXPECT_EQ(firsts.size(), 100U);
  EXPECT_NE(th::detail::derive_seed(1, 2), th::detail::derive_seed(2, 1));
  EXPECT_EQ(th::detail::derive_seed(1, 2), th::detail::derive_seed(1, 2));
}

TEST(PhiloxGenerator, BoundedIntegersAreEvenlySpread) {
  th::PhiloxGenerator generator(5);
  std::vector<int> counts(6);
  for (int i = 0; i < 60'000; ++i) ++counts[generator.uniform_below(6)];
  for (int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(PhiloxGenerator, BoundedIntegersHaveNoModuloBias) {
  th::PhiloxGenerator generator(5);
  const std::uint64_t bound = 3ULL << 30;  // a plain remainder would give the lowest third twice as often
  int low = 0;
  for (int i = 0; i < 30'000; ++i) low += generator.uniform_below(bound) < (1ULL << 30) ? 1 : 0;
  EXPECT_NEAR(low, 10'000, 500);
}

TEST(PhiloxGenerator, BoundedIntegersBeyond32BitsStayBelowTheBound) {
  th::PhiloxGenerator generator(5);
  const std::uint64_t bound = (3ULL << 62) + 12'345;
  int upper = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = generator.uniform_below(bound);
    ASSERT_LT(value, bound);
    upper += value >= bound / 2 ? 1 : 0;
  }
  EXPECT_NEAR(upper, 5'000, 300);
  EXPECT_THROW((void)generator.uniform_below(0), th::InvalidArgumentError);
  EXPECT_EQ(generator.uniform_below(1), 0U);
}

TEST(PhiloxGenerator, IntegersAreTheSameEverywhere) {
  th::PhiloxGenerator generator(42, 1);
  std::vector<std::uint64_t> drawn;
  for (int i = 0; i < 6; ++i) drawn.push_back(generator.uniform_below(1000));
  drawn.push_back(generator.uniform_below(1ULL << 40));
  EXPECT_EQ(drawn, (std::vector<std::uint64_t>{10, 126, 232, 711, 128, 991, 248147413019}));
}

TEST(PhiloxGenerator, UniformNumbersCoverTheUnitIntervalWithoutItsEnd) {
  th::PhiloxGenerator generator(1);
  double sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    const float narrow = generator.uniform_float();
    const double wide = generator.uniform_double();
    ASSERT_TRUE(narrow >= 0 && narrow < 1 && wide >= 0 && wide < 1);
    sum += static_cast<double>(narrow) + wide;
  }
  EXPECT_NEAR(sum / 40'000, 0.5, 0.01);
}

template <class T>
class PhiloxNormal : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PhiloxNormal, FloatTypes);

TYPED_TEST(PhiloxNormal, HasMeanZeroAndVarianceOne) {
  th::PhiloxGenerator generator(9);
  std::vector<TypeParam> values(40'001);
  generator.fill_normal(values);
  double sum = 0, squares = 0;
  for (TypeParam value : values) {
    ASSERT_TRUE(std::isfinite(value));
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(sum / 40'001, 0, 0.02);
  EXPECT_NEAR(squares / 40'001, 1, 0.03);
}

TYPED_TEST(PhiloxNormal, TruncatedStaysWithinTwoDeviations) {
  th::PhiloxGenerator generator(9);
  std::vector<TypeParam> values(20'000);
  generator.fill_truncated_normal(values);
  double squares = 0;
  for (TypeParam value : values) {
    ASSERT_LE(std::abs(value), TypeParam{2});
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(squares / 20'000, 0.7737, 0.03);  // the variance of a normal cut at two deviations
}

}  // namespace
