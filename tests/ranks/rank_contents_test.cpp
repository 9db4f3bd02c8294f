// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankContents: what one rank sees of a job's checkpoint; peers_rank_states_test.cpp has whole trainings.
#include <trainhook/ranks/rank_contents.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

using Floats = std::vector<float>;
using Names = std::vector<std::string>;

/// State of several values, which remembers what it was loaded with.
struct Told final : Saveable {
  [[nodiscard]] std::string name() const override { return "told"; }
  StateValues save() override { return {}; }
  void load(const StateValues& values) override {
    names.clear();
    for (const NamedTensor& value : values.entries()) names.push_back(value.name);
  }
  Names names{"not loaded"};
};

struct RankContentsTest : ::testing::Test {
  RankContentsTest() {
    loop.variable("weight", weight);
    loop.state("noise", noise);
    loop.graph().add_to_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(told));
    view.session = loop;
  }
  void write(const std::vector<NamedTensor>& entries) {
    BundleWriter writer("run/m-3", {.file_system = &disk, .overwrite = true});
    writer.add("global_step", Tensor(std::int64_t{3}));
    for (const NamedTensor& entry : entries) writer.add(entry.name, entry.tensor);
    writer.finish();
  }
  [[nodiscard]] CheckpointSource viewed() {
    return {"run/m-3", [this](const std::string& path, FileSystem& file_system, BundleFiles files) {
              return std::make_unique<RankContents>(open_bundle(path, file_system, files), view);
            }};
  }

  testing::MemoryFileSystem disk;
  Saver saver{{.file_system = &disk}};
  Floats weight{-1}, noise{-1};
  std::shared_ptr<Told> told = std::make_shared<Told>();
  LoopSession loop;
  RankView view{.rank = 1};
};

TEST_F(RankContentsTest, OwnStateReplacesTheChiefsAndVariablesAreTheChiefs) {
  write({{"weight", Tensor::of<float>({1})},
         {"_trainhook/state/noise", Tensor::of<float>({2})},
         {"told/a", Tensor(1.0)},
         {"_trainhook/ranks/1/_trainhook/state/noise", Tensor::of<float>({3})},
         {"_trainhook/ranks/2/_trainhook/state/noise", Tensor::of<float>({4})}});
  saver.restore(loop, viewed(), true);
  EXPECT_EQ(weight, Floats{-1}) << "the chief sends it";
  EXPECT_EQ(noise, Floats{3});
  EXPECT_EQ(told->names, Names{"a"}) << "which is the chief's, too";
  EXPECT_EQ(saver.take_left_over(), Names()) << "what no rank takes is said by the chief";
  view.rank = 3;
  saver.restore(loop, viewed(), true);
  EXPECT_EQ(noise, Floats{2}) << "this rank's was the chief's";
}

TEST_F(RankContentsTest, ASaveableIsReplacedWholeButForPartsOfTensors) {
  write({{"weight", Tensor::of<float>({1})},
         {"_trainhook/state/noise", Tensor::of<float>({2})},
         {"told/a", Tensor(1.0)},
         {"told/hook/_part/t/0", Tensor(1.0)},
         {"told_too/a", Tensor(1.0)},
         {"_trainhook/ranks/1/told/b", Tensor(1.0)},
         {"_trainhook/ranks/1/told/hook/_part/t/1", Tensor(1.0)},
         {"_trainhook/ranks/2/told/hook/_part/t/2", Tensor(1.0)}});
  saver.restore(loop, viewed());
  EXPECT_EQ(told->names, (Names{"b", "hook/_part/t/0", "hook/_part/t/1", "hook/_part/t/2"}));
  const auto contents = viewed().open(nullptr, disk, BundleFiles::AsRead);
  EXPECT_FALSE(contents->find("told/a")) << "which is not shown, so it is not there";
  EXPECT_TRUE(contents->find("told/b"));
}

TEST_F(RankContentsTest, WhatANewRankKeepsIsNotReadAndIsNamed) {
  write({{"weight", Tensor::of<float>({1})},
         {"_trainhook/state/noise", Tensor::of<float>({2})},
         {"told/a", Tensor(1.0)}});
  view.keeps = [](const std::string& name) { return name == "_trainhook/state/noise" || name == "told"; };
  saver.restore(loop, viewed());
  EXPECT_EQ(noise, Floats{-1});
  EXPECT_EQ(told->names, Names()) << "it starts fresh";
  EXPECT_EQ(view.kept, (Names{"_trainhook/state/noise", "told"}));
}

TEST_F(RankContentsTest, OwnStateIsTakenByTheSameRules) {
  write({{"net/old/weight", Tensor::of<float>({1})},
         {"_trainhook/state/sound", Tensor::of<float>({3})},
         {"_trainhook/ranks/1/_trainhook/state/sound", Tensor::of<double>({4})},
         {"_trainhook/ranks/2/_trainhook/state/sound", Tensor::of<float>({5})}});
  const std::shared_ptr<const RestorePolicy> policy = RestoreRules{
      .rename = {{"sound", "noise"}, {"net/old/weight", "weight"}}, .missing = Missing::KeepInitial, .cast = true};
  policy->restore(loop, saver, viewed(), "run", [] {});
  EXPECT_EQ(noise, Floats{4});
  EXPECT_EQ(weight, Floats{-1}) << "the chief sends it";
  EXPECT_FALSE(disk.exists("run/run.pbtxt")) << "what was not plain is said by the chief";
}

TEST_F(RankContentsTest, APartOfATensorThatWasReadIsNotReadAgain) {
  LoopSession parts;
  Floats part{-1, -1};
  parts.variable("part", part, {.part_of = {.shape = {4}, .offset = {2}, .name = "whole"}});
  write({{"whole", Tensor::of<float>({1, 2, 3, 4})}});
  view.session = parts;
  const TensorSlice own({{.start = 2, .length = 2}});
  const TensorSlice other({{.start = 0, .length = 2}});
  const std::string data = "run/m-3.data-00000-of-00001";
  const auto read = [&](const TensorSlice& region) {
    viewed().open(nullptr, disk, BundleFiles::AsRead)->read_into("whole", region, {});
  };
  EXPECT_NO_THROW(read(own));
  disk.write_file(data, std::string(disk.contents(data).size(), 'x'));
  EXPECT_THROW(read(own), DataLossError);
  view.is_verified = true;
  EXPECT_NO_THROW(read(own));
  EXPECT_THROW(read(other), DataLossError) << "which another rank has read";
}

}  // namespace
}  // namespace trainhook::detail
