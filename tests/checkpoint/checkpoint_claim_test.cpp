// SPDX-License-Identifier: Apache-2.0
/// @file
/// Who may save into a directory, and what is done to one before the first save.
#include <trainhook/checkpoint/checkpoint_claim.hpp>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <temporary_folder.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using detail::checkpoint_claims;
using detail::CheckpointClaim;
using detail::claim_checkpoints;

CheckpointClaim claim_of(const std::string& directory) {
  return {.directory = directory, .basename = "model.ckpt", .hook = "CheckpointSaverHook"};
}

TEST(CheckpointClaim, OneSessionAtATimeSavesIntoADirectory) {
  testing::MemoryFileSystem disk;
  Graph here;
  Graph there;
  auto first = claim_checkpoints(here, disk, claim_of("run"));
  try {
    auto second = claim_checkpoints(there, disk, claim_of("run"));
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_NE(std::string(error.what()).find("run/.checkpoint_lock"), std::string::npos) << error.what();
  }
  EXPECT_NE(claim_checkpoints(there, disk, claim_of("elsewhere")), nullptr);
  first.reset();
  EXPECT_NE(claim_checkpoints(there, disk, claim_of("run")), nullptr);
}

TEST(CheckpointClaim, TheRefusalNamesTheOptionThatSwitchesTheLockOff) {
  testing::LogLines log;
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem no_locks(disk);
  no_locks.set_callback([](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::LockFile) throw UnimplementedError("cannot lock {}: no locks here", path);
  });
  for (FileSystem* system : {static_cast<FileSystem*>(&disk), static_cast<FileSystem*>(&no_locks)}) {
    Graph here;
    Graph there;
    const auto first = claim_checkpoints(here, *system, claim_of("run"));
    EXPECT_EQ(disk.exists("run/.checkpoint_lease"), system == &no_locks);
    try {
      const auto second = claim_checkpoints(there, *system, claim_of("run"));
      FAIL();
    } catch (const FailedPreconditionError& error) {
      EXPECT_NE(std::string(error.what()).find("directory_lock = DirectoryLock::None"), std::string::npos)
          << error.what();
    }
    CheckpointClaim unlocked = claim_of("run");
    unlocked.directory_lock = DirectoryLock::None;
    EXPECT_EQ(claim_checkpoints(there, *system, std::move(unlocked))->hold, nullptr);
  }
  EXPECT_EQ(log.count("I cannot lock run/.checkpoint_lock: no locks here; a lease in 'run' is used instead of a lock"),
            2U);
}

TEST(CheckpointClaim, ALockFileThatWasRemovedIsMadeAgainWithAWarning) {
  testing::LogLines log;
  const support::TemporaryFolder folder;
  FileSystem& disk = posix_file_system();
  Graph here;
  Graph there;
  const auto claim = claim_checkpoints(here, disk, claim_of(folder.path()));
  disk.remove_file(folder.file(".checkpoint_lock"));
  claim->hold->confirm();
  claim->hold->confirm();
  EXPECT_EQ(log.count("was removed and is recreated"), 1U);
  EXPECT_THROW(static_cast<void>(claim_checkpoints(there, disk, claim_of(folder.path()))), FailedPreconditionError);
  disk.remove_file(folder.file(".checkpoint_lock"));
  const auto other = claim_checkpoints(there, disk, claim_of(folder.path()));
  EXPECT_THROW(claim->hold->confirm(), FailedPreconditionError) << "another has it now";
}

TEST(CheckpointClaim, RemovesWhatAKilledWriterHasLeftAndNothingElse) {
  testing::MemoryFileSystem disk;
  disk.make_directories("run");
  for (const char* name : {"model.ckpt-1.index", "model.ckpt-2.index.tempstate17", "checkpoint.tmp0123456789abcdef",
                           "notes.tmp", "a.tempstate"}) {
    write_file_atomically(disk, join_path("run", name), "text");
  }
  Graph graph;
  const auto claim = claim_checkpoints(graph, disk, claim_of("run"));
  EXPECT_EQ(disk.list_directory("run"),
            (std::vector<std::string>{".checkpoint_lock", "a.tempstate", "model.ckpt-1.index", "notes.tmp"}));
}

TEST(CheckpointClaim, FinishesWhatAKilledWriterHadBegunAndSaysSo) {
  testing::MemoryFileSystem disk;
  for (const char* path : {"run/m-1.data-00000-of-00001", "run/m-1.index.tempstate5", "run/m-2.data-00000-of-00001"})
    disk.write_file(path, "");
  testing::LogLines log;
  Graph graph;
  const auto claim = claim_checkpoints(graph, disk, claim_of("run"));
  EXPECT_EQ(disk.list_directory("run"), (std::vector<std::string>{".checkpoint_lock", "m-2.data-00000-of-00001"}));
  EXPECT_EQ(log.count("I Removed what was left of run/m-1"), 1U);
  EXPECT_EQ(log.count("the first run/m-2"), 1U) << "data that may be a copy in progress is left alone, and said";
}

}  // namespace
}  // namespace trainhook
