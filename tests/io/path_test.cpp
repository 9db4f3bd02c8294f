// SPDX-License-Identifier: Apache-2.0
/// @file
/// Paths taken apart and put together.
#include <trainhook/io/path.hpp>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

TEST(Path, JoinPutsOneSlashBetweenDirectoryAndName) {
  EXPECT_EQ(join_path("run", "ckpt"), "run/ckpt");
  EXPECT_EQ(join_path("run/", "ckpt"), "run/ckpt");
  EXPECT_EQ(join_path("", "ckpt"), "ckpt");
  EXPECT_EQ(join_path("run", ""), "run");
  EXPECT_EQ(join_path("run", "/tmp/ckpt"), "/tmp/ckpt");
}

TEST(Path, BaseNameIsWhatFollowsTheLastSlash) {
  EXPECT_EQ(base_name("run/model.ckpt-1"), "model.ckpt-1");
  EXPECT_EQ(base_name("model.ckpt-1"), "model.ckpt-1");
  EXPECT_EQ(base_name("run/"), "");
}

TEST(Path, ParentCanAlwaysBeOpened) {
  EXPECT_EQ(parent_path("run/ckpt"), "run");
  EXPECT_EQ(parent_path("a//b"), "a");
  EXPECT_EQ(parent_path("/ckpt"), "/");
  EXPECT_EQ(parent_path("ckpt"), ".");
}

}  // namespace
}  // namespace trainhook
