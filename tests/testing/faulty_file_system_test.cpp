// SPDX-License-Identifier: Apache-2.0
/// @file
/// Failures on demand, and the record of what was asked of the disk.
#include <trainhook/testing/faulty_file_system.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using trainhook::testing::FaultyFileSystem;
using trainhook::testing::FileOperation;
using trainhook::testing::MemoryFileSystem;

class FaultyFileSystemTest : public ::testing::Test {
 protected:
  MemoryFileSystem disk_;
  FaultyFileSystem faulty_{disk_};
};

TEST_F(FaultyFileSystemTest, PassesEverythingOnAndRecordsIt) {
  const auto file = faulty_.create_writable("f", WriteMode::Exclusive);
  file->append("abc");
  file->sync();
  file->close();
  EXPECT_EQ(read_file(faulty_, "f"), "abc");
  faulty_.rename("f", "g");
  faulty_.sync_directory(".");
  EXPECT_EQ(faulty_.trace(),
            (std::vector<std::string>{"create_writable f", "append f", "sync f", "close f", "open_readable f", "size f",
                                      "read_at f", "rename g", "sync_directory ."}));
  EXPECT_EQ(faulty_.count(), 9u);
  EXPECT_EQ(faulty_.count(FileOperation::Append), 1u);
  EXPECT_EQ(faulty_.bytes_read(), 3u);
  faulty_.reset();
  EXPECT_EQ(faulty_.bytes_read(), 0u);
}

TEST_F(FaultyFileSystemTest, FailsTheNthOperationOnceWithTheTypeOfItsCode) {
  faulty_.fail_at(2, ErrorCode::PermissionDenied);
  EXPECT_FALSE(faulty_.exists("f"));
  EXPECT_THROW(static_cast<void>(faulty_.exists("f")), PermissionDeniedError);
  EXPECT_FALSE(faulty_.exists("f"));
}

TEST_F(FaultyFileSystemTest, FailsTheNthOfAKind) {
  faulty_.fail_at(FileOperation::Append, 2);
  const auto file = faulty_.create_writable("f", WriteMode::Exclusive);
  file->append("a");
  file->sync();
  EXPECT_THROW(file->append("b"), ResourceExhaustedError);
  file->append("c");
  EXPECT_EQ(disk_.contents("f"), "ac");
}

TEST_F(FaultyFileSystemTest, FailsForAProgramThatChangesItsDirectory) {
  disk_.write_file("a/f", "text");
  disk_.change_directory("/a");
  FileSystem& at_a = faulty_.at_current_directory();
  disk_.change_directory("/");
  EXPECT_EQ(read_file(at_a, "f"), "text");
  faulty_.fail_at(1);
  EXPECT_THROW(static_cast<void>(at_a.exists("f")), ResourceExhaustedError);
  EXPECT_EQ(faulty_.count(FileOperation::Read), 1U);
}

TEST_F(FaultyFileSystemTest, AKindMayFailForGood) {
  faulty_.fail_from(FileOperation::LockFile, 2, ErrorCode::Unimplemented);
  static_cast<void>(faulty_.lock_file("lock"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(static_cast<void>(faulty_.lock_file("lock")), UnimplementedError);
    EXPECT_FALSE(faulty_.exists("f"));
  }
}

TEST_F(FaultyFileSystemTest, AShortAppendLeavesTheFirstHalfOfItsBytesOnce) {
  const auto file = faulty_.create_writable("f", WriteMode::Exclusive);
  faulty_.set_short_appends(true);
  faulty_.fail_from(1);
  EXPECT_THROW(file->append("abcdef"), DataLossError);
  EXPECT_THROW(file->append("ghijkl"), DataLossError);
  EXPECT_EQ(disk_.contents("f"), "abc");
}

TEST_F(FaultyFileSystemTest, ADeadDiskStaysDeadUntilReset) {
  faulty_.fail_from(1);
  EXPECT_THROW(static_cast<void>(faulty_.exists("f")), DataLossError);
  EXPECT_THROW(static_cast<void>(faulty_.exists("f")), DataLossError);
  faulty_.reset();
  EXPECT_FALSE(faulty_.exists("f"));
  EXPECT_EQ(faulty_.count(), 1u);
}

TEST_F(FaultyFileSystemTest, CallsBackBeforeEachOperation) {
  std::string seen;
  faulty_.set_callback([&](FileOperation operation, const std::string& path) {
    seen += std::string(file_operation_name(operation)) + " " + path + (disk_.exists(path) ? " late" : " early");
  });
  static_cast<void>(faulty_.create_writable("f", WriteMode::Exclusive));
  EXPECT_EQ(seen, "create_writable f early");
}

TEST_F(FaultyFileSystemTest, EveryOperationHasItsName) {
  EXPECT_EQ(file_operation_name(FileOperation::OpenReadable), "open_readable");
  EXPECT_EQ(file_operation_name(FileOperation::Close), "close");
  EXPECT_EQ(file_operation_name(FileOperation::ModificationTime), "modification_time");
  EXPECT_EQ(file_operation_name(FileOperation::RemoveDirectory), "remove_directory");
  EXPECT_EQ(file_operation_name(FileOperation::LockFile), "lock_file");
  EXPECT_EQ(file_operation_name(FileOperation::Reserve), "reserve");
}

}  // namespace
}  // namespace trainhook
