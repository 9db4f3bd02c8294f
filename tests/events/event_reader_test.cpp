// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of reading event files, whole and damaged; of read_eval_metrics: what it finds, and what it makes of damage;
/// and of summaries that are not what their plugin says: the others are tested with what writes them.
#include <trainhook/events/event_reader.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/records.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"

namespace trainhook {
namespace {

constexpr double kTime = 1700000000.5;

/// Two scalars behind the version, with the offsets at which records end.
struct SmallFile {
  std::string bytes;
  std::vector<std::size_t> ends;

  SmallFile() {
    std::string event;
    detail::append_version_event(event, 1700000000.0, "writer");
    add(event);
    for (const std::int64_t step : {1, 2}) {
      event.clear();
      detail::append_event(
          event, {.wall_time = kTime, .step = step, .summary = scalar_summary("loss", static_cast<float>(step) / 2)});
      add(event);
    }
  }

  void add(std::string_view event) {
    detail::append_record(bytes, event);
    ends.push_back(bytes.size());
  }
};

EventFileContents read_bytes(std::string bytes) {
  testing::MemoryFileSystem disk;
  disk.write_file("run/events.out.tfevents.1", std::move(bytes));
  return read_events(disk, "run/events.out.tfevents.1");
}

TEST(EventReader, GivesBackEveryKindOfEvent) {
  SmallFile file;
  const auto add = [&file](auto&& append) {
    std::string event;
    append(event);
    file.add(event);
  };
  const Histogram histogram = histogram_of("w", Tensor::of<float>({-1, 0, 0.5F, 2}));
  const EncodedImage image{.height = 2, .width = 3, .channels = 4, .bytes = "png"};
  add([&](std::string& bytes) {
    detail::append_event(
        bytes, {.wall_time = kTime,
                .step = 3,
                .summary = histogram_summary("w", histogram) + image_summary("i", image) + text_summary("t", "*x*")});
  });
  add([](std::string& bytes) {
    detail::append_event(
        bytes,
        {.wall_time = kTime, .step = 4, .session_log = SessionLog{SessionLog::Checkpoint, "run/model.ckpt", "saved"}});
  });
  add([](std::string& bytes) { detail::append_event(bytes, {.wall_time = kTime, .step = 5, .graph_def = "graph"}); });
  add([](std::string& bytes) {
    detail::append_event(bytes, {.wall_time = kTime, .step = 6, .meta_graph_def = "meta"});
  });
  add([](std::string& bytes) {
    detail::append_event(bytes, {.wall_time = kTime,
                                 .step = -7,
                                 .tagged_run_metadata = detail::TaggedRunMetadataMessage{"step_7", "metadata"}});
  });

  const EventFileContents contents = read_bytes(file.bytes);
  EXPECT_TRUE(contents.problems.empty());
  EXPECT_EQ(contents.dropped_bytes, 0U);
  ASSERT_EQ(contents.events.size(), 8U);
  EXPECT_EQ(contents.events[0].file_version, "brain.Event:2");
  EXPECT_EQ(contents.events[0].source_writer, "writer");
  EXPECT_EQ(contents.events[0].wall_time, 1700000000.0);
  EXPECT_EQ(contents.events[1].wall_time, kTime);
  EXPECT_EQ(contents.events[2].step, 2);
  EXPECT_EQ(contents.events[2].values.at(0).tag, "loss");
  EXPECT_EQ(contents.events[2].values.at(0).scalar, 1.0F);
  const std::vector<SummaryValue>& values = contents.events[3].values;
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0].histogram, histogram);
  EXPECT_EQ(values[1].images.at(0).width, 3);
  EXPECT_EQ(values[1].images.at(0).height, 2);
  EXPECT_EQ(values[1].images.at(0).channels, 4);
  EXPECT_EQ(values[1].images.at(0).bytes, "png");
  EXPECT_EQ(values[2].text, "*x*");
  EXPECT_EQ(values[2].plugin, "text");
  EXPECT_EQ(contents.events[4].session_log, (SessionLog{SessionLog::Checkpoint, "run/model.ckpt", "saved"}));
  EXPECT_EQ(contents.events[5].graph_def, "graph");
  EXPECT_EQ(contents.events[6].meta_graph_def, "meta");
  EXPECT_EQ(contents.events[7].run_metadata.value().tag, "step_7");
  EXPECT_EQ(contents.events[7].run_metadata.value().run_metadata, "metadata");
  EXPECT_EQ(contents.events[7].step, -7);
}

TEST(EventReader, ReadsScalarsAsTensorFlow2WritesThem) {
  const std::string_view value(
      "\x0a\x1f\x0a\x04loss\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x80\x3e\x4a\x0b\x0a\x09\x0a\x07scalars", 33);
  const std::vector<SummaryValue> values = parse_summary(value);
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].scalar, 0.25F);
  EXPECT_EQ(values[0].plugin, "scalars");
}

TEST(EventReader, KeepsWholeRecordsOfAFileThatIsCutOffAnywhere) {
  const SmallFile file;
  for (std::size_t size = 0; size <= file.bytes.size(); ++size) {
    const EventFileContents contents = read_bytes(file.bytes.substr(0, size));
    std::size_t whole = 0;
    while (whole < file.ends.size() && file.ends[whole] <= size) ++whole;
    const std::size_t end = whole == 0 ? 0 : file.ends[whole - 1];
    EXPECT_EQ(contents.events.size(), whole) << size;
    EXPECT_EQ(contents.dropped_bytes, size - end) << size;
    EXPECT_EQ(contents.problems.size(), size == end ? 0U : 1U) << size;
  }
}

TEST(EventReader, StopsBeforeARecordWithAFlippedBitAndSaysWhere) {
  const SmallFile file;
  for (std::size_t bit = file.ends[0] * 8; bit < file.ends[1] * 8; ++bit) {
    const EventFileContents contents = read_bytes(testing::flipped(file.bytes, bit));
    EXPECT_EQ(contents.events.size(), 1U) << bit;
    EXPECT_EQ(contents.dropped_bytes, file.bytes.size() - file.ends[0]) << bit;
    ASSERT_EQ(contents.problems.size(), 1U) << bit;
    EXPECT_NE(contents.problems[0].find("run/events.out.tfevents.1"), std::string::npos) << contents.problems[0];
    EXPECT_NE(contents.problems[0].find("byte " + std::to_string(file.ends[0])), std::string::npos)
        << contents.problems[0];
  }
}

TEST(EventReader, SkipsAWholeRecordThatIsNotAnEvent) {
  SmallFile file;
  file.add("\x09 short");
  file.add(std::string_view("\x10\x07", 2));
  const EventFileContents contents = read_bytes(file.bytes);
  EXPECT_EQ(contents.events.size(), 4U);
  EXPECT_EQ(contents.events.back().step, 7);
  EXPECT_EQ(contents.problems.size(), 1U);
  EXPECT_EQ(contents.dropped_bytes, 0U);
}

TEST(EventReader, SurvivesAnyChangedByteOfAnEvent) {
  const Histogram histogram = histogram_of("w", Tensor::of<float>({-1, 2}));
  std::string event;
  detail::append_event(
      event, {.wall_time = kTime, .step = 3, .summary = histogram_summary("w", histogram) + text_summary("t", "x")});
  for (std::size_t i = 0; i < event.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = event;
      changed[i] = static_cast<char>(value);
      try {
        static_cast<void>(parse_event(changed));
      } catch (const DataLossError&) {  // refused: as good as understood
      }
    }
  }
}

TEST(EventReader, ListsEventFilesInOrder) {
  testing::MemoryFileSystem disk;
  for (const char* name :
       {"run/events.out.tfevents.2", "run/checkpoint", "run/events.out.tfevents.1", "run/eval/x.tfevents.3"}) {
    disk.write_file(name, "");
  }
  EXPECT_EQ(list_event_files(disk, "run"),
            (std::vector<std::string>{"run/events.out.tfevents.1", "run/events.out.tfevents.2"}));
  EXPECT_TRUE(list_event_files(disk, "nowhere").empty());
  EXPECT_THROW(static_cast<void>(read_events(disk, "run/none")), NotFoundError);
}

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

SummaryValue tensor_value(std::string_view plugin, detail::TensorMessage tensor) {
  const std::string summary =
      detail::summary_of({.tag = "t",
                          .tensor = std::move(tensor),
                          .metadata = detail::SummaryMetadataMessage{.plugin_data = {.plugin_name = plugin}}});
  return parse_summary(summary).at(0);
}

/// A summary whose tensor holds these doubles under these dims.
SummaryValue histogram_like(const std::vector<std::int64_t>& dims, const std::vector<double>& numbers) {
  return tensor_value("histograms", {.dtype = static_cast<std::uint64_t>(DType::Double),
                                     .tensor_shape = detail::shape_message(dims),
                                     .double_val = numbers});
}

SummaryValue image_like(const std::vector<std::string>& strings) {
  const std::array dims{static_cast<std::int64_t>(strings.size())};
  return tensor_value("images", {.dtype = static_cast<std::uint64_t>(DType::String),
                                 .tensor_shape = detail::shape_message(dims),
                                 .string_val = {strings.begin(), strings.end()}});
}

TEST(SummaryReader, TakesAHistogramOfNumbersThatAreNotPacked) {
  const Histogram histogram = histogram_like({2, 3}, {0, 1, 4, 1, 3, 6}).histogram.value();
  EXPECT_EQ(histogram.bucket_limit, (std::vector<double>{1, 3}));
  EXPECT_EQ(histogram.bucket, (std::vector<double>{4, 6}));
  EXPECT_EQ(histogram.min, 0);
  EXPECT_EQ(histogram.max, 3);
  EXPECT_EQ(histogram.num, 10);
}

TEST(SummaryReader, LeavesTensorsAloneWhoseShapeIsNotTheirContents) {
  EXPECT_FALSE(histogram_like({3, 3}, {0, 1, 4, 1, 3, 6}).histogram.has_value());
  EXPECT_FALSE(histogram_like({3, 2}, {0, 1, 4, 1, 3, 6}).histogram.has_value());
  EXPECT_FALSE(histogram_like({-1, 3}, {}).histogram.has_value());
  EXPECT_FALSE(histogram_like({INT64_MAX, 3}, {0, 1, 4}).histogram.has_value());
  EXPECT_TRUE(histogram_like({0, 3}, {}).histogram.has_value());
}

TEST(SummaryReader, NamesTheDashboardOfAudioOfTensorFlow1) {
  const std::string summary =
      detail::summary_of({.tag = "t", .audio = detail::SummaryAudioMessage{.sample_rate = 8000}});
  EXPECT_EQ(parse_summary(summary).at(0), (SummaryValue{.tag = "t", .plugin = "audio"}));
}

TEST(SummaryReader, LeavesImagesAloneWhoseSizeIsNotANumber) {
  EXPECT_EQ(image_like({"3", "2", "png"}).images.size(), 1U);
  for (const std::vector<std::string>& strings :
       std::vector<std::vector<std::string>>{{"3"}, {"3x", "2", "png"}, {"3", "", "png"}, {}}) {
    const SummaryValue value = image_like(strings);
    EXPECT_TRUE(value.images.empty());
    EXPECT_FALSE(value.text.has_value());
  }
}

}  // namespace
}  // namespace trainhook
