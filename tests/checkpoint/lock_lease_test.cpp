// SPDX-License-Identifier: Apache-2.0
/// @file
/// LockLease: one holder at a time on a file system without locks, even if holders die or sleep, or the file is
/// removed.
#include <trainhook/checkpoint/lock_lease.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using detail::LockHolder;
using detail::LockLease;
using detail::parse_holder;
using detail::ProcessIdentity;
using detail::this_process;
using testing::FileOperation;

constexpr const char* kPath = "run/lease";

/// For `confirm`: nobody else has saved into the directory.
constexpr auto untouched = [] {};

std::string lease_text(const LockHolder& holder) { return detail::holder_text("lease", holder); }

LockHolder holder(ProcessIdentity process) { return {.process = std::move(process), .id = "00000000000000aa"}; }

LockHolder elsewhere() { return holder({.host = "elsewhere", .boot = "b", .pid = 17, .start = "1"}); }

struct Shared {
  Shared() { disk.make_directories("run"); }

  /// A lease of another process, refreshed at this time of the file system.
  void put(const std::string& text, double time) {
    disk.set_time(time);
    disk.write_file(kPath, text);
  }
  [[nodiscard]] std::string id() { return parse_holder(disk.contents(kPath)).value().id; }

  /// Why the lease cannot be taken, or nothing.
  [[nodiscard]] std::string refusal() {
    try {
      const LockLease lease(disk, kPath);
    } catch (const FailedPreconditionError& error) { return error.what(); }
    return "taken";
  }

  testing::LogLines log;
  testing::MemoryFileSystem disk;
};

TEST(LockLease, HasOneHolderAndIsFreeAfterwards) {
  Shared shared;
  auto first = std::make_unique<LockLease>(shared.disk, kPath);
  const std::string refusal = shared.refusal();
  EXPECT_NE(refusal.find(fmt::format("process {} on {}", ::getpid(), this_process().host)), std::string::npos)
      << refusal;
  EXPECT_NE(refusal.find(kPath), std::string::npos) << refusal;
  shared.disk.set_time(1e6);
  EXPECT_NE(shared.refusal(), "taken") << "a process that can be seen is not asked for its stamp";
  first->confirm(untouched);
  first.reset();
  EXPECT_FALSE(shared.disk.exists(kPath));
  EXPECT_EQ(shared.disk.files(), std::vector<std::string>{});
  EXPECT_EQ(shared.refusal(), "taken");
}

TEST(LockLease, IsTakenOverAtOnceFromAProcessOfThisMachineThatHasEnded) {
  Shared shared;
  ProcessIdentity dead = this_process();
  dead.start += "0";
  shared.put(lease_text(holder(dead)), 1000);
  const LockLease lease(shared.disk, kPath);
  EXPECT_NE(shared.id(), holder(dead).id);
  EXPECT_EQ(shared.log.lines, std::vector<std::string>{fmt::format(
                                  "W The lease run/lease is taken over from process {} on {}: that process has ended.",
                                  dead.pid, dead.host)});
  EXPECT_EQ(shared.disk.files(), std::vector<std::string>{kPath});
}

TEST(LockLease, OfAnotherMachineHoldsForThreeMinutesAfterItsLastRefresh) {
  Shared shared;
  shared.put(lease_text(elsewhere()), 1000);
  shared.disk.set_time(1179);
  const std::string refusal = shared.refusal();
  EXPECT_NE(refusal.find("process 17 on elsewhere has the lease run/lease and refreshed it 179 s ago"),
            std::string::npos)
      << refusal;
  EXPECT_EQ(shared.id(), elsewhere().id);
  EXPECT_EQ(shared.disk.files(), std::vector<std::string>{kPath}) << "nothing else is left";
  shared.disk.set_time(1180);
  const LockLease lease(shared.disk, kPath);
  EXPECT_EQ(shared.log.lines,
            std::vector<std::string>{"W The lease run/lease is taken over from process 17 on elsewhere: it has not "
                                     "refreshed it for 180 s."});
}

TEST(LockLease, AClockThatIsBehindTakesNothingOver) {
  Shared shared;
  shared.put(lease_text(elsewhere()), 1000);
  shared.disk.set_time(10);
  EXPECT_NE(shared.refusal().find("refreshed it 0 s ago"), std::string::npos);
}

TEST(LockLease, AFileThatIsNotYetWrittenIsHeldAndStaleLater) {
  for (const char* text : {"", "trainhook lease 1\nhost els"}) {
    Shared shared;
    shared.put(text, 1000);
    EXPECT_NE(shared.refusal().find("a process that has not written its name yet"), std::string::npos);
    shared.disk.set_time(1180);
    EXPECT_EQ(shared.refusal(), "taken");
  }
}

TEST(LockLease, ARefreshMovesTheStampAndKeepsTheHolder) {
  Shared shared;
  shared.disk.set_time(1000);
  LockLease lease(shared.disk, kPath);
  const std::string id = shared.id();
  shared.disk.set_time(1100);
  lease.refresh();
  EXPECT_EQ(shared.disk.modification_time(kPath), 1100);
  shared.disk.set_time(1200);
  lease.confirm(untouched);
  EXPECT_EQ(shared.disk.modification_time(kPath), 1200);
  EXPECT_EQ(shared.id(), id);
  EXPECT_TRUE(shared.log.lines.empty());
}

TEST(LockLease, AHolderThatWasSilentForTooLongLearnsThatAnotherHasIt) {
  Shared shared;
  LockLease lease(shared.disk, kPath);
  const std::string theirs = lease_text(elsewhere());
  shared.disk.write_file(kPath, theirs);  // taken over
  lease.refresh();
  EXPECT_EQ(shared.disk.contents(kPath), theirs) << "their file is not touched";
  try {
    lease.confirm(untouched);
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_NE(std::string(error.what()).find("the lease run/lease now belongs to process 17 on elsewhere"),
              std::string::npos)
        << error.what();
  }
}

TEST(LockLease, DoesNotRemoveTheLeaseOfAnother) {
  Shared shared;
  {
    const LockLease lease(shared.disk, kPath);
    shared.disk.write_file(kPath, lease_text(elsewhere()));
  }
  EXPECT_EQ(shared.id(), elsewhere().id);
}

TEST(LockLease, IsMadeAgainWithAWarningIfItsFileWasRemoved) {
  Shared shared;
  LockLease lease(shared.disk, kPath);
  const std::string id = shared.id();
  shared.disk.remove_file(kPath);
  lease.confirm(untouched);
  EXPECT_EQ(shared.id(), id);
  EXPECT_EQ(shared.log.count("W the lease run/lease was removed and is recreated"), 1U);
  lease.confirm(untouched);
  EXPECT_EQ(shared.log.lines.size(), 1U);
}

TEST(LockLease, IsNotMadeAgainIfSomebodyElseHasUsedTheDirectory) {
  Shared shared;
  LockLease lease(shared.disk, kPath);
  shared.disk.remove_file(kPath);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(lease.confirm([] { throw FailedPreconditionError("another session has trained there"); }),
                 FailedPreconditionError);
    EXPECT_EQ(shared.disk.files(), std::vector<std::string>{});
  }
}

TEST(LockLease, SaysThatItIsEndingAtTheNextRefreshesToo) {
  Shared shared;
  testing::FaultyFileSystem disk(shared.disk);
  LockLease lease(disk, kPath);
  lease.refresh();
  EXPECT_FALSE(parse_holder(shared.disk.contents(kPath))->is_ending);
  lease.announce_end();
  lease.announce_end();
  const std::string text = shared.disk.contents(kPath);
  EXPECT_TRUE(parse_holder(text)->is_ending);
  lease.confirm(untouched);
  EXPECT_TRUE(parse_holder(shared.disk.contents(kPath))->is_ending);
  disk.fail_at(FileOperation::Append, 1);  // the next refresh writes a new file
  lease.refresh();
  lease.refresh();
  EXPECT_EQ(shared.disk.contents(kPath), text.substr(0, text.find('\n', text.find("id ")) + 1) + "ending\n");
}

TEST(LockLease, OfTwoThatTakeItOverOneLearnsSo) {
  Shared shared;
  shared.put(lease_text(elsewhere()), 1000);
  shared.disk.set_time(2000);
  testing::FaultyFileSystem slow(shared.disk);
  std::unique_ptr<LockLease> faster;
  slow.set_callback([&](FileOperation operation, const std::string&) {
    if (operation == FileOperation::ModificationTime && faster == nullptr)
      faster = std::make_unique<LockLease>(shared.disk, kPath);
  });
  EXPECT_THROW(LockLease(slow, kPath), FailedPreconditionError);
  ASSERT_NE(faster, nullptr);
  EXPECT_NO_THROW(faster->confirm(untouched));
}

TEST(LockLease, OfTwoThatTakeItOverInTheSameMomentTheFirstLearnsSoBeforeItsFirstCommit) {
  Shared shared;
  shared.put(lease_text(elsewhere()), 1000);
  shared.disk.set_time(2000);
  testing::FaultyFileSystem slow(shared.disk);
  std::unique_ptr<LockLease> faster;
  slow.set_callback([&](FileOperation operation, const std::string&) {
    if (operation == FileOperation::Rename && faster == nullptr)
      faster = std::make_unique<LockLease>(shared.disk, kPath);
  });
  LockLease slower(slow, kPath);
  EXPECT_NO_THROW(slower.confirm(untouched));
  EXPECT_THROW(faster->confirm(untouched), FailedPreconditionError);
}

TEST(LockLease, IsTakenIfItsHolderLetsItGoMeanwhile) {
  Shared shared;
  shared.put(lease_text(elsewhere()), 1000);
  testing::FaultyFileSystem slow(shared.disk);
  slow.set_callback([&](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::ModificationTime && path == kPath && shared.disk.exists(kPath))
      shared.disk.remove_file(kPath);
  });
  LockLease lease(slow, kPath);
  EXPECT_NO_THROW(lease.confirm(untouched));
  EXPECT_EQ(shared.disk.files(), std::vector<std::string>{kPath});
}

TEST(LockLease, ARefreshThatFailsIsSaidOnceAndTriedAgain) {
  Shared shared;
  testing::FaultyFileSystem disk(shared.disk);
  shared.disk.set_time(1000);
  LockLease lease(disk, kPath);
  const std::string id = shared.id();
  shared.disk.set_time(1060);
  for (int i = 0; i < 2; ++i) {
    disk.fail_at(FileOperation::Append, 1);
    lease.refresh();
  }
  EXPECT_EQ(shared.log.count("W the lease run/lease could not be refreshed; another machine may take it over in 180 s"),
            1U);
  EXPECT_EQ(shared.disk.modification_time(kPath), 1000);
  lease.refresh();
  EXPECT_EQ(shared.disk.modification_time(kPath), 1060);
  EXPECT_EQ(shared.id(), id);
  EXPECT_NO_THROW(lease.confirm(untouched));
}

TEST(LockLease, WhateverOperationFailsNoTwoHaveItAndNothingIsLeft) {
  for (std::uint64_t n = 1; n < 12; ++n) {
    Shared shared;
    shared.put(lease_text(elsewhere()), 1000);
    shared.disk.set_time(2000);
    testing::FaultyFileSystem disk(shared.disk);
    disk.fail_at(n, ErrorCode::DataLoss);
    bool taken = false;
    try {
      LockLease lease(disk, kPath);
      taken = true;
      EXPECT_NE(shared.id(), elsewhere().id) << n;
      disk.reset();
      EXPECT_NO_THROW(lease.confirm(untouched)) << n;
    } catch (const DataLossError&) {
      EXPECT_FALSE(taken);
      EXPECT_EQ(shared.id(), elsewhere().id) << n;
    }
    EXPECT_LE(shared.disk.files().size(), taken ? 0U : 1U) << n;
  }
}

TEST(LockLease, AForkedChildNeitherHasNorRemovesIt) {
  Shared shared;
  auto lease = std::make_unique<LockLease>(shared.disk, kPath);
  const pid_t child = ::fork();
  if (child == 0) {
    bool refused = false;
    try {
      lease->confirm(untouched);
    } catch (const FailedPreconditionError&) { refused = true; }
    lease.reset();
    ::_exit(refused && shared.disk.exists(kPath) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NO_THROW(lease->confirm(untouched));
}

}  // namespace
}  // namespace trainhook
