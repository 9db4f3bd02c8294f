// SPDX-License-Identifier: Apache-2.0
/// @file
/// The file of a lock or lease names its holder, also one that an earlier version has written.
#include <trainhook/checkpoint/lock_lease.hpp>

#include <cstddef>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using detail::holder_text;
using detail::LockHolder;
using detail::parse_holder;
using detail::read_holder;

TEST(LockHolder, ItsTextIsReadAgain) {
  for (const std::string kind : {"lock", "lease"}) {
    const LockHolder me = detail::new_holder();
    const std::string text = holder_text(kind, me);
    const std::optional<LockHolder> read = parse_holder(text + "\n\n");
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->process, me.process);
    EXPECT_EQ(read->id, me.id);
    EXPECT_FALSE(read->is_ending);
    for (std::size_t length = 0; length < text.size(); ++length)
      EXPECT_EQ(parse_holder(text.substr(0, length)), std::nullopt) << length;
  }
  EXPECT_NE(detail::new_holder().id, detail::new_holder().id);
}

TEST(LockHolder, ItsTextIsKnownWhereverItIsCutOff) {
  const std::string whole = holder_text("lock", detail::new_holder());
  for (std::size_t size = 1; size <= whole.size(); ++size)
    EXPECT_TRUE(detail::is_holder_text(whole.substr(0, size))) << size;
  for (const char* other : {"x", "trainhook's", "training notes"}) EXPECT_FALSE(detail::is_holder_text(other)) << other;
}

TEST(LockHolder, OtherTextNamesNobody) {
  for (const char* text : {"", "trainhook lease 1\nhost h\nboot\nprocess x\nstart 1\nid 1\n",
                           "something else\nhost h\nboot b\nprocess 1\nstart 1\nid 1\n",
                           "trainhook lease 2\nhost h\nboot b\nprocess 1\nstart 1\nid 1\n"})
    EXPECT_EQ(parse_holder(text), std::nullopt) << text;
}

TEST(LockHolder, ALeaseOfTheFirstVersionIsRead) {
  const auto holder = parse_holder("trainhook lease 1\nhost h\nboot b\nprocess 17\nstart 4\nid 00000000000000aa\n\n\n");
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->process, (detail::ProcessIdentity{.host = "h", .boot = "b", .pid = 17, .start = "4"}));
  EXPECT_EQ(holder->id, "00000000000000aa");
  EXPECT_EQ(detail::holder_name(holder), "process 17 on h");
  EXPECT_EQ(detail::holder_name(std::nullopt), "a process that has not written its name yet");
}

TEST(LockHolder, ThatItIsEndingIsFoundAfterAnyNumberOfRefreshes) {
  testing::MemoryFileSystem disk;
  LockHolder me = detail::new_holder();
  for (const std::size_t refreshes : {0U, 1U, 3900U, 4096U, 100'000U}) {
    const std::string text = holder_text("lease", me) + std::string(refreshes, '\n');
    disk.write_file("lease", text);
    EXPECT_FALSE(read_holder(disk, "lease")->is_ending) << refreshes;
    disk.write_file("lease", text + "ending\n");
    EXPECT_TRUE(read_holder(disk, "lease")->is_ending) << refreshes;
    EXPECT_EQ(read_holder(disk, "lease")->id, me.id);
  }
  me.is_ending = true;
  EXPECT_TRUE(parse_holder(holder_text("lock", me))->is_ending);
  EXPECT_EQ(read_holder(disk, "none"), std::nullopt);
}

}  // namespace
}  // namespace trainhook
