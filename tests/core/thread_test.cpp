// SPDX-License-Identifier: Apache-2.0
/// @file
/// Threads that cannot be started, and threads that a forked child does not have.
#include <trainhook/core/thread.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/process_faults.hpp>

namespace trainhook {
namespace {

using detail::Thread;
using detail::WaitCondition;

TEST(Thread, RunsUntilItIsWaitedFor) {
  std::atomic<int> done = 0;
  Thread none;
  EXPECT_FALSE(none.joinable());
  none.join();
  Thread thread("a test", [&] { ++done; });
  EXPECT_TRUE(thread.joinable());
  Thread moved = std::move(thread);
  EXPECT_FALSE(thread.joinable());
  moved = Thread("a test", [&] { ++done; });
  moved.join();
  EXPECT_FALSE(moved.joinable());
  EXPECT_EQ(done, 2);
  {
    const Thread last("a test", [&] { ++done; });
  }
  EXPECT_EQ(done, 3) << "the destructor waits";
}

TEST(Thread, SaysWhichOneCannotBeStartedAndWhatToDo) {
  const testing::NoThreads no_threads;
  if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
  try {
    const Thread thread("prefetch", [] {});
    FAIL() << "it was started";
  } catch (const ResourceExhaustedError& error) {
    EXPECT_EQ(std::string(error.what()),
              "prefetch cannot start a thread: Resource temporarily unavailable (raise the limit of processes, ulimit "
              "-u, or that of the container)");
  }
}

/// A thread that waits for its end.
struct Waiting {
  Waiting() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return waits; });
  }
  ~Waiting() {
    const std::scoped_lock lock(mutex);
    ended = true;
    changed.notify_all();
  }

  std::mutex mutex;
  WaitCondition changed;
  bool waits = false;
  bool ended = false;
  Thread thread{"a test", [this] {
                  std::unique_lock lock(mutex);
                  waits = true;
                  changed.notify_all();
                  changed.wait(lock, [this] { return ended; });
                }};
};

TEST(Thread, IsNotWaitedForInAForkedChild) {
  std::optional<Waiting> waiting(std::in_place);
  EXPECT_EQ(testing::run_in_forked_child([&] {
              if (waiting->thread.joinable()) throw InternalError("the child has no such thread");
              waiting->thread.join();
              waiting->thread.detach();
              waiting.reset();  // a condition variable would wait for those that wait on it
            }),
            0);
  EXPECT_TRUE(waiting->thread.joinable());
}

}  // namespace
}  // namespace trainhook
