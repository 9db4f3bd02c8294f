// SPDX-License-Identifier: Apache-2.0
/// @file
/// Event files that TensorFlow 1 and TensorFlow 2 wrote, whole and damaged.
#include <trainhook/events/event_reader.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/records.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"
#include "data_files.hpp"

namespace trainhook {
namespace {

/// An event in one line, bytes by their number.
std::string line_of(const Event& event) {
  std::string line = fmt::format("{} {}{}{}", event.step, event.file_version, event.source_writer.empty() ? "" : " by ",
                                 event.source_writer);
  if (!event.graph_def.empty()) line += " graph";
  if (!event.meta_graph_def.empty()) line += " meta graph";
  for (const SummaryValue& value : event.values) {
    line += fmt::format(" {}({})", value.tag, value.plugin);
    if (value.scalar) line += fmt::format("={}", *value.scalar);
    if (value.histogram)
      line += fmt::format("={}..{}/{}", value.histogram->min, value.histogram->max, value.histogram->num);
    for (const SummaryImage& image : value.images) line += fmt::format("={}x{}", image.width, image.height);
    if (value.text) line += "=" + *value.text;
  }
  if (event.session_log)
    line +=
        fmt::format(" status {} {}", static_cast<int>(event.session_log->status), event.session_log->checkpoint_path);
  if (event.run_metadata) line += " run metadata " + event.run_metadata->tag;
  return line;
}

std::vector<std::string> lines_of(FileSystem& file_system, const std::string& path) {
  const EventFileContents contents = read_events(file_system, path);
  EXPECT_TRUE(contents.problems.empty());
  std::vector<std::string> lines;
  for (const Event& event : contents.events) lines.push_back(line_of(event));
  return lines;
}

TEST(EventReaderOfTensorFlow, ReadsEachKindOfEventOfTensorFlow1) {
  const std::string summaries =
      "  loss()=0.25 weights()=-1..2/4 picture/image/0()=5x4 picture/image/1()=5x4 sound/audio/0(audio)";
  const std::vector<std::string> expected = {"0 brain.Event:2 by tensorflow.core.util.events_writer",
                                             "0  graph",
                                             "0  meta graph",
                                             "1  status 1 ",
                                             "7" + summaries + " note(text)=hello",
                                             "8" + summaries + " note()=hello",
                                             "8  run metadata step_8",
                                             "8  status 3 run/model.ckpt"};
  EXPECT_EQ(lines_of(posix_file_system(), testing::data_file("events_1.tfevents")), expected);
}

TEST(EventReaderOfTensorFlow, ReadsEachKindOfSummaryOfTensorFlow2) {
  const std::vector<std::string> expected = {"0 brain.Event:2 by tensorflow.core.util.events_writer",
                                             "7  loss(scalars)=0.25",
                                             "7  weights(histograms)=-1..2/4",
                                             "7  picture(images)=5x4=5x4",
                                             "7  sound(audio)",
                                             "7  note(text)=hello"};
  EXPECT_EQ(lines_of(posix_file_system(), testing::data_file("events_2.tfevents")), expected);
}

/// Whatever is done to a file, what is read is what stood there, up to the damage, which is reported.
void damage(const char* name) {
  const std::string file = read_file(posix_file_system(), testing::data_file(name));
  const std::vector<Event> sound = read_events(posix_file_system(), testing::data_file(name)).events;
  std::vector<std::string> lines;
  for (const Event& event : sound) lines.push_back(line_of(event));
  testing::MemoryFileSystem disk;
  testing::for_each_damage(
      file,
      [&](const std::string& damaged, const testing::Damage& damage) {
        disk.write_file("run/x.tfevents", damaged);
        const EventFileContents contents = read_events(disk, "run/x.tfevents");
        ASSERT_LE(contents.events.size(), sound.size()) << damage;
        for (std::size_t i = 0; i < contents.events.size(); ++i)
          EXPECT_EQ(line_of(contents.events[i]), lines[i]) << damage;
        if (!damage.is_cut || contents.dropped_bytes > 0) {
          ASSERT_EQ(contents.problems.size(), 1U) << damage;
          EXPECT_NE(contents.problems[0].find("run/x.tfevents"), std::string::npos) << contents.problems[0];
        }
      },
      15'000);
}

TEST(EventReaderOfTensorFlow, NeverTakesDamageForEventsOfTensorFlow1) { damage("events_1.tfevents"); }
TEST(EventReaderOfTensorFlow, NeverTakesDamageForEventsOfTensorFlow2) { damage("events_2.tfevents"); }

TEST(EventReaderOfTensorFlow, AnyEventWithAFlippedBitIsAnErrorOrIsReadThoughTheChecksumsFit) {
  for (const char* name : {"events_1.tfevents", "events_2.tfevents"}) {
    detail::RecordReader records(posix_file_system().open_readable(testing::data_file(name)));
    for (std::string record; records.next(record);) {
      testing::expect_refused_or_read(
          record, "run/x.tfevents", [](const std::string& damaged) { return parse_event(damaged, "run/x.tfevents"); },
          4'000);
    }
  }
}

}  // namespace
}  // namespace trainhook
