// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordingWriter: every kind of event as a line.
#include <trainhook/testing/recording_writer.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook::testing {
namespace {

TEST(RecordingWriter, GivesALineForEachEvent) {
  RecordingWriter recorder;
  FileWriter& writer = *recorder.writer();
  writer.add_graph("a graph");
  writer.add_meta_graph("a meta graph");
  writer.add_scalar("loss", 0.5, 9);
  writer.add_histogram("weights", std::vector<float>{1, 2}, 9);
  EXPECT_EQ(recorder.lines(), (std::vector<std::string>{"graph", "meta_graph", "9 loss=0.5", "9 weights"}));
  writer.add_session_log({.status = SessionLog::Start}, 1);
  writer.add_session_log({.status = SessionLog::Stop}, 2);
  writer.add_session_log({.status = SessionLog::Checkpoint, .checkpoint_path = "run/m-4"}, 4);
  writer.add_session_log({.msg = "a note"}, 5);
  writer.add_run_metadata("metadata", "step_6", 6);
  EXPECT_EQ(recorder.lines(),
            (std::vector<std::string>{"graph", "meta_graph", "9 loss=0.5", "9 weights", "1 START", "2 STOP",
                                      "4 CHECKPOINT run/m-4", "5 a note", "6 run_metadata step_6"}));
}

}  // namespace
}  // namespace trainhook::testing
