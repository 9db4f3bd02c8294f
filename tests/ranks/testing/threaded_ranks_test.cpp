// SPDX-License-Identifier: Apache-2.0
/// @file
/// ThreadedRanks: calls that all ranks make, and what happens if one does not.
#include <trainhook/ranks/testing/threaded_ranks.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>

namespace trainhook::testing {
namespace {

using namespace std::chrono_literals;
using Ranks = std::shared_ptr<Collective>;

std::vector<std::string> texts(const std::vector<std::exception_ptr>& errors) {
  std::vector<std::string> all;
  for (const std::exception_ptr& error : errors) all.push_back(error != nullptr ? describe(error) : "");
  return all;
}

TEST(ThreadedRanks, EachHasItsRank) {
  ThreadedRanks job(3);
  std::vector<int> sizes(3);
  job.run([&](const Ranks& ranks) { sizes[static_cast<std::size_t>(ranks->rank())] = ranks->size(); });
  EXPECT_EQ(sizes, (std::vector{3, 3, 3}));
}

TEST(ThreadedRanks, BroadcastGivesTheBytesOfTheRoot) {
  ThreadedRanks job(3);
  std::vector<std::string> got(3);
  job.run([&](const Ranks& ranks) {
    got[static_cast<std::size_t>(ranks->rank())] = ranks->broadcast(std::to_string(ranks->rank()), 1, 60s);
  });
  EXPECT_EQ(got, (std::vector<std::string>{"1", "1", "1"}));
}

TEST(ThreadedRanks, GatherGivesTheBytesOfAllInOrder) {
  ThreadedRanks job(3);
  std::vector<std::vector<std::string>> at_root(3);
  job.run([&](const Ranks& ranks) {
    const auto rank = static_cast<std::size_t>(ranks->rank());
    at_root[rank] = ranks->gather(std::string(rank, 'y'), 2, 60s);
  });
  EXPECT_EQ(at_root, (std::vector<std::vector<std::string>>{{}, {}, {"", "y", "yy"}}));
}

TEST(ThreadedRanks, VotesAreAddedUpAgainAndAgain) {
  ThreadedRanks job(4);
  std::vector<std::vector<Votes>> got(4);
  job.run([&](const Ranks& ranks) {
    for (std::int64_t step = 1; step <= 50; ++step) {
      const std::int64_t mine = step * 10 + ranks->rank();
      ranks->begin({.any = 1ULL << ranks->rank(), .least = {mine, 0, 0}, .greatest = {mine, 0, 0}});
      got[static_cast<std::size_t>(ranks->rank())].push_back(ranks->finish(60s));
    }
  });
  for (const std::vector<Votes>& votes : got) {
    ASSERT_EQ(votes.size(), 50U);
    EXPECT_EQ(votes.front(), (Votes{.any = 15, .least = {10, 0, 0}, .greatest = {13, 0, 0}}));
    EXPECT_EQ(votes.back(), (Votes{.any = 15, .least = {500, 0, 0}, .greatest = {503, 0, 0}}));
  }
  EXPECT_EQ(job.num_reductions(), 50);
}

TEST(ThreadedRanks, CallsThatDifferAreNamed) {
  ThreadedRanks job(2);
  const auto errors = job.run([](const Ranks& ranks) {
    if (ranks->rank() == 0) ranks->barrier(60s);
    if (ranks->rank() == 1) static_cast<void>(ranks->broadcast("", 1, 60s));
  });
  for (const std::string& text : texts(errors)) {
    EXPECT_NE(text.find("'barrier' with root 0"), std::string::npos) << text;
    EXPECT_NE(text.find("'broadcast' with root 1"), std::string::npos) << text;
  }
}

TEST(ThreadedRanks, ARankThatHasEndedIsNotWaitedFor) {
  ThreadedRanks job(2);
  const auto errors = job.run([](const Ranks& ranks) {
    ranks->barrier(60s);
    if (ranks->rank() == 1) throw InternalError("out");
    ranks->barrier(60s);
  });
  EXPECT_EQ(texts(errors), (std::vector<std::string>{
                               "Unavailable: rank 0 waits in 'barrier' for rank 1, which has ended", "Internal: out"}));
}

TEST(ThreadedRanks, WaitingEndsAtTheDeadline) {
  ManualClock clock;
  ThreadedRanks job(2, clock);
  std::atomic<bool> is_over = false;
  std::string text;
  job.run([&](const Ranks& ranks) {
    if (ranks->rank() == 1) {
      while (clock.waiters() == 0) std::this_thread::yield();
      clock.advance(5s);
      while (!is_over) std::this_thread::yield();
      return;
    }
    try {
      ranks->barrier(5s);
    } catch (...) { text = describe(std::current_exception()); }
    is_over = true;
  });
  EXPECT_EQ(text, "DeadlineExceeded: rank 0 has waited 5 s in 'barrier' for rank 1");
}

TEST(ThreadedRanks, AfterAMinuteTheFirstThatWaitsNamesTheMissing) {
  LogLines log;
  ManualClock clock;
  ThreadedRanks job(4, clock);
  job.run([&](const Ranks& ranks) {
    if (ranks->rank() == 1 || ranks->rank() == 2) {
      while (clock.waiters() < 2) std::this_thread::yield();
      if (ranks->rank() == 1) clock.advance(60s);
      while (log.count("rank") == 0) std::this_thread::yield();
    }
    ranks->barrier(7200s);
  });
  EXPECT_EQ(log.lines, std::vector<std::string>{"W rank 0 has waited 60 s in 'barrier' for ranks 1 and 2"});
}

TEST(ThreadedRanks, OneRankCanEndTheJobOfAll) {
  ThreadedRanks job(2);
  const auto errors = job.run([](const Ranks& ranks) {
    if (ranks->rank() == 1) {
      ranks->end_job("no rank answers");
    } else {
      ranks->barrier(60s);
    }
  });
  EXPECT_EQ(texts(errors).front(), "Aborted: rank 1 has ended the job: no rank answers");
  EXPECT_EQ(job.why_it_was_ended(), "no rank answers");
}

TEST(ThreadedRanks, AReductionIsFinishedBeforeTheNextCall) {
  ThreadedRanks job(1);
  const auto errors = job.run([](const Ranks& ranks) {
    EXPECT_THROW(static_cast<void>(ranks->finish(60s)), FailedPreconditionError);
    ranks->begin({});
    EXPECT_THROW(ranks->begin({}), FailedPreconditionError);
    EXPECT_THROW(ranks->barrier(60s), FailedPreconditionError);
    EXPECT_EQ(ranks->finish(60s), Votes());
  });
  EXPECT_EQ(texts(errors).front(), "");
  EXPECT_THROW(ThreadedRanks(0), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook::testing
