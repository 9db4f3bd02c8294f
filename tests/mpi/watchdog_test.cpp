// SPDX-License-Identifier: Apache-2.0
/// @file
/// Watchdog: what it says while it waits; endings.cpp has how it ends a process.
#include <trainhook/mpi/watchdog.hpp>

#include <chrono>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>

namespace trainhook::mpi {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;

TEST(Watchdog, SaysAfterAMinuteThatItWaitsAndThenAfterTwiceThatTimeEach) {
  const trainhook::testing::LogLines log;
  trainhook::testing::ManualClock clock;
  auto dog = std::make_unique<detail::Watchdog>("MPI_Init_thread", 10min, clock);
  for (const auto wait : {59s, 1s, 59s, 1s, 1s}) {
    while (clock.waiters() == 0) std::this_thread::yield();
    clock.advance(wait);
  }
  while (log.count("waited 120 s") == 0) std::this_thread::yield();
  dog.reset();
  // With several processes a rank comes before each.
  EXPECT_THAT(
      log.lines,
      ElementsAre(EndsWith("this process has waited 60 s in MPI_Init_thread for other ranks; it ends after 600 s"),
                  EndsWith("this process has waited 120 s in MPI_Init_thread for other ranks; it ends after 600 s")));
}

}  // namespace
}  // namespace trainhook::mpi
