// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which processes are alive, as far as that can be seen from here.
#include <trainhook/io/process_identity.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook {
namespace {

using detail::is_alive;
using detail::ProcessIdentity;
using detail::this_process;

TEST(ProcessIdentity, ThisProcessIsAliveAndHasAllItsParts) {
  const ProcessIdentity here = this_process();
  EXPECT_EQ(here.pid, ::getpid());
  EXPECT_EQ(here.host, detail::host_name());
  EXPECT_FALSE(here.boot.empty());
  EXPECT_FALSE(here.start.empty());
  EXPECT_EQ(here, this_process());
  EXPECT_EQ(is_alive(here), true);
}

TEST(ProcessIdentity, AProcessOfTheSameNumberThatStartedAtAnotherTimeIsAnother) {
  ProcessIdentity earlier = this_process();
  earlier.start += "0";
  EXPECT_EQ(is_alive(earlier), false);
  earlier.start.clear();
  EXPECT_EQ(is_alive(earlier), true) << "not known: rather alive than dead";
}

TEST(ProcessIdentity, AProcessThatHasEndedIsDeadAlsoBeforeItsParentKnows) {
  ProcessIdentity child = this_process();
  child.pid = ::fork();
  child.start.clear();
  if (child.pid == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(is_alive(child), false);
  ::waitpid(static_cast<pid_t>(child.pid), nullptr, 0);
  EXPECT_EQ(is_alive(child), false);
}

TEST(ProcessIdentity, TheProgramHasADigest) {
  EXPECT_NE(detail::program_digest(), 0U);
  EXPECT_EQ(detail::program_digest(), crc32c::value(read_file(posix_file_system(), "/proc/self/exe")));
}

TEST(ProcessIdentity, NothingIsKnownOfOtherMachinesAndContainersAndEarlierRunsOfThisMachine) {
  ProcessIdentity elsewhere = this_process();
  elsewhere.host = "elsewhere";
  EXPECT_EQ(is_alive(elsewhere), std::nullopt);
  ProcessIdentity before = this_process();
  before.boot = "another";
  EXPECT_EQ(is_alive(before), std::nullopt);
  ProcessIdentity nobody = this_process();
  nobody.pid = -1;
  EXPECT_EQ(is_alive(nobody), std::nullopt);
}

}  // namespace
}  // namespace trainhook
