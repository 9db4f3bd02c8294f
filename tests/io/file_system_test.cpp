// SPDX-License-Identifier: Apache-2.0
/// @file
/// What every FileSystem must do, tried on the machine's own and on the one in memory.
#include <trainhook/io/file_system.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "temporary_folder.hpp"

namespace trainhook {
namespace {

/// A disk, and a directory on it that is this test's own.
struct PosixDisk {
  support::TemporaryFolder folder;
  void link(const std::string& target, const std::string& path) { std::filesystem::create_symlink(target, path); }
  std::string root = folder.path();
  PosixFileSystem system;
};

struct MemoryDisk {
  MemoryDisk() { system.make_directories(root); }
  void link(const std::string& target, const std::string& path) { system.make_link(path, target); }
  std::string root = "/test";
  testing::MemoryFileSystem system;
};

template <class Disk>
class FileSystemContract : public ::testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return disk_.root + "/" + name; }
  FileSystem& system() { return disk_.system; }
  void link(const std::string& target, const std::string& name) { disk_.link(target, at(name)); }

  void write(const std::string& name, std::string_view contents) {
    const auto file = system().create_writable(at(name), WriteMode::Truncate);
    file->append(contents);
    file->close();
  }

 private:
  Disk disk_;
};

using Disks = ::testing::Types<PosixDisk, MemoryDisk>;
TYPED_TEST_SUITE(FileSystemContract, Disks);

TYPED_TEST(FileSystemContract, ReadsBackWhatWasAppended) {
  const auto file = this->system().create_writable(this->at("f"), WriteMode::Exclusive);
  EXPECT_EQ(file->path(), this->at("f"));
  file->append("abc");
  file->append("");
  file->append("def");
  EXPECT_EQ(file->size(), 6u);
  file->sync();
  file->close();
  file->close();
  EXPECT_EQ(read_file(this->system(), this->at("f")), "abcdef");
  EXPECT_EQ(this->system().file_size(this->at("f")), 6u);
}

TYPED_TEST(FileSystemContract, TellsWhenAFileWasWritten) {
  this->write("a", "first");
  this->write("b", "second");
  EXPECT_GE(this->system().modification_time(this->at("b")), this->system().modification_time(this->at("a")));
  EXPECT_THROW(static_cast<void>(this->system().modification_time(this->at("none"))), NotFoundError);
}

TYPED_TEST(FileSystemContract, AppendedBytesAreSeenBeforeAnySync) {
  const auto file = this->system().create_writable(this->at("f"), WriteMode::Exclusive);
  file->append("abc");
  const auto reader = this->system().open_readable(this->at("f"));
  EXPECT_EQ(reader->size(), 3u);
  file->append("def");
  EXPECT_EQ(reader->size(), 6u);
}

TYPED_TEST(FileSystemContract, AppendsToWhatIsThereOrCreatesIt) {
  for (const std::string_view text : {"abc", "def"}) {
    const auto file = this->system().open_appendable(this->at("f"));
    file->append(text);
    EXPECT_EQ(file->path(), this->at("f"));
    EXPECT_EQ(file->size(), read_file(this->system(), this->at("f")).size());
    file->sync();
    file->close();
  }
  EXPECT_EQ(read_file(this->system(), this->at("f")), "abcdef");
}

TYPED_TEST(FileSystemContract, CutsAFileAndAppendsAfterTheCut) {
  this->write("f", "0123456789");
  this->system().truncate(this->at("f"), 4);
  this->system().open_appendable(this->at("f"))->append("x");
  EXPECT_EQ(read_file(this->system(), this->at("f")), "0123x");
  EXPECT_THROW(this->system().truncate(this->at("none"), 0), NotFoundError);
}

TYPED_TEST(FileSystemContract, SaysWhatAPathNamesAfterAllLinks) {
  const auto kind = [&](const std::string& name) { return this->system().resolve(this->at(name)).kind; };
  this->write("f", "text");
  this->system().make_directories(this->at("d"));
  this->link("f", "to_f");
  this->link(this->at("to_f"), "to_link");
  this->link("d", "to_d");
  this->link("none", "to_none");
  EXPECT_EQ(kind("f"), PathKind::File);
  EXPECT_EQ(kind("d"), PathKind::Directory);
  EXPECT_EQ(kind("none"), PathKind::Nothing);
  EXPECT_EQ(kind("to_link"), PathKind::File);
  EXPECT_EQ(kind("to_d"), PathKind::Directory);
  EXPECT_EQ(kind("to_none"), PathKind::Nothing);
  EXPECT_EQ(this->system().resolve(this->at("f")).path, this->at("f")) << "as it was given";
  this->write("to_none", "new");
  EXPECT_EQ(read_file(this->system(), this->at("none")), "new") << "a file is created where the link leads";
  EXPECT_THROW(static_cast<void>(this->system().create_writable(this->at("to_f"), WriteMode::Exclusive)),
               AlreadyExistsError);
  EXPECT_EQ(read_file(this->system(), this->at("to_link")), "text");
}

TYPED_TEST(FileSystemContract, MakesTheDirectoryThatALinkLeadsTo) {
  this->link("later", "run");
  this->system().make_directories(this->at("run/inner"));
  EXPECT_TRUE(this->system().is_directory(this->at("later/inner")));
}

TYPED_TEST(FileSystemContract, LinksThatLeadNowhereEnd) {
  this->link("b", "a");
  this->link("a", "b");
  EXPECT_THROW(static_cast<void>(this->system().resolve(this->at("a"))), InvalidArgumentError);
}

TYPED_TEST(FileSystemContract, AClosedFileTakesNothing) {
  const auto file = this->system().create_writable(this->at("f"), WriteMode::Exclusive);
  file->close();
  EXPECT_THROW(file->append("x"), FailedPreconditionError);
  EXPECT_THROW(file->sync(), FailedPreconditionError);
}

TYPED_TEST(FileSystemContract, ExclusiveRefusesAndTruncateReplaces) {
  this->write("f", "old");
  EXPECT_THROW(static_cast<void>(this->system().create_writable(this->at("f"), WriteMode::Exclusive)),
               AlreadyExistsError);
  EXPECT_EQ(read_file(this->system(), this->at("f")), "old");
  this->write("f", "n");
  EXPECT_EQ(read_file(this->system(), this->at("f")), "n");
}

TYPED_TEST(FileSystemContract, ReadingPastTheEndNamesFileAndOffset) {
  this->write("f", "0123456789");
  const auto file = this->system().open_readable(this->at("f"));
  std::vector<std::byte> into(4);
  file->read_at(6, into);
  EXPECT_EQ(into[0], std::byte{'6'});
  for (const std::uint64_t offset : {std::uint64_t{7}, std::uint64_t{100}}) {
    try {
      file->read_at(offset, into);
      FAIL() << offset;
    } catch (const DataLossError& error) {
      EXPECT_NE(std::string(error.what()).find(this->at("f")), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("offset " + std::to_string(offset)), std::string::npos) << error.what();
    }
  }
}

TYPED_TEST(FileSystemContract, WhatIsMissingIsNotFoundAndNamed) {
  EXPECT_FALSE(this->system().exists(this->at("none")));
  EXPECT_FALSE(this->system().is_directory(this->at("none")));
  EXPECT_THROW(static_cast<void>(this->system().file_size(this->at("none"))), NotFoundError);
  EXPECT_THROW(static_cast<void>(this->system().list_directory(this->at("none"))), NotFoundError);
  EXPECT_THROW(static_cast<void>(this->system().create_writable(this->at("none/f"), WriteMode::Exclusive)),
               NotFoundError);
  EXPECT_THROW(this->system().remove_file(this->at("none")), NotFoundError);
  EXPECT_THROW(this->system().rename(this->at("none"), this->at("f")), NotFoundError);
  EXPECT_THROW(this->system().sync_directory(this->at("none")), NotFoundError);
  try {
    static_cast<void>(this->system().open_readable(this->at("none")));
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_NE(std::string(error.what()).find(this->at("none")), std::string::npos) << error.what();
  }
}

TYPED_TEST(FileSystemContract, DirectoriesAreMadeWithThoseAboveThem) {
  this->system().make_directories(this->at("a/b/c/"));
  this->system().make_directories(this->at("a/b"));
  EXPECT_TRUE(this->system().is_directory(this->at("a/b/c")));
  this->write("a/f", "");
  EXPECT_THROW(this->system().make_directories(this->at("a/f/d")), FailedPreconditionError);
  EXPECT_THROW(static_cast<void>(this->system().open_readable(this->at("a"))), FailedPreconditionError);
  EXPECT_THROW(static_cast<void>(this->system().create_writable(this->at("a"), WriteMode::Truncate)),
               FailedPreconditionError);
}

TYPED_TEST(FileSystemContract, ListsSortedNamesOfFilesAndDirectories) {
  this->write("b", "");
  this->write("B", "");
  this->system().make_directories(this->at("a"));
  EXPECT_EQ(this->system().list_directory(this->at("")), (std::vector<std::string>{"B", "a", "b"}));
}

TYPED_TEST(FileSystemContract, RenameReplacesItsTarget) {
  this->write("from", "new");
  this->write("to", "old");
  this->system().rename(this->at("from"), this->at("to"));
  EXPECT_FALSE(this->system().exists(this->at("from")));
  EXPECT_EQ(read_file(this->system(), this->at("to")), "new");
}

TYPED_TEST(FileSystemContract, OpenFilesOutliveTheirNames) {
  this->write("f", "kept");
  const auto file = this->system().open_readable(this->at("f"));
  this->system().remove_file(this->at("f"));
  std::string text(4, ' ');
  file->read_at(0, std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(text, "kept");
}

TYPED_TEST(FileSystemContract, OnlyEmptyDirectoriesAreRemoved) {
  this->system().make_directories(this->at("d"));
  this->write("d/f", "");
  EXPECT_THROW(this->system().remove_directory(this->at("d")), FailedPreconditionError);
  this->system().remove_file(this->at("d/f"));
  this->system().remove_directory(this->at("d"));
  EXPECT_FALSE(this->system().exists(this->at("d")));
}

TYPED_TEST(FileSystemContract, ALockHasOneHolder) {
  auto lock = this->system().lock_file(this->at(".lock"));
  EXPECT_THROW(static_cast<void>(this->system().lock_file(this->at(".lock"))), FailedPreconditionError);
  lock.reset();
  EXPECT_NO_THROW(lock = this->system().lock_file(this->at(".lock")));
}

}  // namespace
}  // namespace trainhook
