// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of FileWriter: what it writes, when it waits, and what it says when the disk fails.
#include <trainhook/events/file_writer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <regex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <allocations.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/process_faults.hpp>
#include <trainhook/testing/recording_writer.hpp>

#include "fixed_clock.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using testing::FaultyFileSystem;
using testing::FileOperation;
using testing::MemoryFileSystem;

/// A disk in memory that can be made to fail, and a writer's options to use it.
struct Disk {
  MemoryFileSystem memory{};
  FaultyFileSystem faulty{memory};
  FixedClock clock{};

  [[nodiscard]] FileWriterOptions options(EventErrors on_error = EventErrors::Throw) {
    return {.flush_secs = 1h, .on_error = on_error, .file_system = &faulty, .clock = &clock};
  }

  /// Whether the operation `n` is one whose failure counts: one that only looks at the file costs nothing.
  [[nodiscard]] bool fails_something(std::uint64_t n) {
    const std::vector<std::string> all = faulty.trace();
    return n <= all.size() && !all[n - 1].starts_with("file_size");
  }

  /// All events in all files but the versions, in the order of the files' numbers.
  [[nodiscard]] std::vector<Event> events() {
    std::vector<Event> all;
    for (const std::string& path : files()) {
      for (Event& event : read_events(memory, path).events) {
        if (event.file_version.empty()) all.push_back(std::move(event));
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<std::string> files() {
    std::vector<std::string> paths = memory.files();
    std::ranges::sort(paths, {}, [](const std::string& path) { return std::stoull(path.substr(path.rfind('.') + 1)); });
    return paths;
  }

  [[nodiscard]] std::vector<std::int64_t> steps() {
    std::vector<std::int64_t> all;
    for (const Event& event : events()) all.push_back(event.step);
    return all;
  }
};

template <class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) { return error.what(); }
  return "no error";
}

TEST(FileWriter, TouchesNoDiskBeforeTheFirstEvent) {
  Disk disk;
  {
    FileWriter writer("run", disk.options());
    writer.flush();
    writer.sync();
    writer.close();
  }
  EXPECT_EQ(disk.faulty.count(), 0U);
}

TEST(FileWriter, WritesTheVersionAndThenTheEvents) {
  Disk disk;
  FileWriter writer("run/train", disk.options());
  writer.add_scalar("loss", 0.25, 7);
  writer.flush();
  ASSERT_EQ(disk.files().size(), 1U);
  const std::string path = disk.files()[0];
  EXPECT_TRUE(std::regex_match(path, std::regex(R"(run/train/events\.out\.tfevents\.1700000000\.[^/]+\.\d+\.\d+)")))
      << path;
  const EventFileContents contents = read_events(disk.memory, path);
  ASSERT_EQ(contents.events.size(), 2U);
  EXPECT_EQ(contents.events[0].file_version, "brain.Event:2");
  EXPECT_EQ(contents.events[0].source_writer, "trainhook.events.file_writer");
  EXPECT_EQ(contents.events[0].wall_time, 1700000000.0);
  const std::string_view record(
      "\x1a\0\0\0\0\0\0\0\x12\x9b\xd8\x2d"                                                                     // length
      "\x09\0\0\x20\x40\xfc\x54\xd9\x41\x10\x07\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3e\xc5\x76\x51\x8e",  // event
      42);
  EXPECT_TRUE(disk.memory.contents(path).ends_with(record));
}

TEST(FileWriter, PutsSecondsOfTenDigitsAndTheSuffixIntoTheName) {
  Disk disk;
  FixedClock early(42.9);
  FileWriterOptions options = disk.options();
  options.clock = &early;
  options.filename_suffix = ".v2";
  FileWriter writer("run", options);
  writer.add_scalar("a", 1, 1);
  writer.close();
  EXPECT_TRUE(disk.memory.files().at(0).starts_with("run/events.out.tfevents.0000000042."));
  EXPECT_TRUE(disk.memory.files().at(0).ends_with(".v2"));
}

TEST(FileWriter, TakesAnotherNumberIfTheNameIsTaken) {
  Disk disk;
  bool taken = false;
  disk.faulty.set_callback([&](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::CreateWritable && !std::exchange(taken, true))
      disk.memory.write_file(path, "another writer's");
  });
  FileWriter writer("run", disk.options());
  writer.add_scalar("a", 1, 1);
  writer.close();
  ASSERT_EQ(disk.files().size(), 2U);
  EXPECT_EQ(disk.memory.contents(disk.files()[0]), "another writer's");
  EXPECT_EQ(disk.steps(), std::vector<std::int64_t>{1});
}

TEST(FileWriter, KeepsTheOrderOfEventsOfAllKinds) {
  Disk disk;
  FileWriter writer("run", disk.options());
  const std::vector<float> weights{-1, 0, 0.5F, 2};
  const std::array<std::int64_t, 2> counts{3, 4};
  writer.add_session_log({SessionLog::Start}, 1);
  writer.add_graph("graph");
  writer.add_histogram("w", weights, 2);
  writer.add_scalar("loss", 0.5, 3);
  writer.add_histogram("n", counts, 4);
  writer.add_histogram("z", std::vector<char>{1, 2}, 4);
  writer.add_text("note", "hello", 5);
  writer.add_image("i/image", {.height = 1, .width = 1, .channels = 1, .bytes = "png"}, 6);
  writer.add_summary(scalar_summary("a", 1) + scalar_summary("b", 2), 7);
  writer.add_meta_graph("meta", 8);
  writer.add_run_metadata("run", "step_9", 9);
  writer.close();
  const std::vector<Event> events = disk.events();
  ASSERT_EQ(events.size(), 11U);
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 0, 2, 3, 4, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(events[0].session_log, SessionLog{SessionLog::Start});
  EXPECT_EQ(events[1].graph_def, "graph");
  EXPECT_EQ(events[2].values.at(0).histogram, histogram_of("w", std::span<const float>(weights)));
  EXPECT_EQ(events[3].values.at(0).scalar, 0.5F);
  EXPECT_EQ(events[4].values.at(0).histogram.value().sum, 7);
  EXPECT_EQ(events[5].values.at(0).histogram.value().sum, 3);
  EXPECT_EQ(events[6].values.at(0).text, "hello");
  EXPECT_EQ(events[7].values.at(0).images.at(0).bytes, "png");
  EXPECT_EQ(events[8].values.size(), 2U);
  EXPECT_EQ(events[9].meta_graph_def, "meta");
  EXPECT_EQ(events[10].run_metadata.value().run_metadata, "run");
}

TEST(FileWriter, CountsATensorAsItWasWhenItWasAdded) {
  Disk disk;
  FileWriter writer("run", disk.options());
  Tensor weights = Tensor::of<float>({1, 2, 3});
  writer.add_histogram("w", weights, 1);
  weights.mutable_data<float>()[0] = 100;
  writer.close();
  EXPECT_EQ(disk.events().at(0).values.at(0).histogram.value().sum, 6);
}

TEST(FileWriter, RefusesAHistogramWithNanAtTheCall) {
  Disk disk;
  FileWriter writer("run", disk.options());
  const std::vector<float> weights{1, std::numeric_limits<float>::quiet_NaN()};
  const std::string message = message_of([&] { writer.add_histogram("layer/w", weights, 1); });
  EXPECT_TRUE(message.starts_with("Nan in summary histogram for: layer/w")) << message;
  EXPECT_THROW(writer.add_histogram("s", Tensor("text"), 1), InvalidArgumentError);
  EXPECT_THROW(writer.add_histogram("", weights, 1), InvalidArgumentError);
  EXPECT_THROW(writer.add_scalar("", 1, 1), InvalidArgumentError);
  writer.add_scalar("a", 1, 2);
  writer.close();
  EXPECT_EQ(disk.steps(), std::vector<std::int64_t>{2});
}

TEST(FileWriter, TakesEachTagOfRunMetadataOnce) {
  Disk disk;
  FileWriter writer("run", disk.options());
  writer.add_run_metadata("one", "step_1", 1);
  EXPECT_THROW(writer.add_run_metadata("two", "step_1", 1), InvalidArgumentError);
  writer.add_run_metadata("two", "step_2", 2);
  writer.close();
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 2}));
}

TEST(FileWriter, WritesManyEventsInFewPieces) {
  Disk disk;
  FileWriter writer("run", disk.options());
  for (int step = 1; step <= 400; ++step) writer.add_scalar("a", step, step);
  writer.close();
  EXPECT_EQ(disk.steps().size(), 400U);
  EXPECT_LE(disk.faulty.count(FileOperation::Append),
            3U);  // the version, what the first event woke it for, and the rest
}

TEST(FileWriter, WaitsRatherThanDroppingIfTheQueueIsFull) {
  Disk disk;
  FileWriterOptions options = disk.options();
  options.max_queue = 2;
  FileWriter writer("run", options);
  std::vector<std::int64_t> expected;
  for (int step = 1; step <= 500; ++step) {
    writer.add_scalar("a", step, step);
    expected.push_back(step);
  }
  writer.close();
  EXPECT_EQ(disk.steps(), expected);
  EXPECT_GE(disk.faulty.count(FileOperation::Append), 251U);  // the version, and never more than two events at once
}

TEST(FileWriter, WritesByItselfAfterTheFlushPeriod) {
  Disk disk;
  FileWriterOptions options = disk.options();
  options.flush_secs = 1ms;
  FileWriter writer("run", options);
  for (int step = 1; step <= 3; ++step) {
    writer.add_scalar("a", 1, step);
    while (disk.steps().size() < static_cast<std::size_t>(step)) std::this_thread::yield();
  }
}

TEST(FileWriter, MayBeUsedFromSeveralThreads) {
  Disk disk;
  FileWriterOptions options = disk.options();
  options.max_queue = 16;
  FileWriter writer("run", options);
  constexpr int kEach = 300;
  std::vector<std::thread> threads;
  for (const char* tag : {"a", "b", "c"}) {
    threads.emplace_back([&writer, tag] {
      for (int step = 1; step <= kEach; ++step) {
        writer.add_scalar(tag, step, step);
        if (step % 50 == 0) writer.add_histogram("h", std::array{1.0F, 2.0F}, step);
        if (step % 100 == 0) writer.flush();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer.close();
  std::map<std::string, std::vector<std::int64_t>> steps;
  for (const Event& event : disk.events()) steps[event.values.at(0).tag].push_back(event.step);
  EXPECT_EQ(steps["h"].size(), 18U);
  for (const char* tag : {"a", "b", "c"}) {
    EXPECT_EQ(steps[tag].size(), static_cast<std::size_t>(kEach)) << tag;
    EXPECT_TRUE(std::ranges::is_sorted(steps[tag])) << tag;
  }
}

TEST(FileWriter, AllocatesNothingForAScalarInTheSteadyState) {
  Disk disk;
  FileWriter writer("run", disk.options());
  const auto add_hundred = [&writer] {
    for (int step = 0; step < 100; ++step)
      writer.add_scalar("a tag that is too long for the string's own buffer", step, step);
  };
  for (int round = 0; round < 4; ++round) {
    add_hundred();
    writer.flush();
  }
  const support::AllocationCount count;
  add_hundred();
  EXPECT_EQ(count.so_far(), 0U);
}

TEST(FileWriter, KeepsWhatWasSyncedThroughAPowerCut) {
  Disk disk;
  auto writer = std::make_unique<FileWriter>("run", disk.options());
  writer->add_scalar("a", 1, 1);
  writer->sync();
  writer->add_scalar("a", 1, 2);
  writer->flush();
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 2}));
  disk.memory.crash();
  EXPECT_EQ(disk.steps(), std::vector<std::int64_t>{1});
}

TEST(FileWriter, ReportsAFullDiskAndContinuesInANewFile) {
  Disk disk;
  FileWriter writer("run", disk.options());
  writer.add_scalar("a", 1, 1);
  writer.flush();
  const std::string first = disk.files().at(0);
  disk.faulty.fail_at(FileOperation::Append, 1, ErrorCode::ResourceExhausted);
  writer.add_scalar("a", 1, 2);
  writer.add_scalar("a", 1, 3);
  try {
    writer.flush();
    FAIL();
  } catch (const ResourceExhaustedError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(first), std::string::npos) << message;
    EXPECT_NE(message.find("2 events are lost"), std::string::npos) << message;
  }
  writer.add_scalar("a", 1, 4);
  writer.close();
  ASSERT_EQ(disk.files().size(), 2U);
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(read_events(disk.memory, disk.files()[1]).events.at(0).file_version, "brain.Event:2");
}

TEST(FileWriter, AppendsNothingBehindATornRecord) {
  Disk disk;
  FileWriter writer("run", disk.options());
  writer.add_scalar("a", 1, 1);
  writer.flush();
  const std::string first = disk.files().at(0);
  std::string torn;
  disk.faulty.set_callback([&](FileOperation operation, const std::string& path) {
    if (operation != FileOperation::Append || !torn.empty()) return;
    torn = disk.memory.contents(path) + std::string("\x1a\0\0\0\0\0\0\0\x12\x9b", 10);
    disk.memory.write_file(path, torn);
    throw DataLossError("cannot write to {}: Input/output error", path);
  });
  writer.add_scalar("a", 1, 2);
  EXPECT_THROW(writer.flush(), DataLossError);
  writer.add_scalar("a", 1, 3);
  writer.close();
  EXPECT_EQ(disk.memory.contents(first), torn);
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 3}));
}

TEST(FileWriter, ReportsAFailureToTheNextThatAdds) {
  Disk disk;
  FileWriterOptions options = disk.options();
  options.max_queue = 1;
  FileWriter writer("run", options);
  disk.faulty.fail_at(FileOperation::MakeDirectories, 1, ErrorCode::PermissionDenied);
  writer.add_scalar("a", 1, 1);
  std::string message = "no error";
  std::int64_t step = 2;
  for (; step < 1'000'000 && message == "no error"; ++step) {
    message = message_of([&] { writer.add_scalar("a", 1, step); });
  }
  EXPECT_NE(message.find("run"), std::string::npos) << message;
  EXPECT_NE(message.find("1 event is lost"), std::string::npos) << message;
  writer.add_scalar("a", 1, step);  // step - 1 is the one that was refused
  writer.close();
  std::vector<std::int64_t> expected;
  for (std::int64_t kept = 2; kept < step - 1; ++kept) expected.push_back(kept);
  expected.push_back(step);
  EXPECT_EQ(disk.steps(), expected);
}

TEST(FileWriter, LeavesNoFileWhoseVersionCouldNotBeWritten) {
  Disk disk;
  FileWriter writer("run", disk.options());
  disk.faulty.fail_at(FileOperation::Append, 1);
  writer.add_scalar("a", 1, 1);
  EXPECT_THROW(writer.flush(), ResourceExhaustedError);
  EXPECT_TRUE(disk.files().empty());
  writer.close();
}

TEST(FileWriter, GivesUpAFileThatCannotBeSynced) {
  Disk disk;
  FileWriter writer("run", disk.options());
  writer.add_scalar("a", 1, 1);
  disk.faulty.fail_at(FileOperation::Sync, 1, ErrorCode::DataLoss);
  const std::string message = message_of([&] { writer.sync(); });
  EXPECT_NE(message.find("may be lost"), std::string::npos) << message;
  writer.add_scalar("a", 1, 2);
  writer.sync();
  writer.close();
  EXPECT_EQ(disk.files().size(), 2U);
}

TEST(FileWriter, FailsAnyOperationOnlyAsAnErrorAndLosesNoLaterEvent) {
  std::uint64_t operations = 0;
  for (std::uint64_t n = 1; n <= operations || n == 1; ++n) {
    Disk disk;
    disk.faulty.fail_at(n, ErrorCode::DataLoss);
    FileWriter writer("run", disk.options());
    int errors = 0;
    for (const std::int64_t step : {1, 2}) {
      writer.add_scalar("a", 1, step);
      if (message_of([&] { writer.sync(); }) != "no error") ++errors;
    }
    writer.add_scalar("a", 1, 3);
    if (message_of([&] { writer.close(); }) != "no error") ++errors;
    operations = std::max(operations, disk.faulty.count());
    const std::vector<std::int64_t> steps = disk.steps();
    EXPECT_EQ(errors, disk.fails_something(n) ? 1 : 0) << n;
    for (const std::string& path : disk.files()) EXPECT_TRUE(read_events(disk.memory, path).problems.empty()) << n;
    EXPECT_TRUE(std::ranges::is_sorted(steps)) << n;
    EXPECT_GE(steps.size(), 2U) << n;
  }
  EXPECT_GE(operations, 8U);
}

TEST(FileWriter, ClosesOnceAndTakesNothingAfterwards) {
  Disk disk;
  FileWriter writer("run", disk.options());
  writer.add_scalar("a", 1, 1);
  writer.close();
  writer.close();
  writer.flush();
  writer.sync();
  EXPECT_THROW(writer.add_scalar("a", 1, 2), FailedPreconditionError);
  EXPECT_THROW(writer.add_histogram("a", std::array{1.0F}, 2), FailedPreconditionError);
  EXPECT_EQ(disk.steps(), std::vector<std::int64_t>{1});
}

TEST(FileWriter, ReportsAtCloseAnErrorThatWasNotReportedBefore) {
  Disk disk;
  FileWriter writer("run", disk.options());
  disk.faulty.fail_from(1, ErrorCode::PermissionDenied);
  writer.add_scalar("a", 1, 1);
  EXPECT_THROW(writer.close(), PermissionDeniedError);
  writer.close();
}

TEST(FileWriter, LogsInTheDestructorAnErrorThatWasNotReportedBefore) {
  Disk disk;
  std::string lines;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view line) { lines += line; });
  {
    FileWriter writer("run", disk.options());
    disk.faulty.fail_from(1, ErrorCode::PermissionDenied);
    writer.add_scalar("a", 1, 1);
  }
  set_log_sink(before);
  EXPECT_TRUE(lines.starts_with("FileWriter of run: PermissionDenied: ")) << lines;
}

TEST(FileWriter, WarnsOnceCountsAndContinuesByDefault) {
  EXPECT_EQ(FileWriterOptions{}.on_error, EventErrors::Warn);
  testing::LogLines log;
  Disk disk;
  FileWriter writer("run", disk.options(EventErrors::Warn));
  writer.add_scalar("a", 1, 1);
  writer.flush();
  const std::string first = disk.files().at(0);
  disk.memory.set_capacity(100);
  writer.add_scalar("a", 1, 2);
  writer.add_scalar("a", 1, 3);
  writer.flush();
  for (std::int64_t step = 4; step < 7; ++step) {
    writer.add_scalar("a", 1, step);
    writer.sync();
  }
  EXPECT_EQ(writer.lost_events(), 5U);
  disk.memory.set_capacity(1'000'000);
  writer.add_scalar("a", 1, 7);
  writer.sync();
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 7}));
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_TRUE(log.lines[0].starts_with("W FileWriter of run: ResourceExhausted: cannot write to " + first))
      << log.lines[0];
  EXPECT_NE(log.lines[0].find("2 events are lost"), std::string::npos) << log.lines[0];
  EXPECT_NE(log.lines[0].find("EventErrors::Throw"), std::string::npos) << log.lines[0];
  writer.close();
  EXPECT_EQ(log.count("W FileWriter of run: 5 of 7 events were lost"), 1U);
  EXPECT_EQ(log.lines.size(), 2U);
}

TEST(FileWriter, FailsNothingWhateverOperationFailsWhenItWarns) {
  std::uint64_t operations = 1;
  for (std::uint64_t n = 1; n <= operations; ++n) {
    testing::LogLines log;
    Disk disk;
    disk.faulty.fail_at(n, ErrorCode::DataLoss);
    FileWriter writer("run", disk.options(EventErrors::Warn));
    for (const std::int64_t step : {1, 2}) {
      writer.add_scalar("a", 1, step);
      writer.sync();
    }
    writer.add_scalar("a", 1, 3);
    writer.close();
    operations = std::max(operations, disk.faulty.count());
    EXPECT_EQ(log.count("The run continues"), disk.fails_something(n) ? 1U : 0U) << n;
    EXPECT_EQ(disk.steps().size() + writer.lost_events(), 3U) << n;
  }
  EXPECT_GE(operations, 8U);
}

TEST(FileWriter, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(FileWriter("run", {.max_queue = 0}), InvalidArgumentError);
  EXPECT_THROW(FileWriter("run", {.flush_secs = 0s}), InvalidArgumentError);
  EXPECT_THROW(FileWriter("run", {.flush_secs = -1s}), InvalidArgumentError);
}

TEST(FileWriter, PutsAStartRecordOffUntilThereIsSomethingToDrop) {
  Disk disk;
  FileWriter writer("run", disk.options());
  writer.restart_at(5);
  writer.restart_at(3);
  writer.add_graph("graph");
  writer.add_session_log({.status = SessionLog::Checkpoint, .checkpoint_path = "model.ckpt"}, 4);
  writer.add_histogram("weights", std::array{1.0F}, 5);
  writer.add_scalar("loss", 1, 5);
  writer.restart_at(9);
  writer.add_session_log({.status = SessionLog::Start, .msg = "again"}, 8);
  writer.add_scalar("loss", 1, 9);
  writer.close();
  EXPECT_EQ(testing::event_lines(disk.memory, "run"),
            (std::vector<std::string>{"graph", "4 CHECKPOINT model.ckpt", "3 START", "5 weights", "5 loss=1", "8 START",
                                      "9 loss=1"}));
}

TEST(FileWriter, WritesStringsAsUtf8) {
  const testing::LogLines log;
  Disk disk;
  FileWriter writer("run", disk.options());
  writer.add_scalar("l\xe4rm", 1, 1);
  writer.add_histogram("l\xe4rm", std::array{1.0F}, 1);
  writer.add_text("note", "\xff!", 1);
  writer.add_session_log({.status = SessionLog::Checkpoint, .checkpoint_path = "\xe4/model.ckpt"}, 1);
  EXPECT_THROW(writer.add_run_metadata("", "step_\xe4"), InvalidArgumentError);
  writer.close();
  const std::vector<Event> events = disk.events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].values.at(0).tag, "l\xef\xbf\xbdrm");
  EXPECT_EQ(events[1].values.at(0).tag, "l\xef\xbf\xbdrm");
  EXPECT_EQ(events[2].values.at(0).text, "\xef\xbf\xbd!");
  EXPECT_EQ(events[3].session_log->checkpoint_path, "\xef\xbf\xbd/model.ckpt");
  EXPECT_EQ(log.count("is not UTF-8"), 4U);
}

TEST(FileWriter, GoesOnInANewFolderIfItsOwnWasRemoved) {
  const testing::LogLines log;
  Disk disk;
  FileWriter writer("run", disk.options());
  writer.add_scalar("loss", 1, 1);
  writer.flush();
  for (const std::string& path : disk.files()) disk.memory.remove_file(path);
  disk.memory.remove_directory("run");
  writer.add_scalar("loss", 2, 2);
  writer.close();
  EXPECT_EQ(testing::event_lines(disk.memory, "run"), std::vector<std::string>{"2 loss=2"});
  EXPECT_EQ(writer.lost_events(), 0U);
  EXPECT_EQ(log.count("was removed or replaced, and the events in it are gone"), 1U);
}

TEST(FileWriter, WithoutAThreadEventsAreWrittenByWhoeverAddsThem) {
  testing::LogLines log;
  Disk disk;
  const testing::NoThreads no_threads;
  if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
  {
    FileWriter writer("run", disk.options());
    for (int step = 1; step <= 3; ++step) writer.add_scalar("loss", 0.5, step);
    EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1})) << "the first, which makes the file; others are collected";
    writer.flush();
    EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 2, 3}));
    writer.add_scalar("loss", 0.5, 4);
    writer.sync();
    writer.add_scalar("loss", 0.5, 5);
  }
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.count("W FileWriter of run: the event writer cannot start a thread: "), 1U);
  EXPECT_EQ(log.count("; events are written by whoever adds them"), 1U);
}

TEST(FileWriter, WithoutAThreadAFullQueueIsWrittenAndAFailureIsThrown) {
  testing::LogLines log;
  Disk disk;
  const testing::NoThreads no_threads;
  if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
  FileWriterOptions options = disk.options();
  options.max_queue = 2;
  FileWriter writer("run", options);
  for (int step = 1; step <= 9; ++step) writer.add_scalar("loss", 0.5, step);
  writer.flush();
  EXPECT_EQ(disk.steps().size(), 9U);
  disk.faulty.fail_at(FileOperation::Append, 1);
  EXPECT_NE(message_of([&] {
              writer.add_scalar("loss", 0.5, 10);
              writer.flush();
            }),
            "no error");
}

TEST(FileWriter, WithoutAThreadWaitsNoLongerThanFlushSecs) {
  testing::LogLines log;
  Disk disk;
  const testing::NoThreads no_threads;
  if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
  testing::ManualClock clock;
  FileWriterOptions options = disk.options();
  options.clock = &clock;
  options.flush_secs = std::chrono::seconds(120);
  FileWriter writer("run", options);
  for (int step = 1; step <= 2; ++step) writer.add_scalar("loss", 0.5, step);
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1}));
  clock.advance(std::chrono::seconds(120));
  writer.add_scalar("loss", 0.5, 3);
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(FileWriter, IsDeadInAForkedChild) {
  Disk disk;
  auto writer = std::make_unique<FileWriter>("run", disk.options());
  writer->add_scalar("loss", 0.5, 1);  // its thread waits for more
  writer->flush();
  EXPECT_EQ(testing::run_in_forked_child([&] {
              for (const auto& action : std::vector<std::function<void()>>{
                       [&] { writer->add_scalar("loss", 0.5, 2); }, [&] { writer->flush(); }, [&] { writer->sync(); },
                       [&] { writer->close(); }}) {
                if (message_of(action).find("which has this FileWriter: use it there") == std::string::npos)
                  throw InternalError("{}", message_of(action));
              }
              writer.reset();
              if (disk.steps() != std::vector<std::int64_t>{1}) throw InternalError("the child has written");
            }),
            0);
  writer->add_scalar("loss", 0.5, 3);
  writer->flush();
  EXPECT_EQ(disk.steps(), (std::vector<std::int64_t>{1, 3}));
}

}  // namespace
}  // namespace trainhook
