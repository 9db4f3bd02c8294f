// SPDX-License-Identifier: Apache-2.0
/// @file
/// Agreement: who has one.
#include <trainhook/monitored/agreement.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/threaded_ranks.hpp>

namespace trainhook::detail {
namespace {

TEST(Agreement, IsNoneForAProcessAlone) { EXPECT_EQ(Agreement::of({}), nullptr); }

TEST(Agreement, IsNoneForAJobOfOneRankWhoseOptionsAreCheckedAllTheSame) {
  testing::ThreadedRanks job(1);
  const auto errors = job.run([&](const std::shared_ptr<Collective>& ranks) {
    EXPECT_EQ(Agreement::of({.collective = ranks}), nullptr);
    EXPECT_THROW(static_cast<void>(Agreement::of({.collective = ranks, .agree_every_n_steps = 0})),
                 InvalidArgumentError);
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(1));
}

TEST(Agreement, RankZeroIsTheChief) {
  std::vector<int> chiefs(2);
  testing::ThreadedRanks job(2);
  const auto errors = job.run([&](const std::shared_ptr<Collective>& ranks) {
    const auto agreement = Agreement::of({.collective = ranks});
    chiefs[static_cast<std::size_t>(agreement->rank())] = agreement->is_chief() ? 1 : 0;
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(2));
  EXPECT_EQ(chiefs, (std::vector{1, 0}));
}

}  // namespace
}  // namespace trainhook::detail
