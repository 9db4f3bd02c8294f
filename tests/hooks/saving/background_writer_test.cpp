// SPDX-License-Identifier: Apache-2.0
/// @file
/// BackgroundWriter: order, replacement, failures, and its end.
#include <trainhook/hooks/saving/background_writer.hpp>

#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/process_faults.hpp>

namespace trainhook {
namespace {

using detail::BackgroundWriter;

TEST(BackgroundWriter, CommitsOneAfterTheOtherAndTellsInOrder) {
  BackgroundWriter writer;
  EXPECT_FALSE(writer.is_busy());
  EXPECT_FALSE(writer.has_finished());
  for (int step = 1; step <= 3; ++step) {
    EXPECT_FALSE(writer.submit({step, [step](SaveCost&) { return "ckpt-" + std::to_string(step); }}).has_value());
    writer.wait();
  }
  for (int step = 1; step <= 3; ++step) {
    EXPECT_TRUE(writer.has_finished());
    const auto finished = writer.take_finished();
    ASSERT_TRUE(finished.has_value());
    EXPECT_EQ(finished->step(), step);
    EXPECT_EQ(finished->prefix(), "ckpt-" + std::to_string(step));
  }
  EXPECT_FALSE(writer.has_finished());
  EXPECT_FALSE(writer.take_finished().has_value());
}

TEST(BackgroundWriter, ReplacesWhatWaitsButNotWhatIsBeingWritten) {
  std::latch started(1);
  std::latch go(1);
  BackgroundWriter writer;
  writer.submit({1, [&](SaveCost&) {
                   started.count_down();
                   go.wait();
                   return std::string("first");
                 }});
  started.wait();
  EXPECT_TRUE(writer.is_busy());
  EXPECT_FALSE(writer.submit({2, [](SaveCost&) { return std::string("second"); }}).has_value());
  EXPECT_EQ(writer.submit({3, [](SaveCost&) { return std::string("third"); }})->step(), 2);
  go.count_down();
  writer.wait();
  EXPECT_EQ(writer.take_finished()->prefix(), "first");
  EXPECT_EQ(writer.take_finished()->prefix(), "third");
  EXPECT_FALSE(writer.has_finished());
}

TEST(BackgroundWriter, KeepsTheErrorAndContinues) {
  BackgroundWriter writer;
  writer.submit({1, [](SaveCost&) -> std::string { throw ResourceExhaustedError("full"); }});
  writer.wait();
  EXPECT_EQ(describe(writer.take_finished()->error()), "ResourceExhausted: full");
  writer.submit({2, [](SaveCost&) { return std::string("fine"); }});
  writer.wait();
  EXPECT_EQ(writer.take_finished()->error(), nullptr);
}

TEST(BackgroundWriter, ReleasesWhatItHoldsBeforeItTells) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  BackgroundWriter writer;
  writer.submit({1, [held = std::move(held)](SaveCost&) { return std::string(); }});
  writer.wait();
  EXPECT_TRUE(watched.expired());
}

TEST(BackgroundWriter, FinishesWhatWasHandedOverBeforeItGoes) {
  bool written = false;
  {
    BackgroundWriter writer;
    writer.submit({1, [&](SaveCost&) {
                     written = true;
                     return std::string();
                   }});
  }
  EXPECT_TRUE(written);
}

TEST(BackgroundWriter, WithoutAThreadWritesBeforeItReturnsAndSaysSoOnce) {
  testing::LogLines log;
  const testing::NoThreads no_threads;
  if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
  BackgroundWriter writer;
  for (int step = 1; step <= 2; ++step) {
    EXPECT_FALSE(writer.has_thread());
    EXPECT_FALSE(writer.submit({step, [step](SaveCost&) { return "ckpt-" + std::to_string(step); }}).has_value());
    EXPECT_FALSE(writer.is_busy());
    writer.wait();
    EXPECT_EQ(writer.take_finished()->prefix(), "ckpt-" + std::to_string(step));
  }
  EXPECT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.count("W a background save cannot start a thread: "), 1U);
  EXPECT_EQ(log.count("; the loop waits until its checkpoints are written"), 1U);
}

TEST(BackgroundWriter, StartsItsThreadAsSoonAsTheSystemHasOne) {
  testing::LogLines log;
  BackgroundWriter writer;
  {
    const testing::NoThreads no_threads;
    if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
    writer.submit({1, [](SaveCost&) { return std::string("in place"); }});
  }
  EXPECT_TRUE(writer.has_thread());
  writer.submit({2, [](SaveCost&) { return std::string("behind"); }});
  writer.wait();
  EXPECT_EQ(writer.take_finished()->prefix(), "in place");
  EXPECT_EQ(writer.take_finished()->prefix(), "behind");
}

TEST(BackgroundWriter, WritesInPlaceWhatIsNoSnapshotAlsoIfThereIsAThreadByThen) {
  BackgroundWriter writer;
  std::thread::id by;
  const auto write = [&](SaveCost&) {
    by = std::this_thread::get_id();
    return std::string("in place");
  };
  ASSERT_TRUE(writer.has_thread());
  writer.commit_in_place({1, write});
  EXPECT_EQ(by, std::this_thread::get_id());
  EXPECT_EQ(writer.take_finished()->prefix(), "in place");
}

TEST(BackgroundWriter, IsDeadInAForkedChild) {
  std::latch go(1);
  BackgroundWriter writer;
  writer.submit({1, [&](SaveCost&) {
                   go.wait();
                   return std::string("written");
                 }});
  EXPECT_EQ(testing::run_in_forked_child([&] {
              for (const auto& act : std::vector<std::function<void()>>{
                       [&] { writer.wait(); }, [&] { static_cast<void>(writer.is_busy()); },
                       [&] { static_cast<void>(writer.take_finished()); },
                       [&] {
                         writer.submit({2, [](SaveCost&) { return ""; }});
                       }}) {
                try {
                  act();
                } catch (const FailedPreconditionError&) { continue; }
                throw InternalError("it lives");
              }
            }),
            0);
  go.count_down();
  writer.wait();
}

TEST(BackgroundWriter, IsNotWaitedForInAForkedChild) {
  std::latch go(1);
  std::optional<BackgroundWriter> writer(std::in_place);
  writer->submit({1, [&](SaveCost&) {
                    go.wait();
                    return std::string("written");
                  }});
  EXPECT_EQ(testing::run_in_forked_child([&] { writer.reset(); }), 0);
  go.count_down();
  writer->wait();
  EXPECT_EQ(writer->take_finished()->prefix(), "written");
}

}  // namespace
}  // namespace trainhook
