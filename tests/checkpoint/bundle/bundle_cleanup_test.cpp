// SPDX-License-Identifier: Apache-2.0
/// @file
/// What removal takes with it, and what it must not touch.
#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using detail::finish_interrupted_saves;
using detail::InterruptedSaves;
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
  Paths changes;
  for (const std::string& line : watched.trace()) {
    const bool reads = line.starts_with("exists") || line.starts_with("is_dir") || line.starts_with("list");
    const std::size_t number = line.find(".tempstate");
    if (!reads) changes.push_back(line.substr(0, number) + (number == std::string::npos ? "" : "~"));
  }
  EXPECT_EQ(changes, (Paths{"rename run/m-1.index~", "sync_directory run", "remove_file run/m-1.data-00000-of-00002",
                            "remove_file run/m-1.data-00001-of-00002", "remove_file run/m-1.meta", "sync_directory run",
                            "remove_file run/m-1.index~"}));
  for (const std::string& path : own) EXPECT_FALSE(disk.exists(path)) << path;
  for (const std::string& path : others) EXPECT_TRUE(disk.exists(path)) << path;
  EXPECT_NO_THROW(remove_checkpoint(disk, "run/m-1"));
  EXPECT_NO_THROW(remove_checkpoint(disk, "nowhere/m-1"));
}

TEST(FinishInterruptedSaves, RemovesWhatDeadWritersLeftAndNothingElse) {
  MemoryFileSystem disk;
  const Paths kept{"run/checkpoint",          "run/m.index",     "run/mine.tmp",  "run/notes.tmpdir",
                   "run/x.index.tempstate17", "run/x.tempstate", "run/x.tmp0123", "run/x.tmp0123456789abcdef"};
  for (const std::string& path : kept) disk.write_file(path, "");
  FaultyFileSystem dying(disk);
  {
    BundleWriter writer("run/m-1", {.file_system = &dying});
    dying.fail_from(1);  // the process is gone: not even its cleaning up happens
  }
  try {
    dying.reset();
    dying.fail_from(3);  // after it has created a file
    write_file_atomically(dying, "run/checkpoint", "new");
    FAIL();
  } catch (const DataLossError&) {}
  EXPECT_EQ(disk.files().size(), kept.size() + 2);
  const InterruptedSaves found = finish_interrupted_saves(disk, "run");
  EXPECT_EQ(found.temporaries, 2u);
  EXPECT_EQ(found.foreign, Paths{"run/x.index.tempstate17"});
  EXPECT_EQ(disk.files(), kept);
  EXPECT_EQ(finish_interrupted_saves(disk, "nowhere").temporaries, 0u);
}

TEST(FinishInterruptedSaves, RemovesTheDataThatATemporaryIndexNamesAndNoOther) {
  MemoryFileSystem disk;
  const Paths ours{"run/m-1.data-00000-of-00001", "run/m-1.index" + detail::bundle_temporary_suffix(), "run/m-1.meta"};
  const Paths others{"run/m-10.data-00000-of-00001", "run/m-2.data-00000-of-00002", "run/m-2.data-00001-of-00002",
                     "run/m-2.index.tempstate5",     "run/m-3.data-00000-of-00001", "run/m-3.index"};
  for (const Paths& paths : {ours, others}) {
    for (const std::string& path : paths) disk.write_file(path, "");
  }
  const InterruptedSaves found = finish_interrupted_saves(disk, "run");
  EXPECT_EQ(disk.files(), others);
  EXPECT_EQ(found.removed, Paths{"run/m-1"});
  EXPECT_EQ(found.incomplete, (Paths{"run/m-10", "run/m-2"})) << "copies in progress, perhaps";
}

TEST(FinishInterruptedSaves, ContinuesAfterAFileThatItCannotRemove) {
  MemoryFileSystem disk;
  const std::string suffix = detail::bundle_temporary_suffix();
  disk.make_directories("run/a" + suffix);
  for (const char* path : {"run/b", "run/c"}) disk.write_file(path + suffix, "");
  FaultyFileSystem faulty(disk);
  faulty.fail_at(testing::FileOperation::RemoveFile, 1, ErrorCode::PermissionDenied);
  testing::LogLines log;
  EXPECT_EQ(finish_interrupted_saves(faulty, "run").temporaries, 1u);
  EXPECT_EQ(disk.files(), Paths{"run/b" + suffix});
  EXPECT_TRUE(disk.is_directory("run/a" + suffix));
  EXPECT_EQ(log.count("run/a" + suffix + " has the name of a temporary file, but is a directory"), 1u);
  EXPECT_EQ(log.count("run/b" + suffix + " is left"), 1u);
}

}  // namespace
}  // namespace trainhook
