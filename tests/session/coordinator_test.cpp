// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of Coordinator: who asks for a stop, who waits for it, and whose error comes out of it.
#include <trainhook/session/coordinator.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/process_faults.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using testing::ManualClock;

std::exception_ptr error(const std::string& what) { return std::make_exception_ptr(std::runtime_error(what)); }

std::string message_of(const std::exception_ptr& error) { return describe(error); }

template <class Action>
std::string thrown_by(Action action) {
  try {
    action();
  } catch (...) { return message_of(std::current_exception()); }
  return "nothing";
}

TEST(Coordinator, C01_IsAskedToStopOnce) {
  ManualClock clock;
  clock.auto_advance(true);
  Coordinator coordinator(clock);
  EXPECT_FALSE(coordinator.should_stop());
  EXPECT_FALSE(coordinator.wait_for_stop(10ms));
  coordinator.request_stop();
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_TRUE(coordinator.wait_for_stop(10ms));
  EXPECT_TRUE(coordinator.wait_for_stop());
  EXPECT_EQ(coordinator.error(), nullptr);
}

TEST(Coordinator, C02_WakesAllThatWaitForAStop) {
  ManualClock clock;
  clock.auto_advance(true);
  Coordinator coordinator(clock);
  std::promise<void> signal;
  coordinator.start_thread([&](std::stop_token) {
    signal.get_future().wait();
    coordinator.request_stop();
  });
  EXPECT_FALSE(coordinator.should_stop());
  EXPECT_FALSE(coordinator.wait_for_stop(10ms));
  clock.auto_advance(false);  // the join's grace period is not to be over at once
  signal.set_value();
  EXPECT_TRUE(coordinator.wait_for_stop());
  EXPECT_TRUE(coordinator.should_stop());
  coordinator.join();
}

TEST(Coordinator, C03_C04_JoinsThreadsThatEndByThemselvesWithoutAStopRequest) {
  Coordinator coordinator;
  std::atomic<int> done = 0;
  for (int i = 0; i < 3; ++i) coordinator.start_thread([&](std::stop_token) { ++done; });
  coordinator.join();
  EXPECT_EQ(done, 3);
  EXPECT_FALSE(coordinator.should_stop());
}

TEST(Coordinator, JoinWithoutThreadsReturnsAtOnce) {
  Coordinator coordinator;
  coordinator.join();
  coordinator.join();
}

TEST(Coordinator, FiresTheTokensOfItsThreads) {
  Coordinator coordinator;
  std::promise<void> ended;
  coordinator.start_thread([&](std::stop_token token) {
    std::promise<void> fired;
    const std::stop_callback on_stop(token, [&] { fired.set_value(); });
    fired.get_future().wait();
    ended.set_value();
  });
  coordinator.request_stop();
  ended.get_future().wait();
  coordinator.join();
}

TEST(Coordinator, AThreadThatThrowsStopsTheOthersAndJoinThrowsItsError) {
  Coordinator coordinator;
  coordinator.start_thread([&](std::stop_token) { coordinator.wait_for_stop(); });
  coordinator.start_thread([](std::stop_token) { throw std::runtime_error("First"); });
  EXPECT_EQ(thrown_by([&] { coordinator.join(); }), "First");
  EXPECT_EQ(message_of(coordinator.error()), "First");
}

TEST(Coordinator, AThreadsErrorIsRecordedBeforeItsStopIsSeen) {
  Coordinator coordinator;
  std::promise<std::stop_token> token;
  std::promise<std::string> seen;
  coordinator.start_thread([&](std::stop_token stop) {
    token.set_value(std::move(stop));
    coordinator.wait_for_stop();
  });
  const std::stop_callback on_stop(token.get_future().get(), [&] {  // called in the thread that fails
    seen.set_value(coordinator.should_stop() ? message_of(coordinator.error()) : "no stop");
  });
  coordinator.start_thread([](std::stop_token) { throw std::runtime_error("First"); });
  EXPECT_EQ(seen.get_future().get(), "First");
  EXPECT_EQ(thrown_by([&] { coordinator.join(); }), "First");
}

TEST(Coordinator, C08_C09_JoinThrowsTheFirstOfSeveralErrors) {
  Coordinator coordinator;
  std::promise<void> first_has_reported;
  coordinator.start_thread([&](std::stop_token) {
    coordinator.request_stop(error("First"));
    first_has_reported.set_value();
  });
  coordinator.start_thread([&](std::stop_token) {
    first_has_reported.get_future().wait();
    coordinator.request_stop(error("Too late"));
  });
  EXPECT_EQ(thrown_by([&] { coordinator.join(); }), "First");
  const std::vector<std::exception_ptr> all = coordinator.errors();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(message_of(all[1]), "Too late");
}

TEST(Coordinator, KnowsARequestWithoutAnErrorWhateverIsReportedBesides) {
  const testing::LogLines quiet;
  Coordinator coordinator;
  coordinator.request_stop(std::make_exception_ptr(OutOfRangeError("a clean stop")));
  EXPECT_FALSE(coordinator.stop_requested_without_error());
  coordinator.request_stop();
  EXPECT_TRUE(coordinator.stop_requested_without_error());
  coordinator.request_stop(std::make_exception_ptr(AbortedError("lost")));
  EXPECT_TRUE(coordinator.stop_requested_without_error());
  coordinator.clear_stop();
  EXPECT_FALSE(coordinator.stop_requested_without_error());
}

TEST(Coordinator, S10_KeepsAnErrorThatComesAfterARequestWithoutOne) {
  Coordinator coordinator;
  coordinator.request_stop();
  coordinator.request_stop(error("late but real"));
  EXPECT_EQ(thrown_by([&] { coordinator.join(); }), "late but real");
}

TEST(Coordinator, RaisesARecordedErrorAsOftenAsItIsAsked) {
  Coordinator coordinator;
  coordinator.raise_requested_exception();
  coordinator.request_stop(error("broken"));
  EXPECT_EQ(thrown_by([&] { coordinator.raise_requested_exception(); }), "broken");
  EXPECT_EQ(thrown_by([&] { coordinator.raise_requested_exception(); }), "broken");
}

TEST(Coordinator, C10_S38_TheEndOfInputIsACleanStopHoweverItIsReported) {
  Coordinator coordinator;
  coordinator.request_stop(std::make_exception_ptr(OutOfRangeError("no more")));
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_EQ(coordinator.error(), nullptr);
  coordinator.join();

  Coordinator of_thread;
  of_thread.start_thread([](std::stop_token) { throw OutOfRangeError("no more"); });
  EXPECT_TRUE(of_thread.wait_for_stop());
  of_thread.join();
  EXPECT_EQ(of_thread.error(), nullptr);
}

/// An error that a program of its own may call an ordinary end.
class Done : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

TEST(Coordinator, C11_S38_WhatCountsAsACleanStopIsTheUsersChoice) {
  Coordinator coordinator(system_clock(), is_any_of<Done>);
  coordinator.start_thread([](std::stop_token) { throw Done("enough"); });
  EXPECT_TRUE(coordinator.wait_for_stop());
  coordinator.join();
  EXPECT_EQ(coordinator.error(), nullptr);

  Coordinator other(system_clock(), is_any_of<Done>);
  other.request_stop(std::make_exception_ptr(OutOfRangeError("no more")));  // not among the types
  EXPECT_EQ(thrown_by([&] { other.join(); }), "OutOfRange: no more");
}

TEST(Coordinator, C12_JoinThrowsTheFirstErrorOfTwoThreadsThatUseTheGuard) {
  Coordinator coordinator;
  std::promise<void> first_has_reported;
  coordinator.start_thread([&](std::stop_token) {
    coordinator.stop_on_exception([] { throw std::runtime_error("First"); });
    first_has_reported.set_value();
  });
  coordinator.start_thread([&](std::stop_token) {
    first_has_reported.get_future().wait();
    coordinator.stop_on_exception([] { throw std::runtime_error("Too late"); });
  });
  EXPECT_EQ(thrown_by([&] { coordinator.join(); }), "First");
}

TEST(Coordinator, StopOnExceptionTurnsAnExceptionIntoARequest) {
  Coordinator coordinator;
  coordinator.stop_on_exception([] {});
  EXPECT_FALSE(coordinator.should_stop());
  coordinator.stop_on_exception([] { throw std::runtime_error("First"); });
  coordinator.stop_on_exception([] { throw std::runtime_error("Too late"); });
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_EQ(thrown_by([&] { coordinator.join(); }), "First");
}

TEST(Coordinator, C15_OnceJoinedThrowsANewErrorAtWhoReportsIt) {
  Coordinator coordinator;
  coordinator.request_stop();
  coordinator.join();
  coordinator.request_stop();
  EXPECT_EQ(thrown_by([&] { coordinator.request_stop(error("after the end")); }), "after the end");
  EXPECT_EQ(coordinator.error(), nullptr);
  EXPECT_EQ(thrown_by([&] { coordinator.stop_on_exception([] { throw std::runtime_error("again"); }); }), "again");
}

TEST(Coordinator, ClearStopMakesItUsableAgain) {
  Coordinator coordinator;
  coordinator.request_stop(error("old"));
  EXPECT_EQ(thrown_by([&] { coordinator.join(); }), "old");
  coordinator.clear_stop();
  EXPECT_FALSE(coordinator.should_stop());
  EXPECT_EQ(coordinator.error(), nullptr);
  std::promise<bool> had_fired;
  coordinator.start_thread([&](std::stop_token token) { had_fired.set_value(token.stop_requested()); });
  EXPECT_FALSE(had_fired.get_future().get());  // a fresh token
  coordinator.join();
}

/// A thread that goes on until it is let go, whatever the coordinator says.
class Stubborn {
 public:
  explicit Stubborn(Coordinator& coordinator) {
    coordinator.start_thread([let_go = let_go_.get_future().share(), ended = ended_](std::stop_token) {
      let_go.wait();
      ended->set_value();
    });
  }
  Stubborn(const Stubborn&) = delete;
  Stubborn& operator=(const Stubborn&) = delete;
  ~Stubborn() {
    let_go_.set_value();
    ended_->get_future().wait();
  }

 private:
  std::promise<void> let_go_;
  std::shared_ptr<std::promise<void>> ended_ =
      std::make_shared<std::promise<void>>();  // the thread may still be busy with it when we are gone
};

TEST(Coordinator, GivesUpOnAThreadAfterTheGracePeriod) {
  ManualClock clock;
  clock.auto_advance(true);
  const Duration start = clock.monotonic_now();
  Coordinator coordinator(clock);
  const Stubborn thread(coordinator);
  coordinator.request_stop();
  const std::string what = thrown_by([&] { coordinator.join(3s); });
  EXPECT_NE(what.find("FailedPrecondition: 1 threads still running 3000 ms"), std::string::npos) << what;
  EXPECT_EQ(clock.monotonic_now() - start, 3s);
}

TEST(Coordinator, C07_MayLeaveThreadsBehind) {
  ManualClock clock;
  clock.auto_advance(true);
  Coordinator coordinator(clock);
  const Stubborn thread(coordinator);
  coordinator.request_stop();
  coordinator.join(1s, true);
  coordinator.join(1s);  // they are forgotten
}

TEST(Coordinator, AnErrorGoesBeforeTheReportOfLiveThreads) {
  ManualClock clock;
  clock.auto_advance(true);
  Coordinator coordinator(clock);
  const Stubborn thread(coordinator);
  coordinator.request_stop(error("the cause"));
  EXPECT_EQ(thrown_by([&] { coordinator.join(1s); }), "the cause");
}

TEST(Coordinator, S39_JoinWaitsWithoutLookingAtTheClockUntilAThreadEnds) {
  ManualClock clock;
  Coordinator coordinator(clock);
  const int reads = clock.reads();
  for (int i = 0; i < 3; ++i) coordinator.start_thread([](std::stop_token) {});
  coordinator.join(1h);
  EXPECT_LE(clock.reads(), reads + 1);  // the deadline of the grace period, which is no longer needed
}

TEST(Coordinator, S39_AThreadThatWatchesItsTokenCostsNoneOfTheGracePeriod) {
  ManualClock clock;
  const Duration start = clock.monotonic_now();
  Coordinator coordinator(clock);
  coordinator.start_thread(
      [&clock](std::stop_token token) { detail::wait_for_stop(token, clock, clock.monotonic_now() + 24h); });
  coordinator.request_stop();
  coordinator.join(120s);
  EXPECT_EQ(clock.monotonic_now(), start);
}

TEST(Coordinator, RefusesANegativeGracePeriod) {
  Coordinator coordinator;
  EXPECT_EQ(thrown_by([&] { coordinator.join(-1s); }),
            "InvalidArgument: Coordinator::join: stop_grace_period_secs is -1000 ms; it must not be negative, and 0 "
            "waits for no thread");
}

TEST(Coordinator, JoinWaitsForAStopRequestWhileThreadsRun) {
  ManualClock clock;
  Coordinator coordinator(clock);
  std::promise<void> let_go;
  coordinator.start_thread([&](std::stop_token) { let_go.get_future().wait(); });
  std::atomic<bool> joined = false;
  std::thread joiner([&] {
    coordinator.join(1s);
    joined = true;
  });
  EXPECT_FALSE(joined);  // no stop was requested and the thread runs
  let_go.set_value();
  joiner.join();
  EXPECT_TRUE(joined);
}

TEST(Coordinator, AStopThatIsRequestedAfterTheJoinCounts) {
  Coordinator coordinator;
  coordinator.join();
  EXPECT_FALSE(coordinator.should_stop());
  coordinator.request_stop();
  EXPECT_TRUE(coordinator.should_stop());
}

TEST(Coordinator, AGracePeriodWithoutEndWaitsForTheThreads) {
  ManualClock clock;
  Coordinator coordinator(clock);
  std::promise<void> let_go;
  coordinator.start_thread([&](std::stop_token) { let_go.get_future().wait(); });
  coordinator.request_stop();
  std::promise<std::string> joined;
  std::atomic<bool> is_back = false;
  std::thread joiner([&] {
    joined.set_value(thrown_by([&] { coordinator.join(Duration::max()); }));
    is_back = true;
  });
  while (clock.waiters() == 0 && !is_back) std::this_thread::yield();
  let_go.set_value();
  joiner.join();
  EXPECT_EQ(joined.get_future().get(), "nothing");
}

TEST(Coordinator, ATimeoutWithoutEndWaitsForTheStop) {
  ManualClock clock;
  Coordinator coordinator(clock);
  std::thread stopper([&] {
    while (clock.waiters() == 0 && !coordinator.should_stop()) std::this_thread::yield();
    coordinator.request_stop();
  });
  EXPECT_TRUE(coordinator.wait_for_stop(Duration::max()));
  coordinator.request_stop();
  stopper.join();
}

/// Does what the test wants while the coordinator holds its lock.
class LockedMoment final : public Clock {
 public:
  std::function<void()> act;
  [[nodiscard]] Duration monotonic_now() override { return {}; }
  [[nodiscard]] double wall_seconds() override { return 0; }
  bool wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, Duration,
                  FunctionRef<bool()> ready) override {
    act();
    return ready();
  }
};

TEST(Coordinator, ShouldStopTakesNoLock) {
  LockedMoment clock;
  Coordinator coordinator(clock);
  bool asked = false;
  clock.act = [&] {
    auto answer = std::async(std::launch::async, [&] { return coordinator.should_stop(); });
    EXPECT_FALSE(answer.get());  // with a lock, for ever
    asked = true;
  };
  EXPECT_FALSE(coordinator.wait_for_stop(1s));
  EXPECT_TRUE(asked);
}

TEST(Coordinator, ItsDestructorAsksThreadsToStopAndNeverWaits) {
  const auto ended = std::make_shared<std::promise<void>>();
  {
    Coordinator coordinator;
    coordinator.start_thread([ended](std::stop_token token) {
      while (!token.stop_requested()) std::this_thread::yield();
      ended->set_value();
    });
  }
  ended->get_future().wait();
}

TEST(Coordinator, IsEndOfInputKnowsOnlyOutOfRange) {
  EXPECT_TRUE(is_end_of_input(std::make_exception_ptr(OutOfRangeError("end"))));
  EXPECT_FALSE(is_end_of_input(std::make_exception_ptr(AbortedError("lost"))));
  EXPECT_FALSE(is_end_of_input(std::make_exception_ptr(7)));
  EXPECT_FALSE(is_end_of_input(nullptr));
}

TEST(Coordinator, IsAnyOfLooksAtTheTypeAndItsBases) {
  const std::exception_ptr lost = std::make_exception_ptr(AbortedError("lost"));
  EXPECT_TRUE((is_any_of<UnavailableError, AbortedError>(lost)));
  EXPECT_TRUE(is_any_of<Error>(lost));
  EXPECT_FALSE(is_any_of<UnavailableError>(lost));
  EXPECT_FALSE(is_any_of<Error>(nullptr));
}

TEST(WaitForStop, EndsAtTheDeadlineOrTheRequest) {
  ManualClock clock;
  clock.auto_advance(true);
  std::stop_source source;
  const Duration start = clock.monotonic_now();
  EXPECT_FALSE(detail::wait_for_stop(source.get_token(), clock, start + 5s));
  EXPECT_EQ(clock.monotonic_now(), start + 5s);
  source.request_stop();
  EXPECT_TRUE(detail::wait_for_stop(source.get_token(), clock, start + 1h));
  EXPECT_EQ(clock.monotonic_now(), start + 5s);
}

TEST(Coordinator, SaysThatItCannotStartAThread) {
  Coordinator coordinator;
  const testing::NoThreads no_threads;
  if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
  EXPECT_EQ(thrown_by([&] { coordinator.start_thread([](const std::stop_token&) {}); }).substr(0, 62),
            "ResourceExhausted: Coordinator cannot start a thread: Resource");
  coordinator.request_stop();
  EXPECT_NO_THROW(coordinator.join());
}

TEST(Coordinator, HasStoppedInAForkedChildWhereNothingWaits) {
  auto coordinator = std::make_unique<Coordinator>();
  coordinator->start_thread([](const std::stop_token& token) {
    while (!token.stop_requested()) std::this_thread::yield();
  });
  EXPECT_EQ(testing::run_in_forked_child([&] {
              coordinator->request_stop(error("of the child"));
              if (!coordinator->should_stop() || coordinator->error() != nullptr || !coordinator->wait_for_stop())
                throw InternalError("it lives");
              coordinator->join();
              if (thrown_by([&] { coordinator->start_thread([](const std::stop_token&) {}); }) == "nothing")
                throw InternalError("it started a thread");
              coordinator.reset();
            }),
            0);
  EXPECT_FALSE(coordinator->should_stop());
  coordinator->request_stop();
  EXPECT_NO_THROW(coordinator->join());
}

}  // namespace
}  // namespace trainhook
