// SPDX-License-Identifier: Apache-2.0
/// @file
/// The machine's clocks behind the seam.
#include <trainhook/core/clock.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using detail::deadline_after;

TEST(Clock, MonotonicTimeNeverGoesBackwards) {
  Clock& clock = system_clock();
  Duration last = clock.monotonic_now();
  for (int i = 0; i < 1000; ++i) {
    const Duration now = clock.monotonic_now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, WallTimeIsSecondsSinceTheEpoch) {
  constexpr double kStartOf2020 = 1577836800;
  EXPECT_GT(system_clock().wall_seconds(), kStartOf2020);
}

TEST(Clock, IsTheSameObjectForEveryone) { EXPECT_EQ(&system_clock(), &system_clock()); }

/// A clock that stands still at a time of the test's.
class Stopped final : public Clock {
 public:
  explicit Stopped(Duration at) : at_(at) {}
  [[nodiscard]] Duration monotonic_now() override { return at_; }
  [[nodiscard]] double wall_seconds() override { return 0; }
  bool wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, Duration,
                  FunctionRef<bool()> ready) override {
    return ready();
  }

 private:
  Duration at_;
};

TEST(Clock, ADeadlineIsSoFarFromNow) {
  using namespace std::chrono_literals;
  Stopped clock(2h);
  EXPECT_EQ(deadline_after(clock, 0s), 2h);
  EXPECT_EQ(deadline_after(clock, 3s), 2h + 3s);
  EXPECT_EQ(deadline_after(clock, -3s), 2h - 3s);
}

TEST(Clock, ADeadlineBeyondTheEndOfTimeIsTheEndOfTime) {
  using namespace std::chrono_literals;
  Stopped late(2h);
  EXPECT_EQ(deadline_after(late, Duration::max()), Duration::max());
  EXPECT_EQ(deadline_after(late, std::chrono::milliseconds::max()), Duration::max());
  EXPECT_EQ(deadline_after(late, Duration::max() - 2h), Duration::max());
  EXPECT_EQ(deadline_after(late, Duration::max() - 3h), Duration::max() - 1h);
  Stopped early(-2h);  // where the arbitrary start is yet to come
  EXPECT_EQ(deadline_after(early, Duration::max()), Duration::max() - 2h);
}

TEST(Duration, TakesEveryChronoDurationAsItIs) {
  using namespace std::chrono_literals;
  const Duration minute = 1min;
  EXPECT_EQ(minute, 60s);
}

}  // namespace
}  // namespace trainhook
