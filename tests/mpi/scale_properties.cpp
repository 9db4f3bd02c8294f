// SPDX-License-Identifier: Apache-2.0
/// @file
/// What must hold for the simulation of scale.cpp, whatever the machine is.

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "scale_machines.hpp"
#include "scale_scenarios.hpp"

namespace {

using scale::Job;
using scale::Machine;

const Machine kMachine = scale::published_cluster();
const scale::Network& kNetwork = kMachine.network;

TEST(ScaleJob, OneRankSendsNothingAndItsAgreementCostsNothing) {
  Job job(kMachine, 1);
  scale::first_rounds(job);
  scale::second_rounds(job);
  EXPECT_EQ(job.messages(), 0);
  EXPECT_EQ(job.last(), 0);
  EXPECT_EQ(scale::agreement(kMachine, 1), 0);
  EXPECT_NEAR(scale::agreement_of_independent_ranks(kMachine, 1, 1), 0, 1e-12);
}

TEST(ScaleJob, CountsTheMessagesOfEachCollectiveCall) {
  const auto messages = [](int ranks, auto call) {
    Job job(kMachine, ranks);
    call(job);
    return job.messages();
  };
  for (const int n : {2, 3, 4, 5, 64, 1000}) {
    EXPECT_EQ(messages(n, [](Job& job) { job.broadcast(8); }), n - 1) << n;
    EXPECT_EQ(messages(n, [](Job& job) { job.gather(8); }), n - 1) << n;
  }
}

TEST(ScaleJob, AMessageTakesLatencyTwoOverheadsAndTheTimeOfItsBytes) {
  Job job(kMachine, 2);
  job.broadcast(1000);
  EXPECT_DOUBLE_EQ(job.clock(0), kNetwork.call + kNetwork.overhead);
  EXPECT_DOUBLE_EQ(job.clock(1), kNetwork.call + kNetwork.latency + 2 * kNetwork.overhead + 1000 * kNetwork.per_byte);
}

TEST(ScaleJob, TheRootOfAGatherTakesOneMessageAfterTheOther) {
  Job job(kMachine, 1000);
  job.gather(1'000'000);
  EXPECT_GT(job.clock(0), 999 * 1e6 * kNetwork.per_byte);
  EXPECT_LT(job.clock(0), 1001 * 1e6 * kNetwork.per_byte);
}

TEST(ScaleJob, AnExchangeSendsThreeMessagesOfEachRankForEachFactorOfFour) {
  const auto sent_by_each = [](int ranks) {
    Job job(kMachine, ranks);
    job.exchange(8);
    return static_cast<double>(job.messages()) / ranks;
  };
  EXPECT_EQ(sent_by_each(2), 1);
  EXPECT_EQ(sent_by_each(3), 2);
  EXPECT_EQ(sent_by_each(4), 3);
  EXPECT_EQ(sent_by_each(5), 4);
  EXPECT_EQ(sent_by_each(64), 9);
}

TEST(ScaleJob, AllRanksWaitForTheLastOne) {
  Job job(kMachine, 5);
  job.compute(3, 1);
  job.exchange(8);
  for (std::size_t rank = 0; rank < job.size(); ++rank) EXPECT_GT(job.clock(rank), 1) << rank;
}

TEST(ScaleJob, ClientsShareTheBandwidthOfTheDisks) {
  Job job(kMachine, 1000);
  job.write(0, 1e9);
  EXPECT_DOUBLE_EQ(job.last(), 1e9 / kMachine.storage.write.client);
  for (std::size_t rank = 1; rank < job.size(); ++rank) job.write(rank, 1e9);
  EXPECT_NEAR(job.last(), 1000 * 1e9 / kMachine.storage.write.all, 1e-9);
}

TEST(ScaleJob, OneServerDoesTheOperationsOfTheDirectory) {
  const scale::Operation& open = kMachine.storage.open;
  Job job(kMachine, 10000);
  for (const std::size_t rank : job.in_order()) job.open(rank);
  EXPECT_DOUBLE_EQ(job.clock(0), open.seconds);
  EXPECT_NEAR(job.last(), open.seconds + 9999 / open.per_second, 1e-9);
}

TEST(Scale, GivesTheSameFiguresForTheSameSeed) {
  const auto independent = [](std::uint64_t seed) { return scale::agreement_of_independent_ranks(kMachine, 64, seed); };
  EXPECT_EQ(independent(1), independent(1));
  EXPECT_NE(independent(1), independent(2));
  EXPECT_EQ(scale::save(kMachine, 64, 1e9).loop, scale::save(kMachine, 64, 1e9).loop);
}

TEST(Scale, AnAgreementGrowsAsTheLogarithmOfTheRanks) {
  for (const Machine& machine : {kMachine, scale::this_machine()}) {
    const double ratio = scale::agreement(machine, 4096) / scale::agreement(machine, 64);
    EXPECT_GT(ratio, 1.5) << machine.name;
    EXPECT_LT(ratio, 3) << machine.name;
  }
}

TEST(Scale, IndependentRanksWaitForTheSlowestOne) {
  const double few = scale::agreement_of_independent_ranks(kMachine, 8, 1);
  const double many = scale::agreement_of_independent_ranks(kMachine, 512, 1);
  EXPECT_GT(few, scale::agreement(kMachine, 8) + scale::kNoise / 2);
  EXPECT_GT(many - few, 2 * scale::kNoise);
}

TEST(Scale, ShardsMakeASaveFasterAndARestoreTakesLittleLongerForMoreRanks) {
  EXPECT_LT(scale::save(kMachine, 8, 100e9).listed, scale::save(kMachine, 1, 100e9).listed / 7);
  EXPECT_LT(scale::restore(kMachine, 256, 100e9), 1.5 * scale::restore(kMachine, 64, 100e9));
}

TEST(Scale, AStartBringsEachRankButTheFirstNoMoreThanTheModel) {
  for (const int ranks : {8, 64, 10000}) {
    const Job job = scale::start(kMachine, ranks, 1'000'000'000);
    EXPECT_LT(job.most_bytes_of_a_rank(), 1'010'000'000) << ranks;
    EXPECT_LT(job.messages() / ranks, 70 * 24) << ranks;  // a vote and a broadcast for each 16 MiB
  }
  Job compared(kMachine, 10000);
  scale::compare(compared);
  EXPECT_LT(compared.most_bytes_of_a_rank(), 2'000'000);
}

TEST(Scale, KeepsADataFileOfEachRankAnIndexAndAMetaForEachCheckpoint) {
  for (const int ranks : {1, 8, 100}) EXPECT_EQ(scale::files(kMachine, ranks), scale::kKept * (ranks + 2) + 1);
}

}  // namespace
