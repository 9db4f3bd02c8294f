// SPDX-License-Identifier: Apache-2.0
/// @file
/// The faults of processes are what they say, and are taken back; children that run as on an unusual system.
#include <trainhook/testing/process_faults.hpp>

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <temporary_folder.hpp>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/log_lines.hpp>

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

namespace trainhook::testing {
namespace {

/// Trains five steps, with everything that a session writes by itself and rows. Returns the newest checkpoint's name.
std::string train_in(const std::string& directory) {
  const LogLines quiet;
  std::vector<float> weights(std::size_t{3} << 20);  // more than is handed to the disk early
  LoopSession loop;
  loop.variable("weights", weights);
  const Output first = loop.value("first", [&] { return weights[0]; });
  summary::scalar("first", first);
  auto session = monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = 2,
             .save_summaries_steps = 1,
             .hooks = {StopAtStepHook({.last_step = 5}),
                       CsvLoggerHook(first, {.path = join_path(directory, "rows.csv"), .every_n_steps = 1})}});
  while (!session.should_stop()) session.run([&] { weights[0] += 1; });
  session.close();
  return std::string(base_name(latest_checkpoint(posix_file_system(), directory).value_or("none")));
}

TEST(UnusualSystems, ATrainingRunsToItsEndOnEach) {
  for (const UnusualSystem& system : kUnusualSystems) {
    const support::TemporaryFolder folder;
    const std::optional<std::string> newest =
        run_refused({&system.refused, 1}, [&] { return train_in(folder.file("run")); });
    if (!newest) GTEST_SKIP() << "this system cannot refuse calls";
    EXPECT_EQ(*newest, "model.ckpt-5") << system.name;
  }
}

TEST(UnusualSystems, ATrainingRunsBelowADirectoryThatMayNotBeRead) {
  namespace fs = std::filesystem;
  const support::TemporaryFolder folder;
  const std::string parent = folder.file("parent");
  fs::create_directory(parent);
  const bool is_root = ::geteuid() == 0;
  ASSERT_TRUE(!is_root || ::chown(parent.c_str(), kNobody, kNobody) == 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0711), 0);
  ASSERT_EQ(::chmod(parent.c_str(), 0300), 0);
  const std::optional<std::string> newest = run_unprivileged([&] { return train_in(parent + "/run"); });
  ASSERT_EQ(::chmod(parent.c_str(), 0700), 0);
  if (!newest) GTEST_SKIP() << "root cannot be given up";
  EXPECT_EQ(*newest, "model.ckpt-5");
}

TEST(UnusualSystems, ACallThatIsRefusedFailsInTheChildAlone) {
  const RefusedCall refused{SYS_getppid, EXDEV};
  const auto ask = [] { return std::to_string(::syscall(SYS_getppid) == -1 ? errno : 0); };
  const std::optional<std::string> said = run_refused({&refused, 1}, ask);
  if (!said) GTEST_SKIP() << "this system cannot refuse calls";
  EXPECT_EQ(*said, std::to_string(EXDEV));
  EXPECT_EQ(ask(), "0");
}

TEST(UnusualSystems, OnlyCallsWithAFlagMayBeRefused) {
  const RefusedCall refused{SYS_openat, EACCES, O_DIRECTORY};
  const std::optional<std::string> said = run_refused({&refused, 1}, [] {
    const int file = ::open("/dev/null", O_RDONLY);
    const int directory = ::open("/", O_RDONLY | O_DIRECTORY);
    return std::string(file >= 0 ? "file " : "") + (directory >= 0 ? "directory" : "");
  });
  if (!said) GTEST_SKIP() << "this system cannot refuse calls";
  EXPECT_EQ(*said, "file ");
}

TEST(UnusualSystems, AnErrorAndASignalAreSaid) {
  EXPECT_EQ(run_refused({}, []() -> std::string { throw NotFoundError("it"); }).value_or("error: it"), "error: it");
  EXPECT_EQ(run_unprivileged([]() -> std::string {
              ::raise(SIGKILL);
              return "";
            }).value_or("error: ended by signal 9"),
            "error: ended by signal 9");
}

TEST(UnusualSystems, AnUnprivilegedChildIsNotRoot) {
  const std::optional<std::string> said =
      run_unprivileged([] { return std::string(::geteuid() == 0 ? "root" : "no"); });
  if (!said) GTEST_SKIP() << "root cannot be given up";
  EXPECT_EQ(*said, "no");
}

}  // namespace
}  // namespace trainhook::testing
