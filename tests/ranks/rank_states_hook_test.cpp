// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankStatesHook: what the chief collects; peers_rank_states_test.cpp has whole trainings.
#include <trainhook/ranks/rank_states_hook.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/ranks/peers.hpp>
#include <trainhook/ranks/rank_rounds.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

using namespace std::chrono_literals;

/// The hook of one rank, whose state is its number.
struct Rank {
  explicit Rank(const std::shared_ptr<Collective>& ranks) : number(ranks->rank()), rounds(ranks, 60s), hook(rounds) {
    loop.state("number", number);
    detail::HookAccess::attach(hook, services);
    loop.graph().offer(saver_hook);
    hook.begin(loop.graph());
  }

  [[nodiscard]] std::optional<std::string> veto() {
    SaveMoment moment{.session = loop, .saver = &saver};
    return hook.veto(moment);
  }

  /// The entries that the hook adds to a save.
  [[nodiscard]] std::vector<NamedTensor> collected() {
    SaveMoment moment{.session = loop, .saver = &saver};
    TakenParts taken;
    EXPECT_EQ(hook.veto(moment), std::nullopt);
    hook.take(moment, taken);
    std::vector<NamedTensor> entries;
    for (const auto& part : taken) entries.insert(entries.end(), part->entries().begin(), part->entries().end());
    return entries;
  }

  int number;
  LoopSession loop;
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers{{.file_system = &disk, .clock = &clock}};
  detail::SessionServices services{disk, clock, writers};
  Coordinator coordinator{clock};
  RankRounds rounds;
  RankStatesHook hook;
  Saver saver;
  std::shared_ptr<CheckpointClaim> saver_hook = std::make_shared<CheckpointClaim>();
};

TEST(RankStatesHook, TheChiefAloneCollectsAndHasWhatDiffers) {
  testing::ThreadedRanks job(3);
  const auto errors = job.run([](const std::shared_ptr<Collective>& ranks) {
    Rank rank(ranks);
    std::vector<NamedTensor> got;
    std::vector<NamedTensor> again;
    if (rank.number == 0) {
      got = rank.collected();
      again = rank.collected();  // for another saver, at the same place
    }
    rank.hook.after_create_session(rank.loop, rank.coordinator);
    rank.rounds.settle();
    EXPECT_EQ(got.size(), rank.number == 0 ? 3U : 0U);
    EXPECT_EQ(again.size(), got.size());
    if (got.size() != 3) return;
    EXPECT_EQ(got[0].name, "_trainhook/ranks/1/_trainhook/state/number");
    EXPECT_EQ(got[0].tensor.scalar<std::int32_t>(), 1);
    EXPECT_EQ(got[1].name, "_trainhook/ranks/2/_trainhook/state/number");
    EXPECT_EQ(got[1].tensor.scalar<std::int32_t>(), 2);
    EXPECT_EQ(got[2].name, "_trainhook/num_ranks");
    EXPECT_EQ(got[2].tensor.scalar<std::int64_t>(), 3);
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(3));
  EXPECT_EQ(job.num_reductions(), 4);  // collect, no rank has failed, meet, the last one
}

TEST(RankStatesHook, JoinsTheSaversOfTheChiefOnceForAJob) {
  testing::ThreadedRanks job(2);
  const auto errors = job.run([](const std::shared_ptr<Collective>& ranks) {
    const Rank rank(ranks);
    EXPECT_EQ(rank.saver_hook->parts.size(), rank.number == 0 ? 1U : 0U);
    const auto peers = ranks::peers(ranks);
    Hooks hooks;
    peers->join(hooks);
    EXPECT_EQ(hooks.size(), 1U);
    EXPECT_THROW(peers->join(hooks), FailedPreconditionError);
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(2));
}

TEST(RankStatesHook, WhetherAnyObjectsComesWithWhatIsCollected) {
  testing::ThreadedRanks job(3);
  const auto errors = job.run([](const std::shared_ptr<Collective>& ranks) {
    Rank rank(ranks);
    if (rank.number == 0) {
      EXPECT_EQ(rank.veto(), std::nullopt);
      EXPECT_EQ(rank.collected().size(), 3U);
    }
    rank.hook.after_create_session(rank.loop, rank.coordinator);
    rank.rounds.settle();
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(3));
  EXPECT_EQ(job.num_reductions(), 4);  // as without the question
}

TEST(RankStatesHook, ARankThatObjectsIsNamedAndNothingIsCollected) {
  testing::ThreadedRanks job(3);
  const auto errors = job.run([](const std::shared_ptr<Collective>& ranks) {
    Rank rank(ranks);
    rank.services.set_save_veto([&] { return std::optional("not by " + std::to_string(rank.number)); });
    if (rank.number == 0) {
      EXPECT_EQ(rank.veto(), "rank 1: not by 1");
      EXPECT_EQ(rank.veto(), "rank 1: not by 1");  // for another saver
    }
    rank.hook.after_create_session(rank.loop, rank.coordinator);
    rank.rounds.settle();
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(3));
  EXPECT_EQ(job.num_reductions(), 3);  // the question, meet, the last one
}

TEST(RankStatesHook, AJobOfOneRankHasNothingToCollect) {
  testing::ThreadedRanks job(1);
  const auto errors = job.run([](const std::shared_ptr<Collective>& ranks) {
    Rank rank(ranks);
    EXPECT_TRUE(rank.saver_hook->parts.empty());
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(1));
  EXPECT_EQ(job.num_reductions(), 0);
}

}  // namespace
}  // namespace trainhook::detail
