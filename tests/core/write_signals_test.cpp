// SPDX-License-Identifier: Apache-2.0
/// @file
/// A write that fails raises no signal, and a signal of somebody else still comes.
#include <trainhook/core/write_signals.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/process_faults.hpp>

namespace trainhook {
namespace {

using detail::NoWriteSignals;

volatile std::sig_atomic_t came = 0;

/// Counts a signal while it exists.
class Counted {
 public:
  explicit Counted(int signal) : signal_(signal) {
    came = 0;
    struct sigaction counting {};
    counting.sa_handler = [](int) { came = came + 1; };
    sigaction(signal, &counting, &before_);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { sigaction(signal_, &before_, nullptr); }

 private:
  int signal_;
  struct sigaction before_ {};
};

/// The error of a write into a pipe that nobody reads.
int write_into_broken_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return -1;
  ::close(ends[0]);
  const int number = ::write(ends[1], "x", 1) < 0 ? errno : 0;
  ::close(ends[1]);
  return number;
}

TEST(NoWriteSignals, ABrokenPipeIsOnlyAnError) {
  const Counted counted(SIGPIPE);
  {
    const NoWriteSignals no_signals;
    EXPECT_EQ(write_into_broken_pipe(), EPIPE);
  }
  EXPECT_EQ(came, 0);
  EXPECT_EQ(write_into_broken_pipe(), EPIPE);
  EXPECT_EQ(came, 1) << "the program's own writes are as they were";
}

TEST(NoWriteSignals, ATooLargeFileIsOnlyAnError) {
  const Counted counted(SIGXFSZ);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  const testing::FileSizeLimit limit(0);
  const auto write_one = [&] { return ::write(fileno(file.get()), "x", 1) < 0 ? errno : 0; };
  {
    const NoWriteSignals no_signals;
    EXPECT_EQ(write_one(), EFBIG);
  }
  EXPECT_EQ(came, 0);
  EXPECT_EQ(write_one(), EFBIG);
  EXPECT_EQ(came, 1);
}

TEST(NoWriteSignals, ASignalThatWaitedAlreadyStillComes) {
  const Counted counted(SIGPIPE);
  sigset_t pipe;
  sigset_t before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  std::raise(SIGPIPE);
  {
    const NoWriteSignals no_signals;
    EXPECT_EQ(write_into_broken_pipe(), EPIPE);
  }
  EXPECT_EQ(came, 0) << "it is blocked as before";
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(came, 1);
}

TEST(NoWriteSignals, ASignalOfAnotherProcessStillComes) {
  const Counted counted(SIGPIPE);
  {
    const NoWriteSignals no_signals;
    const pid_t child = ::fork();
    if (child == 0) {
      ::kill(::getppid(), SIGPIPE);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(came, 1);
}

TEST(NoWriteSignals, KeepsTheErrorOfTheWrite) {
  const Counted counted(SIGPIPE);
  errno = 0;
  {
    const NoWriteSignals no_signals;
    static_cast<void>(write_into_broken_pipe());
    errno = ENOSPC;
  }
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace trainhook
