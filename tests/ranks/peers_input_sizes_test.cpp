// SPDX-License-Identifier: Apache-2.0
/// @file
/// The saved inputs of a job that continues with another number of ranks.
#include <trainhook/ranks/peers.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "input_of_ranks.hpp"

namespace trainhook {
namespace {

using RanksInputSizesTest = support::InputOfRanks;
using support::Numbers;
using support::Strings;
using support::Trace;

TEST_F(RanksInputSizesTest, AnotherNumberOfRanksGoesOnInTheGlobalOrder) {
  is_global = true;
  Numbers all(12 * kBatch);
  std::iota(all.begin(), all.end(), 0);
  for (const int before : {1, 2, 3}) {
    for (const int after : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("from {} to {}", before, after));
      use_new_disk();
      Numbers taken;
      for (const auto& [size, last_step] : {std::pair(before, 5), std::pair(after, 8), std::pair(before, 12)}) {
        const std::vector<Trace> traces = train(size, last_step);
        ASSERT_EQ(errors(traces), "");
        const Numbers more = taken_by_all(traces);
        taken.insert(taken.end(), more.begin(), more.end());
      }
      EXPECT_EQ(taken, all);
    }
  }
}

TEST_F(RanksInputSizesTest, AnotherNumberOfRanksWithPositionsOfTheirOwnIsAnErrorWithTheWayOut) {
  train(2, 4);
  for (const int size : {1, 3}) {
    const std::vector<Trace> traces = train(size, 6);
    for (const Trace& trace : traces) {
      EXPECT_NE(trace.error.find("2 processes saved the input, and the positions of run/input_worker_0.ckpt-4 and "
                                 "run/input_worker_1.ckpt-4 differ"),
                std::string::npos)
          << trace.error;
      EXPECT_NE(trace.error.find("mpi::shard_globally"), std::string::npos) << trace.error;
    }
    EXPECT_EQ(saved_step(), 4);
  }
  EXPECT_EQ(train(2, 6)[1].begin, 4);
}

TEST_F(RanksInputSizesTest, AStepThatIsSavedAgainByAnotherNumberHasOnlyTheirFiles) {
  is_global = true;
  train(1, 4);
  disk->remove_file("run/model.ckpt-4.index");
  train(2, 4);
  EXPECT_EQ(input_files(), (Strings{"input.ckpt-0", "input_worker_0.ckpt-4", "input_worker_1.ckpt-4"}));
  disk->remove_file("run/model.ckpt-4.index");
  train(1, 4);
  EXPECT_EQ(input_files(), (Strings{"input.ckpt-0", "input.ckpt-4", "input_worker_1.ckpt-4"}));
  train(2, 5);
  EXPECT_EQ(log.count("Restored the input pipeline from run/input.ckpt-4"), 2U);
}

}  // namespace
}  // namespace trainhook
