// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of batches of events, and of event files: their names, their first record, and giving one up.
#include <trainhook/events/event_file.hpp>

#include <algorithm>
#include <cstddef>
#include <expect_error.hpp>
#include <filesystem>
#include <span>
#include <string>
#include <temporary_folder.hpp>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/records.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "fixed_clock.hpp"

namespace trainhook {
namespace {

TEST(EventFile, NamesEachFileOnce) {
  const std::string first = detail::event_file_name(1700000000, "host", ".v2");
  const std::string second = detail::event_file_name(1700000000, "host", ".v2");
  EXPECT_TRUE(first.starts_with("events.out.tfevents.1700000000.host.")) << first;
  EXPECT_TRUE(first.ends_with(".v2")) << first;
  EXPECT_NE(first, second);
  EXPECT_TRUE(detail::event_file_name(7, "host", "").starts_with("events.out.tfevents.0000000007.host."));
}

TEST(EventFile, SortsAfterTheFilesThatAreThereWhateverTheClockSays) {
  testing::MemoryFileSystem disk;
  FixedClock clock;
  FixedClock set_back(1600000000);
  std::vector<std::string> opened;
  const auto open = [&](Clock& time) {
    detail::EventFile file(disk, time, "run", "");
    file.write("");
    opened.push_back(file.path());
  };
  for (int i = 0; i < 12; ++i) open(clock);  // in one second
  open(set_back);
  disk.write_file("run/events.out.tfevents.1800000000123.in_milliseconds", "");
  opened.push_back("run/events.out.tfevents.1800000000123.in_milliseconds");
  open(clock);
  disk.write_file("run/events.out.tfevents.1800000002.of_tensorflow", "");
  opened.push_back("run/events.out.tfevents.1800000002.of_tensorflow");
  open(clock);
  for (const char* other :
       {"run/events.out.tfevents.x", "run/events.out.tfevents.1900000000", "run/x.tfevents.2000000000.y"})
    disk.write_file(other, "");
  open(clock);
  EXPECT_TRUE(std::ranges::is_sorted(opened));
  EXPECT_TRUE(opened.back().starts_with("run/events.out.tfevents.1900000001."));
}

TEST(EventFile, IsWrittenIntoADirectoryThatMayNotBeRead) {
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty(disk);
  faulty.fail_from(testing::FileOperation::ListDirectory, 1, ErrorCode::PermissionDenied);
  FixedClock clock;
  const testing::LogLines log;
  detail::EventFile file(faulty, clock, "unreadable", "");
  file.write("");
  EXPECT_TRUE(disk.exists(file.path()));
  EXPECT_EQ(log.count("TensorBoard"), 1U);
}

TEST(EventFile, ANameThatIsTooLongIsRefused) {
  const support::TemporaryFolder folder;
  FixedClock clock;
  const detail::EventFile file(posix_file_system(), clock, folder.path(), std::string(250, 's'));
  testing::expect_error({"event file", "filename_suffix 'sss", "too long"}, [&] { file.check_name(); });
  EXPECT_NO_THROW(detail::EventFile(posix_file_system(), clock, folder.path(), ".v2").check_name());
}

TEST(EventFile, SaysIfAFileComesAfterItWhateverItIsCalled) {
  testing::MemoryFileSystem disk;
  FixedClock clock;
  const testing::LogLines log;
  const auto open = [&] {
    detail::EventFile file(disk, clock, "run", "");
    file.write("");
  };
  disk.make_directories("run");
  disk.write_file("run/z.txt", "");
  open();
  EXPECT_TRUE(log.lines.empty());
  disk.write_file("run/z.tfevents", "");
  open();
  EXPECT_EQ(log.count("TensorBoard may not show the events in run/events.out.tfevents."), 1U);
  EXPECT_EQ(log.count("z.tfevents comes after it"), 1U);
}

TEST(EventFile, IsMadeAgainIfItWasRemovedOrReplaced) {
  testing::MemoryFileSystem disk;
  FixedClock clock;
  const testing::LogLines log;
  detail::EventFile file(disk, clock, "run", "");
  file.write("one");
  const std::string first = file.path();
  disk.remove_file(first);
  disk.remove_directory("run");
  file.write("two");
  const std::string second = file.path();
  EXPECT_TRUE(disk.contents(second).ends_with("two"));
  EXPECT_EQ(log.count(first), 1U);
  disk.remove_file(second);
  disk.write_file(second, "an old copy");
  file.write("three");
  EXPECT_GT(file.path(), second);
  EXPECT_TRUE(disk.contents(file.path()).ends_with("three"));
  EXPECT_EQ(disk.contents(second), "an old copy");
  EXPECT_EQ(log.count("was removed or replaced, and the events in it are gone"), 2U);
  file.write("four");
  EXPECT_TRUE(disk.contents(file.path()).ends_with("threefour"));
}

TEST(EventFile, IsGivenUpIfItsDirectoryIsReplacedByAFile) {
  const support::TemporaryFolder folder;
  FileSystem& disk = posix_file_system();
  FixedClock clock;
  const testing::LogLines log;
  detail::EventFile file(disk, clock, folder.file("eval"), "");
  file.write("one");
  std::filesystem::remove_all(folder.file("eval"));
  write_file_atomically(disk, folder.file("eval"), "a file");
  EXPECT_THROW(file.write("two"), Error);
  EXPECT_EQ(log.count("was removed or replaced, and the events in it are gone"), 1U);
  EXPECT_THROW(file.write("three"), Error) << "each is counted as lost";
  disk.remove_file(folder.file("eval"));
  file.write("four");
  EXPECT_TRUE(read_file(disk, file.path()).ends_with("four"));
}

TEST(EventFile, IsNotGivenUpIfItCannotBeLookedAt) {
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty(disk);
  FixedClock clock;
  detail::EventFile file(faulty, clock, "run", "");
  file.write("one");
  faulty.fail_at(testing::FileOperation::FileSize, 1, ErrorCode::PermissionDenied);
  file.write("two");
  EXPECT_TRUE(disk.contents(file.path()).ends_with("onetwo"));
}

TEST(EventFile, IsNotThereBeforeTheFirstWrite) {
  testing::MemoryFileSystem disk;
  FixedClock clock;
  detail::EventFile file(disk, clock, "run", "");
  file.sync();
  file.close();
  EXPECT_EQ(file.path(), "");
  EXPECT_FALSE(disk.exists("run"));
  file.write("");
  EXPECT_TRUE(disk.exists(file.path()));
}

TEST(EventFile, IsGivenUpAfterAFailureAndFollowedByAnother) {
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty(disk);
  FixedClock clock;
  detail::EventFile file(faulty, clock, "run", "");
  file.write("one");
  const std::string first = file.path();
  faulty.fail_at(testing::FileOperation::Append, 1);
  EXPECT_THROW(file.write("two"), ResourceExhaustedError);
  EXPECT_EQ(file.path(), "");
  file.write("three");
  EXPECT_NE(file.path(), first);
  EXPECT_TRUE(disk.contents(first).ends_with("one"));
  EXPECT_TRUE(disk.contents(file.path()).ends_with("three"));
}

TEST(EventFile, ReportsWhatClosingReports) {
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty(disk);
  FixedClock clock;
  detail::EventFile file(faulty, clock, "run", "");
  file.write("one");
  faulty.fail_at(testing::FileOperation::Close, 1);
  EXPECT_THROW(file.close(), ResourceExhaustedError);
  file.close();
}

std::string records_of(const detail::EventBatch& batch) {
  std::string records;
  batch.append_records(records);
  return records;
}

std::string record_of(const std::string& event) {
  std::string record;
  detail::append_record(record, event);
  return record;
}

TEST(EventBatch, FramesEncodedEventsAndHistogramsInOrder) {
  detail::EventBatch batch;
  batch.add_encoded([](std::string& bytes) { bytes += "first"; });
  batch.add_histogram({.wall_time = 1.5, .step = 3, .tag = "w", .values = Tensor::of<float>({1, 2})});
  batch.add_encoded([](std::string& bytes) { bytes += "last"; });
  EXPECT_EQ(batch.size(), 3U);
  EXPECT_EQ(batch.byte_size(), 5U + 8U + 4U);
  std::string histogram;
  detail::append_event(histogram,
                       {.wall_time = 1.5,
                        .step = 3,
                        .summary = histogram_summary("w", std::span<const float>(std::vector<float>{1, 2}))});
  EXPECT_EQ(records_of(batch), record_of("first") + record_of(histogram) + record_of("last"));
}

TEST(EventBatch, KeepsNoTraceOfAnEventThatFailedHalfWay) {
  detail::EventBatch batch;
  batch.add_encoded([](std::string& bytes) { bytes += "first"; });
  const auto fail = [](std::string& bytes) {
    bytes += "half";
    throw InvalidArgumentError("no tag");
  };
  EXPECT_THROW(batch.add_encoded(fail), InvalidArgumentError);
  batch.add_encoded([](std::string& bytes) { bytes += "last"; });
  EXPECT_EQ(records_of(batch), record_of("first") + record_of("last"));
}

TEST(EventBatch, GivesBackTheMemoryOfALargeEvent) {
  std::string bytes(std::size_t{5} << 20, 'x');
  detail::clear_events(bytes);
  EXPECT_TRUE(bytes.empty());
  EXPECT_LT(bytes.capacity(), 100U);
  bytes.assign(1000, 'x');
  detail::clear_events(bytes);
  EXPECT_TRUE(bytes.empty());
  EXPECT_GE(bytes.capacity(), 1000U);
}

TEST(EventBatch, IsEmptyOnceCleared) {
  detail::EventBatch batch;
  batch.add_encoded([](std::string& bytes) { bytes += std::string(8U << 20, 'x'); });
  batch.add_histogram({.tag = "w", .values = Tensor::of<float>({1, 2})});
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.byte_size(), 0U);
  EXPECT_EQ(records_of(batch), "");
}

}  // namespace
}  // namespace trainhook
