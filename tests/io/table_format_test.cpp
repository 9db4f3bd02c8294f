// SPDX-License-Identifier: Apache-2.0
/// @file
/// Handles of blocks, there and back.
#include <trainhook/io/table_format.hpp>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

TEST(BlockHandle, TakesWhatItAppended) {
  std::string text;
  detail::BlockHandle{300, 5}.append_to(text);
  EXPECT_EQ(text, "\xac\x02\x05");
  std::string_view view = text;
  const auto handle = detail::BlockHandle::take(view);
  ASSERT_TRUE(handle.has_value());
  EXPECT_EQ(handle->offset, 300u);
  EXPECT_EQ(handle->size, 5u);
  EXPECT_TRUE(view.empty());
}

TEST(BlockHandle, OfHalfTheBytesIsNone) {
  std::string_view view = "\xac\x02";
  EXPECT_FALSE(detail::BlockHandle::take(view).has_value());
}

}  // namespace
}  // namespace trainhook
