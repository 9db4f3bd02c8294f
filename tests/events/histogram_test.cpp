// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the histogram buckets.
#include <trainhook/events/histogram.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

constexpr double kMax = std::numeric_limits<double>::max();

template <class T>
Histogram histogram_of_list(const std::vector<T>& values) {
  return histogram_of("w", std::span<const T>(values));
}

std::size_t bucket_by_search(double value) {
  const std::span<const double> limits = detail::histogram_bucket_limits();
  const auto above = std::upper_bound(limits.begin(), limits.end(), value);
  return std::min(static_cast<std::size_t>(above - limits.begin()), limits.size() - 1);
}

TEST(Histogram, CountsHalvesAsTheNumbersThatTheyAre) {
  const Histogram counted = histogram_of_list(std::vector<float>{1, 2});
  EXPECT_EQ(histogram_of_list(std::vector<Half>{{0x3c00}, {0x4000}}), counted);
  EXPECT_EQ(histogram_of("w", Tensor::of<BFloat16>({{0x3f80}, {0x4000}})), counted);
  EXPECT_EQ(histogram_of("w", Tensor::of<bool>({true, false})), histogram_of_list(std::vector<float>{1, 0}));
  EXPECT_THROW(static_cast<void>(histogram_of_list(std::vector<Half>{{0x7c00}})), InvalidArgumentError);
  EXPECT_THROW(detail::check_histogram_values("w", std::span<const Half>(std::vector<Half>{{0x7e00}})),
               InvalidArgumentError);
}

TEST(Histogram, Has1551LimitsThatMirrorEachOther) {
  const std::span<const double> limits = detail::histogram_bucket_limits();
  ASSERT_EQ(limits.size(), 1551U);
  EXPECT_EQ(limits.front(), -kMax);
  EXPECT_EQ(limits.back(), kMax);
  EXPECT_EQ(limits[775], 0.0);
  EXPECT_EQ(limits[776], 1e-12);
  EXPECT_EQ(limits[777], 1e-12 * 1.1);
  EXPECT_NEAR(limits[1549], 9.92e19, 0.01e19);
  EXPECT_TRUE(std::is_sorted(limits.begin(), limits.end()));
  for (std::size_t i = 0; i < limits.size(); ++i) EXPECT_EQ(limits[i], -limits[limits.size() - 1 - i]);
}

TEST(Histogram, FindsTheSameBucketAsASearchAroundEveryLimit) {
  const detail::BucketTable& table = detail::bucket_table();
  for (const double limit : detail::histogram_bucket_limits()) {
    for (const double value : {std::nextafter(limit, -kMax), limit, std::nextafter(limit, kMax)}) {
      ASSERT_EQ(table.bucket_of(value), bucket_by_search(value)) << value;
    }
  }
  for (const double value :
       {0.0, -0.0, 5e-324, -5e-324, 1e-300, -1e-300, 1e300, -1e300, kMax, -kMax, 0x1p-40, 0x1p67, -0x1p67, 1e20}) {
    EXPECT_EQ(table.bucket_of(value), bucket_by_search(value)) << value;
  }
}

TEST(Histogram, FindsTheSameBucketAsASearchForValuesOfEveryMagnitude) {
  const detail::BucketTable& table = detail::bucket_table();
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-310, 308);
  for (int i = 0; i < 200'000; ++i) {
    const double value =
        (i % 2 == 0 ? 1.0 : -1.0) * std::pow(10.0, i % 4 < 2 ? exponent(random) : exponent(random) / 15);
    ASSERT_EQ(table.bucket_of(value), bucket_by_search(value)) << value;
  }
}

TEST(Histogram, CollapsesRunsOfEmptyBuckets) {
  const Histogram histogram = histogram_of_list<float>({-1.0F, 0.0F, 0.5F, 2.0F});
  const std::vector<double> limits{-1.00897, -0.917246, 0, 1e-12, 0.470692, 0.517762, 1.96620, 2.16282, kMax};
  ASSERT_EQ(histogram.bucket_limit.size(), limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    EXPECT_NEAR(histogram.bucket_limit[i] / (limits[i] == 0 ? 1 : limits[i]), limits[i] == 0 ? 0 : 1, 1e-5) << i;
  }
  EXPECT_EQ(histogram.bucket, (std::vector<double>{0, 1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(histogram.min, -1);
  EXPECT_EQ(histogram.max, 2);
  EXPECT_EQ(histogram.num, 4);
  EXPECT_EQ(histogram.sum, 1.5);
  EXPECT_EQ(histogram.sum_squares, 5.25);
}

TEST(Histogram, OfNoValuesHasOneEmptyBucket) {
  const Histogram histogram = histogram_of_list<double>({});
  EXPECT_EQ(histogram.min, kMax);
  EXPECT_EQ(histogram.max, -kMax);
  EXPECT_EQ(histogram.num, 0);
  EXPECT_EQ(histogram.bucket_limit, std::vector<double>{kMax});
  EXPECT_EQ(histogram.bucket, std::vector<double>{0});
}

TEST(Histogram, CountsTheLargestDoubleInTheLastBucket) {
  const Histogram histogram = histogram_of_list<double>({kMax});
  EXPECT_EQ(histogram.bucket, (std::vector<double>{0, 1}));
  EXPECT_EQ(histogram.bucket_limit.back(), kMax);
}

TEST(Histogram, TakesIntegersOfEveryWidth) {
  const Histogram expected = histogram_of_list<double>({1, 2, 2, 100});
  EXPECT_EQ(histogram_of_list<std::int64_t>({1, 2, 2, 100}), expected);
  EXPECT_EQ(histogram_of_list<std::uint8_t>({1, 2, 2, 100}), expected);
  EXPECT_EQ(histogram_of_list<std::int16_t>({1, 2, 2, 100}), expected);
}

TEST(Histogram, TakesTensorsOfNumbersOnly) {
  EXPECT_EQ(histogram_of("w", Tensor::of<float>({1, 2, 2, 100}, {2, 2})), histogram_of_list<double>({1, 2, 2, 100}));
  EXPECT_EQ(histogram_of("w", Tensor(std::int64_t{7})), histogram_of_list<double>({7}));
  EXPECT_THROW(static_cast<void>(histogram_of("w", Tensor("seven"))), InvalidArgumentError);
  EXPECT_THROW(detail::check_histogram_values("w", Tensor(std::numeric_limits<double>::infinity())),
               InvalidArgumentError);
}

template <class T>
void expect_refused(T value) {
  try {
    static_cast<void>(histogram_of_list<T>({1, value, 2}));
    FAIL() << "no error for " << value;
  } catch (const InvalidArgumentError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("Nan in summary histogram for: w")) << error.what();
  }
}

TEST(Histogram, RefusesValuesThatAreNotFinite) {
  expect_refused(std::numeric_limits<float>::quiet_NaN());
  expect_refused(std::numeric_limits<float>::infinity());
  expect_refused(-std::numeric_limits<float>::infinity());
  expect_refused(std::numeric_limits<double>::quiet_NaN());
  expect_refused(-std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace trainhook
