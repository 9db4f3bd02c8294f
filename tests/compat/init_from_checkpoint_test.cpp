// SPDX-License-Identifier: Apache-2.0
/// @file
/// init_from_checkpoint: which tensor each variable begins with, and what is refused. The initializers run in
/// engine/kernels/restore_test.cpp.
#include <trainhook/compat/init_from_checkpoint.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "data_files.hpp"
#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace trainhook {
namespace {

using ::testing::HasSubstr;

void write_checkpoint(FileSystem& disk, const std::string& prefix) {
  BundleWriter writer(prefix, {.file_system = &disk});
  writer.add("old/w", Tensor::of<float>({1, 2}));
  writer.add("old/deep/b", Tensor(3.0F));
  writer.add("w", Tensor::of<float>({4, 5}));
  writer.add("m", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  writer.add("global_step", Tensor(std::int64_t{7}));
  writer.finish();
}

/// A loop with `new/w`, `new/deep/b`, `w`.
class InitFromCheckpoint : public ::testing::Test {
 protected:
  InitFromCheckpoint() {
    write_checkpoint(disk_, "pretrained/model-7");
    update_checkpoint_state(disk_, "pretrained", {.model_checkpoint_path = "pretrained/model-7"});
    loop_.variable("new/w", new_w_);
    loop_.variable("new/deep/b", new_b_);
    loop_.variable("w", w_);
    loop_.open();
  }
  void init(const AssignmentMap& map, const std::string& from = "pretrained/model-7") {
    init_from_checkpoint(loop_, disk_, from, map);
  }
  std::string error_of(const AssignmentMap& map) {
    try {
      init(map);
    } catch (const InvalidArgumentError& error) { return error.what(); }
    return "none";
  }

  using Floats = std::vector<float>;

  testing::LogLines log_;
  testing::MemoryFileSystem disk_;
  LoopSession loop_;
  Floats new_w_ = {0, 0}, w_ = {0, 0};
  float new_b_ = 0;
};

TEST_F(InitFromCheckpoint, NameToName) {
  init({{"w", "new/w"}, {"old/deep/b", "new/deep/b"}});
  EXPECT_EQ(new_w_, (Floats{4, 5}));
  EXPECT_EQ(new_b_, 3);
  EXPECT_EQ(w_, (Floats{0, 0}));
}

TEST_F(InitFromCheckpoint, OneTensorToSeveralVariables) {
  init({{"w", "new/w"}, {"w", "w"}});
  EXPECT_EQ(new_w_, (Floats{4, 5}));
  EXPECT_EQ(w_, (Floats{4, 5}));
}

TEST_F(InitFromCheckpoint, ScopeToScope) {
  init({{"old/", "new/"}});
  EXPECT_EQ(new_w_, (Floats{1, 2}));
  EXPECT_EQ(new_b_, 3);
  EXPECT_EQ(w_, (Floats{0, 0}));
}

TEST_F(InitFromCheckpoint, RootToScopeAndScopeToScopeInside) {
  init({{"old/deep/", "new/deep/"}});
  EXPECT_EQ(new_b_, 3);
  EXPECT_THAT(error_of({{"/", "new/"}}), HasSubstr("tensor 'deep/b', for variable 'new/deep/b', is not found in "
                                                   "checkpoint pretrained/model-7"));
  EXPECT_EQ(new_w_, (Floats{0, 0}));  // all or nothing
}

TEST_F(InitFromCheckpoint, ADirectoryIsItsNewestCheckpoint) {
  init({{"old/w", "w"}}, "pretrained");
  EXPECT_EQ(w_, (Floats{1, 2}));
  EXPECT_THROW(init({{"old/w", "w"}}, "elsewhere/model"), NotFoundError);
}

TEST_F(InitFromCheckpoint, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(error_of({{"x", "new/w"}}), HasSubstr("tensor 'x', for variable 'new/w', is not found"));
  EXPECT_THAT(error_of({{"m", "new/w"}}), HasSubstr("variable 'new/w' is float32[2], and tensor 'm' is float32[3,2] in "
                                                    "checkpoint pretrained/model-7"));
  EXPECT_THAT(error_of({{"global_step", "new/deep/b"}}),
              HasSubstr("variable 'new/deep/b' is float32[], and tensor 'global_step' is int64[]"));
  EXPECT_THAT(error_of({{"old/w", "new/v"}}),
              HasSubstr("'new/v' is not a variable, and a scope cannot begin with tensor "
                        "'old/w'"));
  EXPECT_EQ(error_of({{"old/", "nowhere/"}}), "none");
  EXPECT_EQ(log_.take(), std::vector<std::string>{"W init_from_checkpoint: no variable is in the scope 'nowhere/'"});
}

TEST_F(InitFromCheckpoint, ATensorThatIsNotHeldHereIsNamedWithItsDtype) {
  testing::expect_error<UnimplementedError>(
      {"tensor int4 of checkpoint", "it is int4[2,3], and this library has no"}, [&] {
        init_from_checkpoint(loop_, testing::data_file("other_tensors"), {{"int4", "w"}});
      });
}

TEST_F(InitFromCheckpoint, TheGraphOfALoopHasNoInitializers) {
  const support::TemporaryFolder folder;
  write_checkpoint(posix_file_system(), folder.file("model"));
  EXPECT_THROW(init_from_checkpoint(loop_.graph(), folder.file("model"), {{"old/w", "w"}}), FailedPreconditionError);
}

TEST(InitFromCheckpointOfGraphs, ReplacesTheInitialValuesInPlace) {
  const support::TemporaryFolder folder;
  write_checkpoint(posix_file_system(), folder.file("model"));
  Graph graph;
  const auto part = [](std::int64_t row, std::int64_t rows) {
    return std::make_shared<const SaveSliceInfo>(
        SaveSliceInfo{.full_name = "new/m", .full_shape = {3, 2}, .var_offset = {row, 0}, .var_shape = {rows, 2}});
  };
  make_variable("new/m/part_0", zeros(graph, {2, 2}), {.save_slice_info = part(0, 2)});
  make_variable("new/m/part_1", zeros(graph, {1, 2}), {.save_slice_info = part(2, 1)});
  const Variable w = make_variable("w", zeros(graph, {2}));
  const Variable other = make_variable("other", zeros(graph, {}));

  init_from_checkpoint(graph, folder.file("model"), {{"m", "new/m"}, {"w", "w"}});
  const std::vector<Variable> variables = global_variables(graph);
  EXPECT_EQ(variables.size(), 4U);
  EXPECT_EQ(variables[0].initial_value.name(), "checkpoint_initializer:0");
  EXPECT_EQ(variables[1].initial_value.name(), "checkpoint_initializer:1");
  EXPECT_EQ(variables[2], w);
  EXPECT_EQ(variables[2].initializer.name(), "w/Assign_1");
  EXPECT_EQ(trainable_variables(graph)[2].initializer.name(), "w/Assign_1");
  EXPECT_EQ(variables[3].initializer, other.initializer);
  const Node& restore = graph.operation("checkpoint_initializer").node();
  const Tensor& slices = restore.inputs()[2].node().attr<Tensor>("value");
  EXPECT_EQ(slices, Tensor::of<std::string>({"3 2 0,2:0,2", "3 2 2,1:0,2", ""}));

  const std::size_t size = graph.size();
  EXPECT_THROW(init_from_checkpoint(graph, folder.file("model"), {{"old/w", "w"}, {"m", "w"}}), InvalidArgumentError);
  EXPECT_EQ(graph.size(), size);
}

}  // namespace
}  // namespace trainhook
