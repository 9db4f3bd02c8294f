// SPDX-License-Identifier: Apache-2.0
/// @file
/// Replacing a file is all or nothing, whatever fails and whenever the power goes.
#include <trainhook/io/whole_file.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

using testing::FaultyFileSystem;
using testing::MemoryFileSystem;

TEST(WriteFileAtomically, ReplacesDurably) {
  MemoryFileSystem disk;
  disk.write_file("run/state", "old");
  write_file_atomically(disk, "run/state", "new");
  disk.crash();
  EXPECT_EQ(read_file(disk, "run/state"), "new");
  EXPECT_EQ(disk.files(), std::vector<std::string>{"run/state"});
}

TEST(WriteFileAtomically, AnyFailureLeavesAWholeFileAndNoTemporary) {
  for (std::uint64_t n = 1;; ++n) {
    MemoryFileSystem disk;
    disk.write_file("run/state", "old");
    FaultyFileSystem faulty(disk);
    faulty.fail_at(n);
    bool failed = false;
    try {
      write_file_atomically(faulty, "run/state", "new");
    } catch (const ResourceExhaustedError&) { failed = true; }
    const std::string now = disk.contents("run/state");
    EXPECT_TRUE(now == "new" || (failed && now == "old")) << n << ": " << now;
    EXPECT_EQ(disk.files(), std::vector<std::string>{"run/state"}) << n;
    if (!failed) break;
    ASSERT_LT(n, 100u);
  }
}

TEST(WriteFileAtomically, ACrashAnywhereLeavesOldOrNew) {
  for (std::uint64_t n = 1;; ++n) {
    MemoryFileSystem disk;
    disk.write_file("run/state", "old");
    FaultyFileSystem faulty(disk);
    faulty.fail_from(n);
    bool failed = false;
    try {
      write_file_atomically(faulty, "run/state", "new");
    } catch (const DataLossError&) { failed = true; }
    disk.crash();
    EXPECT_EQ(disk.contents("run/state"), failed ? "old" : "new") << n;
    if (!failed) break;
    ASSERT_LT(n, 100u);
  }
}

TEST(ReadFile, OfAMissingFileIsNotFound) {
  MemoryFileSystem disk;
  EXPECT_THROW(static_cast<void>(read_file(disk, "none")), NotFoundError);
}

}  // namespace
}  // namespace trainhook
