// SPDX-License-Identifier: Apache-2.0
/// @file
/// What only the machine's own disk can show: the system's errors, and their way out.
#include <trainhook/io/posix_file_system.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "temporary_folder.hpp"

namespace trainhook {
namespace {

TEST(PosixFileSystem, MapsTheSystemsErrors) {
  const auto code_of = [](int number) { return detail::errno_meaning(number).code; };
  EXPECT_EQ(code_of(ENOENT), ErrorCode::NotFound);
  EXPECT_EQ(code_of(EACCES), ErrorCode::PermissionDenied);
  EXPECT_EQ(code_of(EROFS), ErrorCode::PermissionDenied);
  EXPECT_EQ(code_of(EEXIST), ErrorCode::AlreadyExists);
  for (int full : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EFBIG})
    EXPECT_EQ(code_of(full), ErrorCode::ResourceExhausted) << full;
  EXPECT_EQ(code_of(EIO), ErrorCode::DataLoss);
  EXPECT_EQ(code_of(9999), ErrorCode::Unknown);
}

TEST(PosixFileSystem, ErrorsNamePathOperationAndWayOut) {
  try {
    static_cast<void>(posix_file_system().open_readable("/no/such/file"));
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_STREQ(error.what(),
                 "cannot open /no/such/file: No such file or directory (check the path and that its directory exists)");
  }
}

TEST(PosixFileSystem, AFullDeviceIsReportedAndCutBack) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const std::unique_ptr<WritableFile> file = posix_file_system().create_writable("/dev/full", WriteMode::Truncate);
  EXPECT_THROW(file->append("x"), ResourceExhaustedError);
  EXPECT_EQ(file->size(), 0u);
  EXPECT_THROW(file->append("x"), Error);
}

TEST(PosixFileSystem, ReservedSpaceIsThereButNotInTheFile) {
  const support::TemporaryFolder folder;
  const std::string path = folder.file("reserved");
  const auto bytes_on_disk = [&] {
    struct ::stat status = {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_blocks * 512;
  };
  const std::unique_ptr<WritableFile> file = posix_file_system().create_writable(path, WriteMode::Exclusive);
  file->reserve(1 << 20);
  EXPECT_EQ(posix_file_system().file_size(path), 0U);
  if (bytes_on_disk() == 0) GTEST_SKIP() << "this file system reserves nothing";
  EXPECT_GE(bytes_on_disk(), 1 << 20);
  EXPECT_THROW(file->reserve(std::uint64_t{1} << 62), ResourceExhaustedError);
  file->append("abc");
  file->sync();
  EXPECT_EQ(posix_file_system().file_size(path), 3U);
  EXPECT_LT(bytes_on_disk(), 1 << 20) << "what was not needed is given back";
}

TEST(PosixFileSystem, CurrentDirectoryNeedsNoMaking) {
  EXPECT_NO_THROW(posix_file_system().make_directories("."));
  EXPECT_NO_THROW(posix_file_system().make_directories(""));
  EXPECT_NO_THROW(posix_file_system().make_directories("/"));
  EXPECT_NO_THROW(posix_file_system().sync_directory("."));
}

}  // namespace
}  // namespace trainhook
