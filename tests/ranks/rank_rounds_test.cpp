// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankRounds: what ranks tell each other, and what they learn of one that fails.
#include <trainhook/ranks/rank_rounds.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>

namespace trainhook::detail {
namespace {

using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

/// What each rank's `body` threw; one that throws tells the others.
Strings errors_of(testing::ThreadedRanks& job, const std::function<void(RankRounds&)>& body) {
  Strings texts;
  for (const std::exception_ptr& error : job.run([&](const std::shared_ptr<Collective>& ranks) {
         RankRounds rounds(ranks, 60s);
         try {
           body(rounds);
         } catch (...) {
           rounds.fail(std::current_exception(), 60s);
           throw;
         }
       }))
    texts.push_back(error != nullptr ? describe(error) : "");
  return texts;
}

TEST(RankRounds, EveryRankGetsWhatTheChiefSays) {
  testing::ThreadedRanks job(3);
  Strings got(3);
  EXPECT_EQ(errors_of(job,
                      [&](RankRounds& rounds) {
                        got[static_cast<std::size_t>(rounds.rank())] =
                            rounds.from_chief(rounds.is_chief() ? "model.ckpt-7" : "");
                      }),
            Strings(3));
  EXPECT_EQ(got, (Strings{"model.ckpt-7", "model.ckpt-7", "model.ckpt-7"}));
}

TEST(RankRounds, TheChiefAloneGetsWhatEveryRankSays) {
  testing::ThreadedRanks job(3);
  std::vector<Strings> got(3);
  EXPECT_EQ(errors_of(job,
                      [&](RankRounds& rounds) {
                        got[static_cast<std::size_t>(rounds.rank())] = rounds.to_chief(std::to_string(rounds.rank()));
                      }),
            Strings(3));
  EXPECT_EQ(got, (std::vector<Strings>{{"0", "1", "2"}, {}, {}}));
}

TEST(RankRounds, FactsThatDifferAreListedForEachRank) {
  testing::ThreadedRanks job(4);
  const Strings errors = errors_of(job, [&](RankRounds& rounds) {
    Facts facts = {{"a", "1"}, {"b", ""}};
    if (rounds.rank() == 1) facts = {{"a", "2"}, {"b", "3"}};
    if (rounds.rank() == 3) facts.emplace_back("c", "4");
    rounds.expect_same(facts);
  });
  const std::string expected =
      "InvalidArgument: the ranks of the job must be alike. Compared with rank 0 on rank 1 a is '2' and not '1', b is "
      "'3' "
      "and not ''; on rank 3 c is '4' and not there";
  EXPECT_EQ(errors, (Strings{expected, expected, expected, expected}));
}

TEST(RankRounds, AFailureReachesRanksWhereverTheyAre) {
  testing::ThreadedRanks job(3);
  const Strings errors = errors_of(job, [&](RankRounds& rounds) {
    if (rounds.rank() == 1) throw DataLossError("torn");
    rounds.expect_same({});
    static_cast<void>(rounds.from_chief(""));
  });
  EXPECT_EQ(errors,
            (Strings{"DataLoss: rank 1 has failed: torn", "DataLoss: torn", "DataLoss: rank 1 has failed: torn"}));
}

TEST(RankRounds, AFailureLooksLikeNeitherALossNorTheEndOfInput) {
  for (const ErrorCode code : {ErrorCode::OutOfRange, ErrorCode::Aborted, ErrorCode::Unavailable}) {
    testing::ThreadedRanks job(2);
    const Strings errors = errors_of(job, [&](RankRounds& rounds) {
      if (rounds.rank() == 1) throw_error(code, "gone");
      rounds.settle();
    });
    EXPECT_EQ(errors.front(), "FailedPrecondition: rank 1 has failed: gone");
  }
}

TEST(RankRounds, ARankThatNeverAnswersEndsTheJob) {
  testing::LogLines log;
  testing::ManualClock clock;
  testing::ThreadedRanks job(2, clock);
  const Strings errors = errors_of(job, [&](RankRounds& rounds) {
    if (rounds.is_chief()) return rounds.settle();
    while (clock.waiters() == 0) std::this_thread::yield();
    clock.advance(61s);
    while (job.why_it_was_ended().empty()) std::this_thread::yield();
  });
  EXPECT_EQ(errors.front(), "DeadlineExceeded: rank 0 has waited 60 s in 'votes' for rank 1");
  EXPECT_EQ(job.why_it_was_ended(), errors.front());
}

TEST(RankRounds, ARankThatHasFailedSaysSoBeforeItWaitsForTheOthers) {
  testing::LogLines log;
  testing::ManualClock clock;
  testing::ThreadedRanks job(2, clock);
  errors_of(job, [&](RankRounds& rounds) {
    if (rounds.rank() == 1) throw DataLossError("torn");
    while (clock.waiters() == 0) std::this_thread::yield();
    EXPECT_EQ(log.count("E rank 1 has failed, and tells the other ranks: torn"), 1U);
    rounds.settle();
  });
}

template <class Thrown>
RankFailure sent(const Thrown& error) {
  return parse_message<RankFailure>(message_bytes(failure_of(std::make_exception_ptr(error))), "a failure");
}

TEST(RankFailure, KeepsCodeAndMessage) {
  const RankFailure failure = sent(DataLossError("a torn record"));
  EXPECT_EQ(failure.code, ErrorCode::DataLoss);
  EXPECT_EQ(failure.message, "a torn record");
  EXPECT_EQ(sent(std::runtime_error("x")).code, ErrorCode::Unknown);
}

TEST(RankFailure, IsNeitherTheEndOfInputNorALostSessionElsewhere) {
  EXPECT_EQ(sent(OutOfRangeError("end")).code, ErrorCode::FailedPrecondition);
  EXPECT_EQ(sent(AbortedError("lost")).code, ErrorCode::FailedPrecondition);
  EXPECT_EQ(sent(UnavailableError("away")).code, ErrorCode::FailedPrecondition);
}

TEST(RankFailure, HasAMessageWithoutAnError) { EXPECT_FALSE(failure_of(nullptr).message.empty()); }

}  // namespace
}  // namespace trainhook::detail
