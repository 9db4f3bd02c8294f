// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a directory must allow, on the machine's disk and on one that refuses it.
#include <trainhook/io/directory_checks.hpp>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <expect_error.hpp>
#include <temporary_folder.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

using testing::FaultyFileSystem;
using testing::FileOperation;

TEST(DirectoryChecks, ANameThatIsTooLongIsRefusedAlsoInADirectoryThatIsNotThereYet) {
  const support::TemporaryFolder folder;
  const std::string longest(255, 'm');
  for (const std::string directory : {"", "no/such/"}) {
    EXPECT_NO_THROW(expect_name_fits(posix_file_system(), folder.file(directory + longest), "the name"));
    testing::expect_error({"the name is too long", "256 characters", "give a shorter one"}, [&] {
      expect_name_fits(posix_file_system(), folder.file(directory + longest + "m"), "the name");
    });
  }
  testing::expect_error({"the name"},
                        [&] { expect_name_fits(posix_file_system(), folder.file(longest + "m/file"), "the name"); });
}

TEST(DirectoryChecks, ADirectoryThatCannotBeIsNoNameThatIsTooLong) {
  const support::TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder.file("loop"));
  testing::expect_error({"the name names a directory that cannot be", "loop"},
                        [&] { expect_name_fits(posix_file_system(), folder.file("loop/file"), "the name"); });
}

TEST(DirectoryChecks, OtherFailuresAreLeftToWhoeverWrites) {
  testing::MemoryFileSystem disk;
  FaultyFileSystem faulty(disk);
  faulty.fail_from(1, ErrorCode::DataLoss);
  EXPECT_NO_THROW(expect_name_fits(faulty, "run/name", "the name"));
  EXPECT_NO_THROW(expect_replaces_files(faulty, "run"));
}

TEST(DirectoryChecks, ADirectoryInWhichNoFileReplacesAnotherIsRefused) {
  testing::MemoryFileSystem disk;
  disk.make_directories("run");
  EXPECT_NO_THROW(expect_replaces_files(disk, "run"));
  EXPECT_TRUE(disk.files().empty());
  FaultyFileSystem faulty(disk);
  for (const ErrorCode refusal : {ErrorCode::PermissionDenied, ErrorCode::AlreadyExists, ErrorCode::Unimplemented}) {
    faulty.fail_from(FileOperation::Rename, 1, refusal);
    testing::expect_error<FailedPreconditionError>({"'run'", "renamed over another one", "another file system"},
                                                   [&] { expect_replaces_files(faulty, "run"); });
    EXPECT_TRUE(disk.files().empty());
  }
  faulty.fail_from(FileOperation::Rename, 1, ErrorCode::ResourceExhausted);
  EXPECT_NO_THROW(expect_replaces_files(faulty, "run")) << "a full disk may have room again";
  EXPECT_TRUE(disk.files().empty());
}

}  // namespace
}  // namespace trainhook::detail
