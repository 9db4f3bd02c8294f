// SPDX-License-Identifier: Apache-2.0
/// @file
/// A clock that stands still, so that bytes of events can be compared.
#pragma once

#include <condition_variable>
#include <mutex>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/function_ref.hpp>

namespace trainhook {

class FixedClock final : public Clock {
 public:
  explicit FixedClock(double wall_seconds = 1700000000.5) : wall_seconds_(wall_seconds) {}
  [[nodiscard]] Duration monotonic_now() override { return Duration{}; }
  [[nodiscard]] double wall_seconds() override { return wall_seconds_; }
  bool wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, Duration,
                  FunctionRef<bool()> ready) override {
    return ready();
  }

 private:
  double wall_seconds_;
};

}  // namespace trainhook
