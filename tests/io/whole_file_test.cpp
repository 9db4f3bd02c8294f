// SPDX-License-Identifier: Apache-2.0
/// @file
/// Replacing a file is all or nothing, whatever fails and whenever the power goes; what a directory must allow, on the
/// machine's disk and on one that refuses it.
#include <trainhook/io/whole_file.hpp>

#include <cstdint>
#include <expect_error.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <temporary_folder.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

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

TEST(WriteFileAtomically, TakesTheContentsInPieces) {
  MemoryFileSystem disk;
  disk.write_file("run/state", "old");
  const auto fail_half_way = [](WritableFile& file) {
    file.append("half");
    throw InvalidArgumentError("no more");
  };
  EXPECT_THROW(write_file_atomically(disk, "run/state", fail_half_way), InvalidArgumentError);
  EXPECT_EQ(disk.contents("run/state"), "old");
  EXPECT_EQ(disk.files(), std::vector<std::string>{"run/state"});
  write_file_atomically(disk, "run/state", [](WritableFile& file) {
    file.append("ne");
    file.append("w");
  });
  EXPECT_EQ(disk.contents("run/state"), "new");
}

TEST(WriteFileAtomically, ALinkStaysAndItsTargetIsReplaced) {
  MemoryFileSystem disk;
  disk.write_file("elsewhere/state", "old");
  disk.make_link("run/state", "/elsewhere/state");
  FaultyFileSystem watched(disk);
  write_file_atomically(watched, "run/state", "new");
  EXPECT_EQ(disk.contents("elsewhere/state"), "new");
  EXPECT_EQ(disk.resolve("run/state").path, "/elsewhere/state");
  for (const std::string& line : watched.trace())
    EXPECT_TRUE(line.find("/elsewhere/") != std::string::npos || line == "resolve run/state" ||
                line == "sync_directory /elsewhere")
        << "beside the target: " << line;
}

TEST(WriteFileAtomically, AStreamGetsTheContentsAndStays) {
  MemoryFileSystem disk;
  disk.make_stream("dev/out");
  write_file_atomically(disk, "dev/out", "text", [](std::string_view) { return false; });
  EXPECT_EQ(disk.contents("dev/out"), "text");
  EXPECT_EQ(disk.resolve("dev/out").kind, PathKind::Stream);
}

TEST(WriteFileAtomically, ReplacesItsOwnAndRefusesWhatOthersWrote) {
  const auto is_own = [](std::string_view text) { return text.starts_with("ours"); };
  MemoryFileSystem disk;
  disk.make_directories("d");
  EXPECT_THROW(write_file_atomically(disk, "d", "ours"), FailedPreconditionError);
  for (const std::string& before : {std::string(), std::string("\n"), std::string("ours, too"), std::string(2, '\0')}) {
    disk.write_file("f", before);
    write_file_atomically(disk, "f", "ours", is_own);
    EXPECT_EQ(disk.contents("f"), "ours");
  }
  disk.write_file("f", "notes");
  EXPECT_THROW(write_file_atomically(disk, "f", "ours", is_own), FailedPreconditionError);
  EXPECT_EQ(disk.files(), std::vector<std::string>{"f"});
  EXPECT_EQ(disk.contents("f"), "notes");
  FaultyFileSystem faulty(disk);
  faulty.fail_at(testing::FileOperation::OpenReadable, 1, ErrorCode::DataLoss);
  write_file_atomically(faulty, "f", "ours", is_own);
  EXPECT_EQ(disk.contents("f"), "ours") << "what the device has lost is nobody's";
}

TEST(TemporaryNames, KnowTheirNumbers) {
  EXPECT_TRUE(detail::has_temporary_suffix("state" + detail::temporary_suffix()));
  EXPECT_FALSE(detail::has_temporary_suffix("state.tmp0123456789abcdef"));
  EXPECT_FALSE(detail::has_temporary_suffix(detail::temporary_suffix()));
  EXPECT_NE(detail::temporary_number(), detail::temporary_number());
}

TEST(ReadFile, OfAMissingFileIsNotFound) {
  MemoryFileSystem disk;
  EXPECT_THROW(static_cast<void>(read_file(disk, "none")), NotFoundError);
}

}  // namespace
}  // namespace trainhook

namespace trainhook::detail {
namespace {

using testing::FaultyFileSystem;
using testing::FileOperation;

TEST(DirectoryChecks, ANameThatIsTooLongIsRefusedAlsoInADirectoryThatIsNotThereYet) {
  const support::TemporaryFolder folder;
  const std::string longest(255, 'm');
  for (const std::string directory : {"", "no/such/"}) {
    EXPECT_NO_THROW(expect_name_fits(posix_file_system(), folder.file(directory + longest), "the name"));
    testing::expect_error({"the name is too long", "256 characters", "give a shorter one"}, [&] {
      expect_name_fits(posix_file_system(), folder.file(directory + longest + "m"), "the name");
    });
  }
  testing::expect_error({"the name"},
                        [&] { expect_name_fits(posix_file_system(), folder.file(longest + "m/file"), "the name"); });
}

TEST(DirectoryChecks, ADirectoryThatCannotBeIsNoNameThatIsTooLong) {
  const support::TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder.file("loop"));
  testing::expect_error({"the name names a directory that cannot be", "loop"},
                        [&] { expect_name_fits(posix_file_system(), folder.file("loop/file"), "the name"); });
}

TEST(DirectoryChecks, OtherFailuresAreLeftToWhoeverWrites) {
  testing::MemoryFileSystem disk;
  FaultyFileSystem faulty(disk);
  faulty.fail_from(1, ErrorCode::DataLoss);
  EXPECT_NO_THROW(expect_name_fits(faulty, "run/name", "the name"));
  EXPECT_NO_THROW(expect_replaces_files(faulty, "run"));
}

TEST(DirectoryChecks, ADirectoryInWhichNoFileReplacesAnotherIsRefused) {
  testing::MemoryFileSystem disk;
  disk.make_directories("run");
  EXPECT_NO_THROW(expect_replaces_files(disk, "run"));
  EXPECT_TRUE(disk.files().empty());
  FaultyFileSystem faulty(disk);
  for (const ErrorCode refusal : {ErrorCode::PermissionDenied, ErrorCode::AlreadyExists, ErrorCode::Unimplemented}) {
    faulty.fail_from(FileOperation::Rename, 1, refusal);
    testing::expect_error<FailedPreconditionError>({"'run'", "renamed over another one", "another file system"},
                                                   [&] { expect_replaces_files(faulty, "run"); });
    EXPECT_TRUE(disk.files().empty());
  }
  faulty.fail_from(FileOperation::Rename, 1, ErrorCode::ResourceExhausted);
  EXPECT_NO_THROW(expect_replaces_files(faulty, "run")) << "a full disk may have room again";
  EXPECT_TRUE(disk.files().empty());
}

}  // namespace
}  // namespace trainhook::detail
