// SPDX-License-Identifier: Apache-2.0
/// @file
/// The faults of processes are what they say, and are taken back.
#include <trainhook/testing/process_faults.hpp>

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>

#include <temporary_folder.hpp>

namespace trainhook {
namespace {

using testing::run_in_forked_child;

TEST(NoThreads, LetsNoThreadStartWhileItExists) {
  {
    const testing::NoThreads no_threads;
    if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
    EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  }
  EXPECT_NO_THROW(std::thread([] {}).join());
}

TEST(FileSizeLimit, LetsNoFileGrowBeyondIt) {
  const support::TemporaryFolder folder;
  const auto write = [&](std::size_t bytes) {
    posix_file_system().create_writable(folder.file("f"), WriteMode::Truncate)->append(std::string(bytes, 'x'));
  };
  {
    const testing::FileSizeLimit limit(100);
    EXPECT_NO_THROW(write(100));
    EXPECT_THROW(write(101), ResourceExhaustedError);
  }
  EXPECT_NO_THROW(write(101));
}

TEST(FullStandardError, TakesNothingMoreAndComesBack) {
  struct stat before {
  }, after{};
  ::fstat(STDERR_FILENO, &before);
  {
    const testing::FullStandardError full;
    ::pollfd writable{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    EXPECT_EQ(::poll(&writable, 1, 0), 0) << "a write would not wait";
  }
  ::fstat(STDERR_FILENO, &after);
  EXPECT_EQ(after.st_ino, before.st_ino);
}

TEST(RunInForkedChild, TellsHowItEnded) {
  EXPECT_EQ(run_in_forked_child([] {}), 0);
  const int thrown = run_in_forked_child([] { throw std::runtime_error("on purpose"); });
  EXPECT_TRUE(WIFEXITED(thrown));
  EXPECT_EQ(WEXITSTATUS(thrown), 1);
  const int killed = run_in_forked_child([] { std::raise(SIGKILL); });
  EXPECT_TRUE(WIFSIGNALED(killed));
  EXPECT_EQ(WTERMSIG(killed), SIGKILL);
}

}  // namespace
}  // namespace trainhook
