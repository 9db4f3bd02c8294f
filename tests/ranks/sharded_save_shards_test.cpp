// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which parts of checkpoints ranks hand over, and who is told of it.
#include <trainhook/ranks/sharded_save.hpp>

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

using Strings = std::vector<std::string>;

class RankShardsTest : public ::testing::Test {
 protected:
  RankShardsTest() { loop.variable("w", weight); }

  /// Both ranks begin it.
  std::shared_ptr<PartsOfOthers> begin(const std::string& prefix, const std::string& name = "w") {
    auto parts = std::make_shared<PartsOfOthers>(
        ShardedSave{.prefix = prefix, .suffix = ".tempstate" + prefix, .names = {{}, {name}}}, disk);
    chief.await_parts(parts);
    for (RankShards* const rank : {&chief, &other}) rank->begin(parts->save(), loop, disk);
    return parts;
  }
  void hand_over() {
    const std::string order = chief.order();
    chief.take({chief.give(order), other.give(order)});
  }

  /// As the chief's commit does.
  void add(PartsOfOthers& parts) {
    BundleWriter writer(parts.save().prefix, {.file_system = &disk, .part = *parts.data_file()});
    parts.add_to(writer);
    writer.finish();
  }

  std::vector<float> weight = {1, 2};
  LoopSession loop;
  testing::MemoryFileSystem disk;
  RankShards chief{0};
  RankShards other{1};
};

TEST_F(RankShardsTest, BringWhatWasWrittenToWhomItIsFor) {
  const auto parts = begin("1");
  EXPECT_TRUE(chief.are_awaited() && other.are_awaited());
  EXPECT_FALSE(chief.is_writing() || other.is_writing());
  hand_over();
  EXPECT_FALSE(chief.are_awaited() || other.are_awaited());
  EXPECT_EQ(disk.files().size(), 1U) << "it is the chief's now";
  add(*parts);
  EXPECT_EQ(disk.files(), (Strings{"1.data-00000-of-00002", "1.data-00001-of-00002", "1.index"}));
}

TEST_F(RankShardsTest, DropWhatNoRankWaitsForAnyMore) {
  begin("1").reset();
  const auto second = begin("2");
  hand_over();
  add(*second);
  EXPECT_EQ(disk.files(), (Strings{"2.data-00000-of-00002", "2.data-00001-of-00002", "2.index"}));
}

TEST_F(RankShardsTest, NameTheRankThatCouldNotWrite) {
  const auto parts = begin("1", "unknown");
  hand_over();
  try {
    add(*parts);
    ADD_FAILURE() << "there is a part";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("rank 1 could not write its part: "), 0U) << error.what();
  }
  EXPECT_EQ(disk.files(), Strings());
}

TEST_F(RankShardsTest, ThatAreCancelledTellWhoWaits) {
  const auto parts = begin("1");
  chief.cancel(std::make_exception_ptr(CancelledError("the end")));
  other.cancel(nullptr);
  EXPECT_THROW(add(*parts), CancelledError);
  EXPECT_EQ(disk.files(), Strings());
}

}  // namespace
}  // namespace trainhook::detail
