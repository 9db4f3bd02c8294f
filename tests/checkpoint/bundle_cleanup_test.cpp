// SPDX-License-Identifier: Apache-2.0
/// @file
/// What removal takes with it, and what it must not touch.
#include <trainhook/checkpoint/bundle_cleanup.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle_writer.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

using testing::FaultyFileSystem;
using testing::MemoryFileSystem;
using Paths = std::vector<std::string>;

TEST(RemoveCheckpoint, TakesItsFilesIndexFirstAndNoOthers) {
  MemoryFileSystem disk;
  const Paths own{"run/m-1.data-00000-of-00002", "run/m-1.data-00001-of-00002", "run/m-1.index", "run/m-1.meta"};
  const Paths others{"run/checkpoint", "run/m-1.database", "run/m-1.data-x-of-1", "run/m-10.data-00000-of-00001",
                     "run/m-10.index", "run/m-1x.meta"};
  for (const Paths& paths : {own, others}) {
    for (const std::string& path : paths) disk.write_file(path, "");
  }
  FaultyFileSystem watched(disk);
  remove_checkpoint(watched, "run/m-1");
  EXPECT_EQ(watched.trace().at(0), "remove_file run/m-1.index");
  for (const std::string& path : own) EXPECT_FALSE(disk.exists(path)) << path;
  for (const std::string& path : others) EXPECT_TRUE(disk.exists(path)) << path;
  EXPECT_NO_THROW(remove_checkpoint(disk, "run/m-1"));
  EXPECT_NO_THROW(remove_checkpoint(disk, "nowhere/m-1"));
}

TEST(RemoveStaleTemporaries, TakesWhatDeadWritersLeftAndNothingElse) {
  MemoryFileSystem disk;
  const Paths kept{"run/checkpoint",   "run/m.index",     "run/mine.tmp",
                   "run/notes.tmpdir", "run/x.tempstate", "run/x.tmp0123"};
  for (const std::string& path : kept) disk.write_file(path, "");
  FaultyFileSystem dying(disk);
  {
    BundleWriter writer("run/m-1", {.file_system = &dying});
    dying.fail_from(1);  // the process is gone: not even its cleaning up happens
  }
  try {
    dying.reset();
    dying.fail_from(2);
    write_file_atomically(dying, "run/checkpoint", "new");
    FAIL();
  } catch (const DataLossError&) {}
  EXPECT_EQ(disk.files().size(), kept.size() + 2);
  EXPECT_EQ(remove_stale_temporaries(disk, "run").size(), 2u);
  EXPECT_EQ(disk.files(), kept);
  EXPECT_TRUE(remove_stale_temporaries(disk, "nowhere").empty());
}

}  // namespace
}  // namespace trainhook
