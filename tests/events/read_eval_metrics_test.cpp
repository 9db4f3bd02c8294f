// SPDX-License-Identifier: Apache-2.0
/// @file
/// read_eval_metrics: what it finds, and what it makes of damage.
#include <trainhook/events/read_eval_metrics.hpp>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/events/event_reader.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

TEST(ReadEvalMetrics, ES01_MergesWhatEachStepHas) {
  testing::MemoryFileSystem disk;
  FileWriter first("eval", {.file_system = &disk});
  first.add_scalar("loss", 1.0, 1);
  first.add_scalar("loss", 0.5, 2);
  first.add_text("note", "no number", 2);
  first.close();
  FileWriter second("eval", {.filename_suffix = ".second", .file_system = &disk});
  second.add_scalar("accuracy", 0.25, 1);
  second.add_scalar("loss", 0.75, 2);
  second.close();
  EXPECT_EQ(read_eval_metrics(disk, "eval"),
            (EvalHistory{{1, {{"accuracy", 0.25}, {"loss", 1.0}}}, {2, {{"loss", 0.75}}}}));
}

TEST(ReadEvalMetrics, LeavesOutWhatALostRunMeasured) {
  testing::MemoryFileSystem disk;
  FileWriter writer("eval", {.file_system = &disk});
  for (const std::int64_t step : {10, 20, 30}) writer.add_scalar("loss", 1.0, step);
  writer.restart_at(20);
  writer.add_scalar("loss", 0.5, 25);
  writer.close();
  EXPECT_EQ(read_eval_metrics(disk, "eval"), (EvalHistory{{10, {{"loss", 1.0}}}, {25, {{"loss", 0.5}}}}));
}

TEST(ReadEvalMetrics, ES03_FindsNothingIfThereIsNothing) {
  testing::MemoryFileSystem disk;
  EXPECT_TRUE(read_eval_metrics(disk, "missing").empty());
  disk.make_directories("empty");
  EXPECT_TRUE(read_eval_metrics(disk, "empty").empty());
}

TEST(ReadEvalMetrics, TakesWhatLiesBeforeTheDamage) {
  testing::MemoryFileSystem disk;
  FileWriter writer("eval", {.file_system = &disk});
  writer.add_scalar("loss", 1.0, 1);
  writer.flush();
  writer.add_scalar("loss", 0.5, 2);
  writer.close();
  const std::string path = list_event_files(disk, "eval").at(0);
  const std::string bytes = read_file(disk, path);
  write_file_atomically(disk, path, bytes.substr(0, bytes.size() - 3));
  const testing::LogLines log;
  EXPECT_EQ(read_eval_metrics(disk, "eval"), (EvalHistory{{1, {{"loss", 1.0}}}}));
  EXPECT_EQ(log.count(path), 1U);
}

}  // namespace
}  // namespace trainhook
