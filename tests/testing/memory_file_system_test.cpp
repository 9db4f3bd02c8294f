// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a power cut leaves of a disk in memory.
#include <trainhook/testing/memory_file_system.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook {
namespace {

using trainhook::testing::MemoryFileSystem;

TEST(MemoryFileSystem, ACrashDropsBytesThatWereNotSynced) {
  MemoryFileSystem disk;
  const auto file = disk.create_writable("f", WriteMode::Exclusive);
  file->append("safe");
  file->sync();
  disk.sync_directory(".");
  file->append(" lost");
  disk.crash();
  EXPECT_EQ(disk.contents("f"), "safe");
}

TEST(MemoryFileSystem, RelativePathsStartWhereTheProgramWasWhenItAsked) {
  MemoryFileSystem disk;
  disk.write_file("a/f", "at a");
  disk.write_file("b/f", "at b");
  disk.change_directory("a");
  FileSystem& at_a = disk.at_current_directory();
  disk.change_directory("b");
  EXPECT_EQ(&at_a, &at_a.at_current_directory());
  EXPECT_EQ(read_file(disk.at_current_directory(), "f"), "at b");
  EXPECT_EQ(read_file(at_a, "f"), "at a");
  EXPECT_EQ(disk.contents("a/f"), "at a");
  EXPECT_EQ(read_file(at_a, "/b/f"), "at b");
}

TEST(MemoryFileSystem, WithoutACurrentDirectoryItIsTheSameForAll) {
  MemoryFileSystem disk;
  EXPECT_EQ(&disk, &disk.at_current_directory());
  EXPECT_THROW(disk.change_directory("/"), FailedPreconditionError) << "too late";
}

TEST(MemoryFileSystem, AStreamTakesBytesAndIsNeverReadOrReplaced) {
  MemoryFileSystem disk;
  disk.make_stream("pipe");
  disk.open_appendable("pipe")->append("a");
  disk.open_appendable("pipe")->append("b");
  EXPECT_EQ(disk.contents("pipe"), "ab");
  EXPECT_THROW(static_cast<void>(disk.open_readable("pipe")), FailedPreconditionError);
  EXPECT_THROW(static_cast<void>(disk.create_writable("pipe", WriteMode::Truncate)), FailedPreconditionError);
}

TEST(MemoryFileSystem, ACrashDropsNamesThatWereNotSynced) {
  MemoryFileSystem disk;
  const auto file = disk.create_writable("f", WriteMode::Exclusive);
  file->append("safe");
  file->sync();
  disk.crash();
  EXPECT_FALSE(disk.exists("f"));
}

/// Takes the given choices one after the other, then 0.
MemoryFileSystem::Choose choices(std::vector<std::size_t> answers) {
  return [answers = std::move(answers), next = std::size_t{0}](std::size_t) mutable {
    return next < answers.size() ? answers[next++] : 0;
  };
}

TEST(MemoryFileSystem, ACrashMayKeepAnyOfTheChangesOfADirectoryThatWereNotSynced) {
  for (const std::size_t renamed : {0U, 1U}) {
    for (const std::size_t removed : {0U, 1U}) {
      MemoryFileSystem disk;
      disk.write_file("d/a", "a");
      disk.write_file("d/b", "b");
      disk.rename("d/a", "d/c");
      disk.remove_file("d/b");
      disk.crash(choices({renamed, removed}));
      std::vector<std::string> left{renamed == 1 ? "d/c" : "d/a"};
      if (removed == 0) left.insert(left.begin() + (renamed == 1 ? 0 : 1), "d/b");
      EXPECT_EQ(disk.files(), left) << renamed << removed;
    }
  }
}

TEST(MemoryFileSystem, ACrashLeavesUnsyncedBytesOldNewZeroOrHalf) {
  const std::vector<std::string> expected{"", "abcd", std::string(4, '\0'), "ab"};
  for (std::size_t choice = 0; choice < expected.size(); ++choice) {
    MemoryFileSystem disk;
    disk.create_writable("f", WriteMode::Exclusive)->append("abcd");
    disk.crash(choices({1, choice}));
    EXPECT_EQ(disk.contents("f"), expected[choice]);
  }
}

TEST(MemoryFileSystem, ACrashLeavesWhatWasSyncedBeforeMoreWasAppended) {
  for (const auto& [choice, left] : {std::pair<std::size_t, std::string>{0, "safe"},
                                     {1, "safenew!"},
                                     {2, std::string("safe") + std::string(4, '\0')},
                                     {3, "safene"}}) {
    MemoryFileSystem disk;
    disk.write_file("log", "");
    const auto file = disk.create_writable("log", WriteMode::Truncate);
    file->append("safe");
    file->sync();
    file->append("new!");
    disk.crash([&, pick = choice](std::size_t count) { return count == 4 ? pick : 0; });
    EXPECT_EQ(disk.contents("log"), left);
  }
}

TEST(MemoryFileSystem, ACrashUndoesNothingThatWasSynced) {
  MemoryFileSystem disk;
  const auto file = disk.create_writable("f", WriteMode::Exclusive);
  file->append("safe");
  file->sync();
  disk.sync_directory(".");
  disk.crash(choices({}));
  EXPECT_EQ(disk.contents("f"), "safe");
}

TEST(MemoryFileSystem, ACrashLeavesAnEmptyFileIfOnlyTheNameWasSynced) {
  MemoryFileSystem disk;
  disk.create_writable("f", WriteMode::Exclusive)->append("lost");
  disk.sync_directory(".");
  disk.crash();
  EXPECT_EQ(disk.contents("f"), "");
}

TEST(MemoryFileSystem, ACrashUndoesRenamesAndRemovalsThatWereNotSynced) {
  MemoryFileSystem disk;
  disk.write_file("d/a", "a");
  disk.write_file("d/b", "b");
  disk.rename("d/a", "d/c");
  disk.remove_file("d/b");
  disk.crash();
  EXPECT_EQ(disk.files(), (std::vector<std::string>{"d/a", "d/b"}));
  disk.rename("d/a", "d/c");
  disk.remove_file("d/b");
  disk.sync_directory("d");
  disk.crash();
  EXPECT_EQ(disk.files(), std::vector<std::string>{"d/c"});
}

TEST(MemoryFileSystem, MadeDirectoriesAreDurable) {
  MemoryFileSystem disk;
  disk.make_directories("a/b");
  disk.crash();
  EXPECT_TRUE(disk.is_directory("a/b"));
}

TEST(MemoryFileSystem, ALockIsOfTheFileAndNotOfItsName) {
  MemoryFileSystem disk;
  auto lock = disk.lock_file("lock");
  EXPECT_TRUE(lock->is_current());
  disk.create_writable("lock", WriteMode::Truncate)->append("mine");
  EXPECT_TRUE(lock->is_current());
  disk.write_file("lock", "mine");
  EXPECT_FALSE(lock->is_current());
  const auto other = disk.lock_file("lock");
  lock.reset();
  EXPECT_THROW(static_cast<void>(disk.lock_file("lock")), FailedPreconditionError);
  disk.remove_file("lock");
  EXPECT_FALSE(other->is_current());
}

TEST(MemoryFileSystem, HandlesAndLocksDieInACrash) {
  MemoryFileSystem disk;
  const auto file = disk.create_writable("f", WriteMode::Exclusive);
  const auto lock = disk.lock_file("lock");
  disk.crash();
  EXPECT_THROW(file->append("x"), FailedPreconditionError);
  EXPECT_THROW(file->sync(), FailedPreconditionError);
  EXPECT_NO_THROW(static_cast<void>(disk.lock_file("lock")));
}

TEST(MemoryFileSystem, AFullDiskTakesNothingAndLosesNothing) {
  MemoryFileSystem disk;
  disk.set_capacity(10);
  const auto file = disk.create_writable("f", WriteMode::Exclusive);
  file->append("12345678");
  EXPECT_THROW(file->append("901"), ResourceExhaustedError);
  EXPECT_EQ(disk.contents("f"), "12345678");
  disk.remove_file("f");
  EXPECT_NO_THROW(disk.create_writable("g", WriteMode::Exclusive)->append("1234567890"));
}

TEST(MemoryFileSystem, FilesKeepTheTimeTheyWereWrittenAt) {
  MemoryFileSystem disk;
  disk.set_time(100);
  disk.write_file("a", "x");
  const auto file = disk.create_writable("b", WriteMode::Exclusive);
  disk.set_time(200);
  file->append("y");
  EXPECT_EQ(disk.modification_time("a"), 100);
  EXPECT_EQ(disk.modification_time("b"), 200);
}

TEST(MemoryFileSystem, RelativeAndAbsolutePathsAreTheSame) {
  MemoryFileSystem disk;
  disk.write_file("run/f", "x");
  EXPECT_EQ(read_file(disk, "/run//./f"), "x");
}

TEST(MemoryFileSystem, ServesSeveralThreads) {
  MemoryFileSystem disk;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&disk, i] {
      for (int round = 0; round < 50; ++round)
        write_file_atomically(disk, "f" + std::to_string(i), std::to_string(round));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(disk.files().size(), 4u);
  EXPECT_EQ(disk.contents("f3"), "49");
}

}  // namespace
}  // namespace trainhook
