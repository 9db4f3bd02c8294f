// SPDX-License-Identifier: Apache-2.0
/// @file
/// Who may save into a directory, and what is done to one before the first save.
#include <trainhook/checkpoint/checkpoint_claim.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <temporary_folder.hpp>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using detail::CheckpointClaim;
using detail::claim_checkpoints;

CheckpointClaim claim_of(const std::string& directory) {
  return {.directory = directory, .basename = "model.ckpt", .hook = "CheckpointSaverHook"};
}

/// What a session has of which a directory is claimed.
class Claimer {
 public:
  explicit Claimer(FileSystem& disk) : disk_(&disk) {}

  [[nodiscard]] std::shared_ptr<CheckpointClaim> claim(CheckpointClaim wanted) {
    return claim_checkpoints(graph_, services, std::move(wanted));
  }
  [[nodiscard]] std::shared_ptr<CheckpointClaim> claim(const std::string& directory) {
    return claim(claim_of(directory));
  }

 private:
  FileSystem* disk_;
  testing::ManualClock clock_;
  FileWriterCache writers_{{.file_system = disk_, .clock = &clock_}};
  Graph graph_;

 public:
  detail::SessionServices services{*disk_, clock_, writers_};
};

TEST(CheckpointClaim, OneSessionAtATimeSavesIntoADirectory) {
  testing::MemoryFileSystem disk;
  Claimer here(disk);
  Claimer there(disk);
  auto first = here.claim("run");
  try {
    auto second = there.claim("run");
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_NE(std::string(error.what()).find("run/.checkpoint_lock"), std::string::npos) << error.what();
  }
  EXPECT_NE(there.claim("elsewhere"), nullptr);
  first.reset();
  EXPECT_NE(there.claim("run"), nullptr);
}

TEST(CheckpointClaim, SaysThatItIsEndingWhenTheSessionsEndBegins) {
  testing::MemoryFileSystem disk;
  Claimer session(disk);
  const auto claim = session.claim("run");
  const auto given_up = session.claim("elsewhere");
  EXPECT_FALSE(detail::read_holder(disk, "run/.checkpoint_lock")->is_ending);
  session.services.begin_end();
  EXPECT_TRUE(detail::read_holder(disk, "run/.checkpoint_lock")->is_ending);
}

TEST(CheckpointClaim, TheRefusalNamesTheOptionThatSwitchesTheLockOff) {
  testing::LogLines log;
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem no_locks(disk);
  no_locks.set_callback([](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::LockFile) throw UnimplementedError("cannot lock {}: no locks here", path);
  });
  for (FileSystem* system : {static_cast<FileSystem*>(&disk), static_cast<FileSystem*>(&no_locks)}) {
    Claimer here(*system);
    Claimer there(*system);
    const auto first = here.claim("run");
    EXPECT_EQ(disk.exists("run/.checkpoint_lease"), system == &no_locks);
    try {
      const auto second = there.claim("run");
      FAIL();
    } catch (const FailedPreconditionError& error) {
      EXPECT_NE(std::string(error.what()).find("directory_lock = DirectoryLock::None"), std::string::npos)
          << error.what();
    }
    CheckpointClaim unlocked = claim_of("run");
    unlocked.directory_lock = DirectoryLock::None;
    EXPECT_EQ(there.claim(std::move(unlocked))->hold, nullptr);
  }
  EXPECT_EQ(log.count("I cannot lock run/.checkpoint_lock: no locks here; a lease in 'run' is used instead of a lock"),
            2U);
}

TEST(CheckpointClaim, ALockFileThatWasRemovedIsMadeAgainWithAWarning) {
  testing::LogLines log;
  const support::TemporaryFolder folder;
  FileSystem& disk = posix_file_system();
  Claimer here(disk);
  Claimer there(disk);
  const auto claim = here.claim(folder.path());
  disk.remove_file(folder.file(".checkpoint_lock"));
  claim->confirm_directory(1);
  claim->confirm_directory(1);
  EXPECT_EQ(log.count("was removed and is recreated"), 1U);
  EXPECT_THROW(static_cast<void>(there.claim(folder.path())), FailedPreconditionError);
  disk.remove_file(folder.file(".checkpoint_lock"));
  auto other = there.claim(folder.path());
  EXPECT_THROW(claim->confirm_directory(2), FailedPreconditionError) << "another has it now";
  other.reset();
  disk.remove_file(folder.file(".checkpoint_lock"));
  write_file_atomically(disk, folder.file("model.ckpt-60.index"), "");
  EXPECT_THROW(claim->confirm_directory(2), FailedPreconditionError) << "another has saved there";
  EXPECT_EQ(disk.list_directory(folder.path()), std::vector<std::string>{"model.ckpt-60.index"});
}

TEST(CheckpointClaim, RemovesWhatAKilledWriterHasLeftAndNothingElse) {
  testing::LogLines log;
  testing::MemoryFileSystem disk;
  disk.make_directories("run");
  for (const std::string& name :
       {std::string("model.ckpt-1.index"), "model.ckpt-2.index" + detail::bundle_temporary_suffix(),
        "checkpoint" + detail::temporary_suffix(), std::string("notes.tmp"), std::string("a.tempstate17")}) {
    write_file_atomically(disk, join_path("run", name), "text");
  }
  Claimer session(disk);
  const auto claim = session.claim("run");
  EXPECT_EQ(disk.list_directory("run"),
            (std::vector<std::string>{".checkpoint_lock", "a.tempstate17", "model.ckpt-1.index", "notes.tmp"}));
  EXPECT_EQ(log.count("1 in run: temporary files that this library did not number, the first run/a.tempstate17"), 1U);
}

TEST(CheckpointClaim, FinishesWhatAKilledWriterHadBegunAndSaysSo) {
  testing::MemoryFileSystem disk;
  for (const std::string& path :
       {std::string("run/m-1.data-00000-of-00001"), "run/m-1.index" + detail::bundle_temporary_suffix(),
        std::string("run/m-2.data-00000-of-00001")})
    disk.write_file(path, "");
  testing::LogLines log;
  Claimer session(disk);
  const auto claim = session.claim("run");
  EXPECT_EQ(disk.list_directory("run"), (std::vector<std::string>{".checkpoint_lock", "m-2.data-00000-of-00001"}));
  EXPECT_EQ(log.count("I Removed what was left of run/m-1"), 1U);
  EXPECT_EQ(log.count("the first run/m-2"), 1U) << "data that may be a copy in progress is left alone, and said";
}

}  // namespace
}  // namespace trainhook
