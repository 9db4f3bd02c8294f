// SPDX-License-Identifier: Apache-2.0
/// @file
/// MetricWatch: which values count, and its state.
#include <trainhook/hooks/metric_watch.hpp>

#include <limits>

#include <gtest/gtest.h>

namespace trainhook::detail {
namespace {

TEST(MetricWatch, CountsValuesThatAreNotBetter) {
  MetricWatch watch(Better::Higher, 0.5);
  EXPECT_FALSE(watch.take(nullptr));
  EXPECT_FALSE(watch.has_seen_one());
  PublishedMetric value{.step = 10, .value = 1};
  EXPECT_TRUE(watch.take(&value));
  EXPECT_FALSE(watch.take(&value)) << "each step counts once";
  value = {.step = 20, .value = 1.5};
  EXPECT_TRUE(watch.take(&value));
  EXPECT_EQ(watch.worse(), 1) << "it has to be better by more than min_delta";
  value = {.step = 30, .value = std::numeric_limits<double>::quiet_NaN()};
  EXPECT_TRUE(watch.take(&value));
  EXPECT_EQ(watch.worse(), 2);
  EXPECT_EQ(watch.best(), 1.0);
  EXPECT_EQ(watch.best_step(), 10);
  value = {.step = 40, .value = 2};
  EXPECT_TRUE(watch.take(&value));
  EXPECT_EQ(watch.worse(), 0);
  EXPECT_EQ(watch.best_step(), 40);
}

TEST(MetricWatch, ForgetsWhatWasNotLoadedWithTheSession) {
  MetricWatch watch(Better::Lower, 0);
  const PublishedMetric value{.step = 1, .value = 3};
  EXPECT_TRUE(watch.take(&value));
  StateValues state;
  watch.save(state);
  watch.load(state);
  EXPECT_TRUE(watch.reset_unless_loaded());
  EXPECT_TRUE(watch.has_seen_one());
  EXPECT_FALSE(watch.reset_unless_loaded());
  EXPECT_FALSE(watch.has_seen_one());
}

TEST(MetricWatch, LeavesOutExtraValues) {
  MetricWatch watch(Better::Lower, 0);
  const PublishedMetric extra{.step = 13, .value = 1, .is_extra = true};
  EXPECT_FALSE(watch.take(&extra));
  EXPECT_FALSE(watch.has_seen_one());
  const PublishedMetric regular{.step = 13, .value = 2};
  EXPECT_TRUE(watch.take(&regular));
  EXPECT_EQ(watch.best(), 2.0);
}

TEST(MetricWatch, IsWhatItWasAfterARestart) {
  MetricWatch watch(Better::Lower, 0);
  PublishedMetric value{.step = 1, .value = 3};
  EXPECT_TRUE(watch.take(&value));
  value = {.step = 2, .value = 4};
  EXPECT_TRUE(watch.take(&value));
  StateValues state;
  watch.save(state);
  MetricWatch restored(Better::Lower, 0);
  restored.load(state);
  EXPECT_EQ(restored.best(), 3.0);
  EXPECT_EQ(restored.best_step(), 1);
  EXPECT_EQ(restored.worse(), 1);
  EXPECT_FALSE(restored.take(&value));
  restored.reset();
  EXPECT_EQ(restored.best(), std::nullopt);
  EXPECT_TRUE(restored.take(&value));
}

}  // namespace
}  // namespace trainhook::detail
