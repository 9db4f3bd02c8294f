// SPDX-License-Identifier: Apache-2.0
/// @file
/// How ranks divide a checkpoint, and what one of them writes; peers_sharded_test.cpp has whole
/// trainings.
#include <trainhook/ranks/sharded_save.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

using Strings = std::vector<std::string>;

StateSpec variable(std::string name, std::int64_t elements) {
  return {.name = std::move(name), .dtype = DType::Float, .shape = Shape{elements}};
}

/// In which these variables are trained.
struct Trained : Graph {
  explicit Trained(const Strings& names) {
    for (const std::string& name : names) make_variable(name, constant(*this, 1.0F));
  }
};

TEST(ShardedSave, GivesTheLargestVariablesToTheRanksThatHaveLeast) {
  const std::vector<StateSpec> state = {variable("a", 1), variable("b", 5), variable("c", 3), variable("d", 3),
                                        variable("e", 4)};
  const Trained graph({"a", "b", "c", "d", "e"});
  const std::vector<Strings> names = divide_by_bytes(state, graph, 3);  // 5 | 4 + 1 | 3 + 3
  EXPECT_EQ(names, (std::vector<Strings>{{}, {"a", "e"}, {"c", "d"}}));
}

TEST(ShardedSave, DividesSlotsOfOptimizersToo) {
  const std::vector<StateSpec> state = {variable("layer/w", 4), variable("layer/w/Adam", 4), variable("layer/mean", 4),
                                        variable("layer/w_average", 4)};
  EXPECT_EQ(divide_by_bytes(state, Trained({"layer/w"}), 4), (std::vector<Strings>{{}, {"layer/w/Adam"}}));
}

TEST(ShardedSave, LeavesToTheChiefStringsAndWhatIsNotAVariable) {
  const Trained graph({"a", "b", "noise", "words"});
  std::vector<StateSpec> state = {variable("a", 9), variable("noise", 9), variable("words", 9)};
  state[1].kind = StateKind::Auxiliary;
  state[2].dtype = DType::String;
  EXPECT_EQ(divide_by_bytes(state, graph, 4), std::vector<Strings>(1))
      << "the chief has `a`, and no other has anything";
  state.push_back(variable("b", 8));
  EXPECT_EQ(divide_by_bytes(state, graph, 4), (std::vector<Strings>{{}, {"b"}}));
  EXPECT_EQ(divide_by_bytes({}, graph, 4), std::vector<Strings>(1));
}

TEST(ShardedSave, IsTheSameAfterItsWay) {
  const ShardedSave sent{.prefix = "run/m-1",
                         .suffix = ".tempstate7",
                         .names = {{}, {"a", "b"}, {"c"}},
                         .tensors = {"field"},
                         .refuse_non_finite = true,
                         .later = true};
  const ShardedSave got = sharded_save_in(sharded_save_bytes(sent));
  EXPECT_EQ(got.prefix, sent.prefix);
  EXPECT_EQ(got.suffix, sent.suffix);
  EXPECT_EQ(got.names, sent.names);
  EXPECT_EQ(got.tensors, sent.tensors);
  EXPECT_TRUE(got.refuse_non_finite && got.later);
  EXPECT_THROW(static_cast<void>(sharded_save_in("")), DataLossError);
  EXPECT_THROW(static_cast<void>(sharded_save_in("\x0a\x09m")), DataLossError);
}

TEST(ShardOfRank, IsThereUntilTheObjectIsGoneUnlessTheChiefTookIt) {
  for (const bool later : {false, true}) {
    LoopSession loop;
    std::vector<float> weight = {1, 2};
    loop.variable("w", weight);
    testing::MemoryFileSystem disk;
    const ShardedSave save{.prefix = "run/m-1", .suffix = ".tempstate7", .names = {{}, {"w"}}, .later = later};
    for (const bool is_taken : {false, true}) {
      {
        ShardOfRank shard(loop, save, 1, disk);
        EXPECT_TRUE(!is_taken || !shard.take().empty());
        EXPECT_TRUE(!is_taken || !shard.is_writing());
      }
      EXPECT_EQ(disk.files(), is_taken ? Strings{"run/m-1.data-00001-of-00002.tempstate7"} : Strings());
    }
  }
}

TEST(ShardOfRank, SaysWhatWentWrongWhenItIsTaken) {
  LoopSession loop;
  testing::MemoryFileSystem disk;
  for (const bool later : {false, true}) {
    const ShardedSave save{.prefix = "run/m-1", .suffix = ".tempstate7", .names = {{}, {"other"}}, .later = later};
    ShardOfRank shard(loop, save, 1, disk);
    EXPECT_THROW(static_cast<void>(shard.take()), Error);
  }
  EXPECT_EQ(disk.files(), Strings());
}

TEST(PartsOfOthers, AreAddedOnAnyThreadByTheFirstWord) {
  testing::MemoryFileSystem disk;
  const auto order = [&](PartsOfOthers& parts) {
    BundleWriter writer("run/m-1", {.file_system = &disk, .part = *parts.data_file()});
    parts.add_to(writer);
    writer.finish();
  };
  LoopSession loop;
  std::vector<float> weight = {1, 2};
  loop.variable("a", weight);
  const ShardedSave save{.prefix = "run/m-1", .suffix = ".tempstate7", .names = {{}, {"a"}}};
  PartsOfOthers parts(save, disk);
  EXPECT_TRUE(parts.brings("a"));
  EXPECT_FALSE(parts.brings("b"));
  std::thread waits([&] { order(parts); });
  ShardOfRank shard(loop, save, 1, disk);
  parts.set({shard.take()});
  parts.fail(std::make_exception_ptr(CancelledError("too late")));
  waits.join();
  EXPECT_EQ(BundleReader("run/m-1", {.file_system = &disk}).get_tensor("a").data<float>()[1], 2);

  PartsOfOthers fetched({.prefix = "run/m-1", .suffix = ".tempstate8", .names = {{}, {"a"}}}, disk);
  fetched.fetch_by([&] { fetched.fail(std::make_exception_ptr(CancelledError("no"))); });
  BundleWriter writer("run/m-2", {.file_system = &disk, .part = *fetched.data_file()});
  EXPECT_THROW(fetched.add_to(writer), CancelledError);
}

TEST(PartsOfOthers, ThatNoOneWaitedForAreRemoved) {
  testing::MemoryFileSystem disk;
  disk.write_file("run/m-1.data-00001-of-00002.tempstate7", "of rank 1");
  for (const bool are_set : {false, true}) {
    PartsOfOthers parts({.prefix = "run/m-1", .suffix = ".tempstate7", .names = {{}, {"a"}}}, disk);
    if (are_set) parts.set({"index"});
    EXPECT_EQ(disk.files().size(), 1U) << "those of a rank that has not handed it over are its own";
  }
  EXPECT_EQ(disk.files(), Strings());
}

}  // namespace
}  // namespace trainhook::detail
