// SPDX-License-Identifier: Apache-2.0
/// @file
/// Directories that cannot be synced, on systems that refuse the calls.
#include <trainhook/io/posix_file.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <temporary_folder.hpp>

#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/process_faults.hpp>

namespace trainhook::detail {
namespace {

using testing::RefusedCall;

/// The log lines of a directory that is synced twice.
std::optional<std::string> synced_twice(const RefusedCall& refused) {
  const support::TemporaryFolder folder;
  return testing::run_refused({&refused, 1}, [&] {
    const testing::LogLines log;
    for (int i = 0; i < 2; ++i) sync_posix_directory({folder.path(), folder.path()});
    return fmt::format("{} warnings", log.count("W cannot sync directory " + folder.path()));
  });
}

TEST(PosixFile, ADirectoryThatItsFileSystemCannotSyncIsSaidOnce) {
  for (const int number : {EINVAL, ENOTSUP, EACCES, EPERM, ENOSYS}) {
    const std::optional<std::string> said = synced_twice({SYS_fsync, number});
    if (!said) GTEST_SKIP() << "this system cannot refuse calls";
    EXPECT_EQ(*said, "1 warnings") << number;
  }
}

TEST(PosixFile, SoIsOneThatMayNotBeRead) {
  const std::optional<std::string> said = synced_twice({SYS_openat, EACCES, O_DIRECTORY});
  if (!said) GTEST_SKIP() << "this system cannot refuse calls";
  EXPECT_EQ(*said, "1 warnings");
}

TEST(PosixFile, AnErrorOfItsDeviceIsOne) {
  const std::optional<std::string> said = synced_twice({SYS_fsync, EIO});
  if (!said) GTEST_SKIP() << "this system cannot refuse calls";
  EXPECT_TRUE(said->starts_with("error: cannot sync directory ")) << *said;
}

TEST(PosixFile, HasNotTheNumberOfAStandardStreamThatIsClosed) {
  const support::TemporaryFolder folder;
  const std::optional<std::string> said = testing::run_refused({}, [&] {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
    const auto file = create_posix_file({"file", folder.file("file")}, WriteMode::Exclusive);
    const auto read = open_posix_file({"file", folder.file("file")});
    const FileDescriptor descriptor = open_descriptor("open", {"file", folder.file("file")}, O_RDONLY);
    int taken = 0;
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) taken += ::fcntl(stream, F_GETFD) != -1;
    return fmt::format("{}, {} taken", descriptor.number() > STDERR_FILENO, taken);
  });
  if (!said) GTEST_SKIP() << "this system cannot refuse calls";
  EXPECT_EQ(*said, "true, 0 taken");
}

TEST(PosixFile, TheSyncOfAFileIsNeverForgiven) {
  const support::TemporaryFolder folder;
  const RefusedCall refused{SYS_fsync, EINVAL};
  const std::optional<std::string> said = testing::run_refused({&refused, 1}, [&] {
    create_posix_file({"file", folder.file("file")}, WriteMode::Exclusive)->sync();
    return std::string();
  });
  if (!said) GTEST_SKIP() << "this system cannot refuse calls";
  EXPECT_TRUE(said->starts_with("error: cannot sync file: ")) << *said;
}

TEST(PosixFile, AStaleDirectoryIsNotSyncedAndThatIsAnError) {
#if defined(__linux__)
  const RefusedCall refused{SYS_fsync, ESTALE};
  const std::optional<std::string> said = testing::run_refused({&refused, 1}, [] {
    sync_posix_directory({"/", "/"});
    return std::string("synced");
  });
  if (!said) GTEST_SKIP() << "this system cannot refuse calls";
  EXPECT_TRUE(said->starts_with("error: ")) << *said;
#endif
}

}  // namespace
}  // namespace trainhook::detail
