// SPDX-License-Identifier: Apache-2.0
/// @file
/// How the memory disk reads paths.
#include <trainhook/testing/memory_disk.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

TEST(MemoryDisk, PathsFallIntoTheirNames) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(trainhook::testing::detail::path_parts("/a//b/./c/"), (Parts{"a", "b", "c"}));
  EXPECT_EQ(trainhook::testing::detail::path_parts("a"), (Parts{"a"}));
  EXPECT_EQ(trainhook::testing::detail::path_parts("."), Parts{});
  EXPECT_EQ(trainhook::testing::detail::path_parts(""), Parts{});
}

}  // namespace
}  // namespace trainhook
