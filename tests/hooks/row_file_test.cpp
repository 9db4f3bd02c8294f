// SPDX-License-Identifier: Apache-2.0
/// @file
/// RowFile: what of a file stays when a run goes on with it.
#include <trainhook/hooks/row_file.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
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
    .header = [](const std::vector<std::string>& columns) { return fmt::format("# {}\n", columns.front()); },
    .line = [](const std::vector<std::string>&, std::int64_t step,
               const std::vector<std::string>& cells) { return fmt::format("{} {}\n", step, cells.front()); },
    .text = [](std::string_view text) { return fmt::format("<{}>", text); },
    .non_finite = [](double) { return std::string("none"); },
    .record =
        [](std::string_view text) {
          RowRecord record;
          const std::size_t end = text.find('\n');
          if (end == std::string_view::npos) return record;
          record.length = end + 1;
          std::int64_t step = 0;
          if (std::from_chars(text.data(), text.data() + end, step).ec == std::errc()) record.step = step;
          return record;
        }};

/// What is left of `before` in a run that starts at `step`.
std::string kept(const std::string& before, std::int64_t step) {
  MemoryFileSystem disk;
  disk.write_file("run/log", before);
  RowFile file(disk, "run/log", {"loss"}, kPlain, step);
  file.close();
  return disk.contents("run/log");
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

TEST(RowFile, CutsATornLastLineAndWhatIsNotARow) {
  const LogLines quiet;
  EXPECT_EQ(kept("# loss\n1 a\n2 b", 9), "# loss\n1 a\n");
  EXPECT_EQ(kept("# lo", 9), "# loss\n");
  EXPECT_EQ(kept("", 9), "# loss\n");
  EXPECT_EQ(kept("# loss\n1 a\n\nx\n2 b\n", 9), "# loss\n1 a\n2 b\n");
}

TEST(RowFile, SaysWhatItCuts) {
  LogLines log;
  kept("# loss\n1 a\n2 b\n3 c\n", 1);
  EXPECT_EQ(log.count("I TestHook: cut 2 rows off run/log: they are of steps after 1, which the run repeats."), 1U);
}

TEST(RowFile, RefusesRowsOfOtherColumnsUnlessNoneIsKept) {
  const LogLines quiet;
  EXPECT_THROW(kept("# accuracy\n1 a\n", 1), FailedPreconditionError);
  EXPECT_EQ(kept("# accuracy\n1 a\n", 0), "# loss\n");
}

TEST(RowFile, IsWholeWheneverAProcessIsKilledWhileItIsOpened) {
  const LogLines quiet;
  for (std::uint64_t call = 1;; ++call) {
    MemoryFileSystem disk;
    disk.write_file("run/log", "# loss\n1 a\n2 b\n3 c\n");
    FaultyFileSystem faulty(disk);
    faulty.fail_from(call);
    bool is_through = true;
    try {
      RowFile(faulty, "run/log", {"loss"}, kPlain, 2).close();
    } catch (const Error&) { is_through = false; }
    disk.crash();
    RowFile(disk, "run/log", {"loss"}, kPlain, 2).close();
    EXPECT_EQ(disk.contents("run/log"), "# loss\n1 a\n2 b\n") << "killed at call " << call;
    EXPECT_EQ(disk.files(), std::vector<std::string>{"run/log"});
    if (is_through) break;
  }
}

TEST(RowFile, CellsReadBackTheSame) {
  EXPECT_EQ(cell_of(Tensor(0.1F), "x", kPlain), "0.1");
  EXPECT_EQ(cell_of(Tensor(0.1), "x", kPlain), "0.1");
  EXPECT_EQ(cell_of(Tensor(1.0 / 3), "x", kPlain), "0.3333333333333333");
  EXPECT_EQ(cell_of(Tensor(std::int64_t{-7}), "x", kPlain), "-7");
  EXPECT_EQ(cell_of(Tensor(true), "x", kPlain), "true");
  EXPECT_EQ(cell_of(Tensor("a"), "x", kPlain), "<a>");
  EXPECT_EQ(cell_of(Tensor(1.0 / 0.0), "x", kPlain), "none");
  EXPECT_THROW(static_cast<void>(cell_of(Tensor(DType::Float, Shape({2})), "x", kPlain)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(cell_of(Tensor(std::uint8_t{1}), "x", kPlain)), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook::detail
