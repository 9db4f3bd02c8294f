// SPDX-License-Identifier: Apache-2.0
/// @file
/// RowFile: what of a file stays when a run goes on with it.
#include <trainhook/hooks/text/row_file.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

using testing::FaultyFileSystem;
using testing::LogLines;
using testing::MemoryFileSystem;

/// Lines of a step, a space and cells, after a line of names.
constexpr RowFormat kPlain{
    .hook = "TestHook",
    .after_step = " ",
    .header = [](const std::vector<std::string>& columns) { return fmt::format("# {}\n", columns.front()); },
    .line = [](const std::vector<std::string>&, std::int64_t step,
               const std::vector<std::string>& cells) { return fmt::format("{} {}\n", step, cells.front()); },
    .text = [](std::string_view text) { return fmt::format("<{}>", text); },
    .non_finite = [](double) { return std::string("none"); }};

/// That a run has written all of `text`.
WrittenRows all_of(const std::string& text) { return {.size = text.size(), .crc = crc32c::value(text)}; }

/// What is left of `before` in a run that starts at `step`.
std::string kept(const std::string& before, std::int64_t step) {
  MemoryFileSystem disk;
  disk.write_file("run/log", before);
  RowFile file(disk, "run/log", {"loss"}, kPlain, step);
  file.close();
  return disk.contents("run/log");
}

/// Why the file is refused; it must stay as it is.
std::string refusal(const std::string& before, std::int64_t step, const std::optional<WrittenRows>& written = {}) {
  MemoryFileSystem disk;
  disk.write_file("run/log", before);
  try {
    RowFile(disk, "run/log", {"loss"}, kPlain, step, written);
    return "";
  } catch (const FailedPreconditionError& error) {
    EXPECT_EQ(disk.contents("run/log"), before);
    EXPECT_EQ(disk.files(), std::vector<std::string>{"run/log"});
    return error.what();
  }
}

TEST(RowFile, BeginsWithTheNamesOfTheColumns) {
  MemoryFileSystem disk;
  RowFile file(disk, "new/directory/log", {"loss"}, kPlain, 0);
  EXPECT_EQ(file.last_step(), std::nullopt);
  file.append(3, "3 x\n");
  EXPECT_EQ(file.last_step(), 3);
  EXPECT_EQ(disk.contents("new/directory/log"), "# loss\n3 x\n");
}

TEST(RowFile, KeepsTheRowsUpToTheStep) {
  const LogLines quiet;
  EXPECT_EQ(kept("# loss\n1 a\n2 b\n3 c\n", 2), "# loss\n1 a\n2 b\n");
  EXPECT_EQ(kept("# loss\n1 a\n2 b\n3 c\n", 9), "# loss\n1 a\n2 b\n3 c\n");
  EXPECT_EQ(kept("# loss\n1 a\n2 b\n3 c\n", 0), "# loss\n");
}

TEST(RowFile, CutsATornLastLineAndWhatNeverReachedTheDisk) {
  const LogLines quiet;
  EXPECT_EQ(kept("# loss\n1 a\n2 b", 9), "# loss\n1 a\n");
  EXPECT_EQ(kept("# lo", 9), "# loss\n");
  EXPECT_EQ(kept("", 9), "# loss\n");
  EXPECT_EQ(kept(std::string(20, '\0'), 9), "# loss\n");
  EXPECT_EQ(kept("# loss\n1 a\n" + std::string(8, '\0') + "c\n4 d\n", 9), "# loss\n1 a\n");
}

TEST(RowFile, KeepsACopyOfRowsIfTheRunHasSavedNone) {
  LogLines log;
  MemoryFileSystem disk;
  disk.write_file("run/log", "# loss\n100 a\n200 b\n");
  RowFile(disk, "run/log", {"loss"}, kPlain, 10, all_of("# loss\n")).close();
  EXPECT_EQ(disk.contents("run/log"), "# loss\n");
  EXPECT_EQ(disk.contents("run/log.1"), "# loss\n100 a\n200 b\n");
  EXPECT_EQ(log.count("run/log.1 keeps a copy"), 1U);
}

TEST(RowFile, APowerCutLeavesTheRowsOrTheirCopy) {
  const LogLines quiet;
  const std::string rows = "# loss\n100 a\n";
  for (std::uint64_t call = 1;; ++call) {
    MemoryFileSystem disk;
    {
      RowFile file(disk, "run/log", {"loss"}, kPlain, 0);
      file.append(100, "100 a\n");
      file.close();
    }
    FaultyFileSystem faulty(disk);
    faulty.fail_from(call);
    try {
      RowFile(faulty, "run/log", {"loss"}, kPlain, 10).close();
      break;
    } catch (const Error&) { disk.crash(); }
    const bool has_copy = disk.exists("run/log.1") && disk.contents("run/log.1") == rows;
    ASSERT_TRUE(has_copy || disk.contents("run/log") == rows) << "cut before call " << call;
  }
}

TEST(RowFile, RefusesWhatOthersWrote) {
  const LogLines quiet;
  for (const std::int64_t step : {0, 9}) {
    EXPECT_NE(refusal("a diary\n", step).find("its first line is not that of the columns, which are # loss"),
              std::string::npos);
    EXPECT_NE(refusal("# accuracy\n1 a\n", step).find("rename or remove it, or give another path"), std::string::npos);
    EXPECT_NE(refusal("# loss\n1 a\nx\n2 b\n", step).find("it has a line that is no row"), std::string::npos);
  }
}

TEST(RowFile, RefusesWhatIsNotTheFileThatTheRunWrote) {
  const LogLines quiet;
  const std::string ours = "# loss\n1 a\n2 b\n";
  EXPECT_EQ(refusal(ours + "3 c\n", 2, all_of(ours)), "");
  EXPECT_NE(refusal("# loss\n1 a\n2 c\n", 2, all_of(ours)).find("wrote its first 15 bytes, and they are others now"),
            std::string::npos);
  EXPECT_NE(refusal("# loss\n1 a\n", 2, all_of(ours)), "");
  LogLines log;
  EXPECT_EQ(refusal("", 2, all_of(ours)), "");
  EXPECT_EQ(log.count("run/log is gone or empty"), 1U);
}

TEST(RowFile, KeepsACopyOfRowsThatMayBeOfAnotherRun) {
  const std::string before = "# loss\n1 a\n2 b\n3 c\n";
  MemoryFileSystem disk;
  disk.write_file("run/log", before);
  disk.write_file("run/log.1", "of somebody");
  LogLines log;
  RowFile(disk, "run/log", {"loss"}, kPlain, 1).close();
  EXPECT_EQ(disk.contents("run/log"), "# loss\n1 a\n");
  EXPECT_EQ(disk.contents("run/log.1"), "of somebody");
  EXPECT_EQ(disk.contents("run/log.2"), before);
  EXPECT_EQ(log.count("whether this run wrote the rows of run/log is not known; run/log.2 keeps a copy"), 1U);
  disk.write_file("run/log", before);
  RowFile(disk, "run/log", {"loss"}, kPlain, 1, all_of("# loss\n1 a\n")).close();
  EXPECT_FALSE(disk.exists("run/log.3"));
}

TEST(RowFile, SaysSoIfItsRowsAreGoneAndGoesOn) {
  constexpr std::string_view kLost =
      "W TestHook: run/log was removed, emptied or cut during the run, and rows that were in it are gone; later rows "
      "follow what is there now";
  RowFormat without_header = kPlain;
  without_header.header = nullptr;
  for (const RowFormat& format : {kPlain, without_header}) {
    const std::string header = format.header == nullptr ? "" : "# loss\n";
    const auto after = [&](const auto& damage) {
      LogLines log;
      MemoryFileSystem disk;
      RowFile file(disk, "run/log", {"loss"}, format, 0);
      file.append(1, "1 a\n");
      file.append(2, "2 b\n");
      damage(disk);
      file.append(3, "3 c\n");
      file.append(4, "4 d\n");
      file.sync();
      EXPECT_EQ(log.count(kLost), 1U);
      EXPECT_EQ(file.last_step(), 4);
      EXPECT_EQ(file.written()->size, disk.contents("run/log").size());
      EXPECT_EQ(file.written()->crc, crc32c::value(disk.contents("run/log")));
      file.close();
      return disk.contents("run/log");
    };
    EXPECT_EQ(after([](MemoryFileSystem& disk) { disk.remove_file("run/log"); }), header + "3 c\n4 d\n");
    EXPECT_EQ(after([](MemoryFileSystem& disk) {
                disk.remove_file("run/log");
                disk.remove_directory("run");
              }),
              header + "3 c\n4 d\n");
    EXPECT_EQ(after([](MemoryFileSystem& disk) { disk.truncate("run/log", 0); }), header + "3 c\n4 d\n");
    EXPECT_EQ(after([&](MemoryFileSystem& disk) { disk.truncate("run/log", header.size() + 6); }),
              header + "1 a\n3 c\n4 d\n");
  }
}

TEST(RowFile, SaysSoAtACheckpointIfItsRowsAreGone) {
  LogLines log;
  MemoryFileSystem disk;
  RowFile file(disk, "run/log", {"loss"}, kPlain, 0);
  file.append(1, "1 a\n");
  disk.remove_file("run/log");
  file.sync();
  EXPECT_EQ(log.count("run/log was removed, emptied or cut"), 1U);
  EXPECT_EQ(disk.contents("run/log"), "# loss\n");
}

TEST(RowFile, DoesNotGoOnInWhatAnotherProgramPutInItsPlace) {
  const LogLines quiet;
  MemoryFileSystem disk;
  RowFile file(disk, "run/log", {"loss"}, kPlain, 0);
  file.append(1, "1 a\n");
  disk.remove_file("run/log");
  disk.write_file("run/log", "notes\n");
  EXPECT_THROW(file.append(2, "2 b\n"), FailedPreconditionError);
  EXPECT_EQ(disk.contents("run/log"), "notes\n");
}

TEST(RowFile, HasOneWriter) {
  MemoryFileSystem disk;
  disk.make_link("run/link", "log");
  std::optional<RowFile> first;
  first.emplace(disk, "run/log", std::vector<std::string>{"loss"}, kPlain, 0);
  for (const char* path : {"run/log", "run/link"}) {
    try {
      RowFile(disk, path, {"loss"}, kPlain, 0);
      FAIL() << path;
    } catch (const FailedPreconditionError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(fmt::format("writes rows to {}; give each its own path", path)));
    }
  }
  first->append(1, "1 a\n");
  EXPECT_EQ(disk.contents("run/log"), "# loss\n1 a\n");
  first->close();
  EXPECT_NO_THROW(RowFile(disk, "run/link", {"loss"}, kPlain, 1));
  FaultyFileSystem without_locks(disk);
  without_locks.fail_from(testing::FileOperation::LockFile, 1, ErrorCode::Unimplemented);
  EXPECT_NO_THROW(RowFile(without_locks, "run/log", {"loss"}, kPlain, 1));
}

TEST(RowFile, FollowsALink) {
  const LogLines quiet;
  MemoryFileSystem disk;
  disk.write_file("elsewhere/rows", "# loss\n1 a\n2 b\n");
  disk.make_link("run/log", "/elsewhere/rows");
  disk.make_link("run/new", "/elsewhere/later/rows");
  RowFile(disk, "run/log", {"loss"}, kPlain, 1).append(2, "2 c\n");
  RowFile(disk, "run/new", {"loss"}, kPlain, 1).append(2, "2 c\n");
  EXPECT_EQ(disk.contents("elsewhere/rows"), "# loss\n1 a\n2 c\n");
  EXPECT_EQ(disk.contents("elsewhere/later/rows"), "# loss\n2 c\n");
  EXPECT_EQ(disk.resolve("run/log").path, "/elsewhere/rows");
  EXPECT_EQ(disk.contents("elsewhere/rows.1"), "# loss\n1 a\n2 b\n");
}

TEST(RowFile, AppendsToAStream) {
  MemoryFileSystem disk;
  disk.make_stream("dev/stdout");
  for (const std::int64_t step : {0, 1}) {
    RowFile file(disk, "dev/stdout", {"loss"}, kPlain, step);
    file.append(step + 1, fmt::format("{} a\n", step + 1));
    file.close();
    EXPECT_EQ(file.written(), std::nullopt);
  }
  EXPECT_EQ(disk.contents("dev/stdout"), "# loss\n1 a\n# loss\n2 a\n");
  disk.make_directories("directory");
  EXPECT_THROW(RowFile(disk, "directory", {"loss"}, kPlain, 0), FailedPreconditionError);
}

TEST(RowFile, KnowsWhatItHasWritten) {
  const LogLines quiet;
  MemoryFileSystem disk;
  RowFile file(disk, "log", {"loss"}, kPlain, 0);
  file.append(3, "3 x\n");
  EXPECT_EQ(file.written()->size, 11U);
  EXPECT_EQ(file.written()->crc, crc32c::value("# loss\n3 x\n"));
}

TEST(RowFile, LeavesTheTemporaryFileOfANeighbour) {
  MemoryFileSystem disk;
  disk.write_file("run/log.tmp", "of somebody");
  RowFile(disk, "run/log", {"loss"}, kPlain, 0).close();
  EXPECT_EQ(disk.contents("run/log.tmp"), "of somebody");
}

TEST(RowFile, SaysWhatItCuts) {
  LogLines log;
  kept("# loss\n1 a\n2 b\n3 c\n", 1);
  EXPECT_EQ(log.count("I TestHook: cut 2 rows off run/log: they are of steps after 1, which the run repeats."), 1U);
}

TEST(RowFile, IsWholeWheneverAProcessIsKilledWhileItIsOpened) {
  const LogLines quiet;
  for (std::uint64_t call = 1;; ++call) {
    MemoryFileSystem disk;
    disk.write_file("run/log", "# loss\n1 a\n2 b\n3 c\n");
    const WrittenRows written = all_of("# loss\n1 a\n2 b\n");
    FaultyFileSystem faulty(disk);
    faulty.fail_from(call);
    bool is_through = true;
    try {
      RowFile(faulty, "run/log", {"loss"}, kPlain, 2, written).close();
    } catch (const Error&) { is_through = false; }
    disk.crash();
    RowFile(disk, "run/log", {"loss"}, kPlain, 2, written).close();
    EXPECT_EQ(disk.contents("run/log"), "# loss\n1 a\n2 b\n") << "killed at call " << call;
    EXPECT_EQ(disk.files(), std::vector<std::string>{"run/log"});
    if (is_through) break;
  }
}

TEST(RowFile, SaysWhatCannotBeWritten) {
  MemoryFileSystem disk;
  FaultyFileSystem faulty(disk);
  faulty.fail_from(testing::FileOperation::LockFile, 1, ErrorCode::PermissionDenied);
  const auto refusal_of = [&faulty]() -> std::string {
    try {
      RowFile(faulty, "run/log", {"loss"}, kPlain, 0);
      return "";
    } catch (const PermissionDeniedError& error) { return error.what(); }
  };
  const std::string way_out =
      " cannot be written; check its owner and permissions, or give a path in another directory";
  EXPECT_EQ(refusal_of(), "TestHook: the directory run" + way_out);
  disk.write_file("run/log", "# loss\n");
  EXPECT_EQ(refusal_of(), "TestHook: the file run/log" + way_out);
}

TEST(RowFile, RowsWhoseSyncFailedAreWrittenAgain) {
  MemoryFileSystem disk;
  FaultyFileSystem faulty(disk);
  RowFile file(faulty, "run/log", {"loss"}, kPlain, 0);
  file.append(1, "1 a\n");
  file.sync();
  file.append(2, "2 b\n");
  for (int i = 0; i < 2; ++i) {
    faulty.fail_at(testing::FileOperation::Sync, 1, ErrorCode::DataLoss);
    EXPECT_THROW(file.sync(), DataLossError);
    file.append(3 + i, fmt::format("{} c\n", 3 + i));
  }
  faulty.fail_at(testing::FileOperation::Sync, 1, ErrorCode::DataLoss);
  EXPECT_THROW(file.sync(), DataLossError);
  faulty.fail_at(testing::FileOperation::Append, 1);
  EXPECT_THROW(file.append(5, "5 d\n"), ResourceExhaustedError) << "what is written again does not fit";
  file.append(5, "5 d\n");
  file.sync();
  disk.crash();
  EXPECT_EQ(disk.contents("run/log"), "# loss\n1 a\n2 b\n3 c\n4 c\n5 d\n");
  EXPECT_EQ(file.written()->crc, crc32c::value(disk.contents("run/log")));
}

TEST(RowFile, RowsThatSomebodyChangedAreNotWrittenAgain) {
  MemoryFileSystem disk;
  FaultyFileSystem faulty(disk);
  RowFile file(faulty, "run/log", {"loss"}, kPlain, 0);
  file.append(1, "1 a\n");
  disk.write_file("run/log", "# loss\n9 z\n");
  faulty.fail_at(testing::FileOperation::Sync, 1, ErrorCode::DataLoss);
  EXPECT_THROW(file.sync(), DataLossError);
  EXPECT_THROW(file.append(2, "2 b\n"), Error);
  EXPECT_EQ(disk.contents("run/log"), "# loss\n9 z\n");
}

TEST(RowFile, CellsReadBackTheSame) {
  EXPECT_EQ(cell_of(Tensor(0.1F), "x", kPlain), "0.1");
  EXPECT_EQ(cell_of(Tensor(0.1), "x", kPlain), "0.1");
  EXPECT_EQ(cell_of(Tensor(1.0 / 3), "x", kPlain), "0.3333333333333333");
  EXPECT_EQ(cell_of(Tensor(std::int64_t{-7}), "x", kPlain), "-7");
  EXPECT_EQ(cell_of(Tensor(std::uint8_t{200}), "x", kPlain), "200");
  EXPECT_EQ(cell_of(Tensor(~std::uint64_t{0}), "x", kPlain), "18446744073709551615");
  EXPECT_EQ(cell_of(Tensor(Half{0x3e00}), "x", kPlain), "1.5");
  EXPECT_EQ(cell_of(Tensor(Half{0x7c00}), "x", kPlain), "none") << "infinite";
  EXPECT_EQ(cell_of(Tensor(BFloat16{0x3fc0}), "x", kPlain), "1.5");
  EXPECT_EQ(cell_of(Tensor(true), "x", kPlain), "true");
  EXPECT_EQ(cell_of(Tensor("a"), "x", kPlain), "<a>");
  EXPECT_EQ(cell_of(Tensor(1.0 / 0.0), "x", kPlain), "none");
  EXPECT_THROW(static_cast<void>(cell_of(Tensor(DType::Float, Shape({2})), "x", kPlain)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(cell_of(Tensor(DType::Complex64, Shape{}), "x", kPlain)), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook::detail
