// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of event messages, byte for byte.
#include <trainhook/events/event_message.hpp>

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/events/summary.hpp>

namespace trainhook {
namespace {

constexpr double kTime = 1700000000.5;

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::string summary_event(std::string_view summary) {
  std::string bytes;
  detail::append_event(bytes, {.wall_time = kTime, .step = 7, .summary = summary});
  return hex(bytes);
}

TEST(Event, DeclaresTheVersion) {
  std::string bytes;
  detail::append_version_event(bytes, 1700000000.0, "");
  EXPECT_EQ(hex(bytes), "0900000040fc54d9411a0d627261696e2e4576656e743a32");
}

TEST(Event, NamesTheWriterInTheVersionEvent) {
  std::string bytes;
  detail::append_version_event(bytes, 1700000000.0, "tensorflow.core.util.events_writer");
  EXPECT_EQ(hex(bytes),
            "0900000040fc54d9411a0d627261696e2e4576656e743a3252240a2274656e736f72666c6f772e636f72652e7574696c2e6576656e"
            "74735f777269746572");
}

TEST(Event, HoldsAScalar) {
  EXPECT_EQ(summary_event(scalar_summary("loss", 0.25F)), "0900002040fc54d94110072a0d0a0b0a046c6f7373150000803e");
}

TEST(Event, WritesAScalarThatIsZero) { EXPECT_EQ(hex(scalar_summary("z", 0.0F)), "0a080a017a1500000000"); }

TEST(Event, HoldsAText) {
  EXPECT_EQ(summary_event(text_summary("note", "hello")),
            "0900002040fc54d94110072a1f0a1d0a046e6f7465420b08071200420568656c6c6f4a080a060a0474657874");
}

TEST(Event, HoldsAHistogram) {
  const std::vector<float> values{-1.0F, 0.0F, 0.5F, 2.0F};
  EXPECT_EQ(summary_event(histogram_summary("w", std::span<const float>(values))),
            "0900002040fc54d94110072aca010ac7010a01772ac10109000000000000f0bf11000000000000004019000000000000"
            "104021000000000000f83f2900000000"
            "0000154032482b14facdbe24f0bf08996919155aedbf000000000000000011ea2d819997713dfae55a25d31fde3fb031"
            "25ee8091e03fdc94cd2e8d75ff3fe011"
            "f10c744d0140ffffffffffffef7f3a480000000000000000000000000000f03f0000000000000000000000000000f03f"
            "0000000000000000000000000000f03f"
            "0000000000000000000000000000f03f0000000000000000");
}

TEST(Event, HoldsAnImage) {
  EXPECT_EQ(hex(image_summary("i/image", {.height = 2, .width = 3, .channels = 1, .bytes = "png"})),
            "0a160a07692f696d616765220b080210031801"
            "2203706e67");
}

TEST(Event, HoldsSessionLogs) {
  std::string start;
  detail::append_event(start, {.wall_time = kTime, .step = 7, .session_log = SessionLog{SessionLog::Start}});
  EXPECT_EQ(hex(start), "0900002040fc54d94110073a020801");
  std::string checkpoint;
  detail::append_event(checkpoint, {.wall_time = kTime,
                                    .step = 7,
                                    .session_log = SessionLog{.status = SessionLog::Checkpoint,
                                                              .checkpoint_path = "/tmp/m/model.ckpt"}});
  EXPECT_EQ(hex(checkpoint), "0900002040fc54d94110073a15080312112f746d702f6d2f6d6f64656c2e636b7074");
}

TEST(Event, HoldsASessionLogThatSaysNothing) {
  std::string bytes;
  detail::append_event(bytes, {.wall_time = kTime, .step = 7, .session_log = SessionLog{}});
  EXPECT_EQ(hex(bytes), "0900002040fc54d94110073a00");
}

TEST(Event, HoldsGraphsAndRunMetadata) {
  std::string graph;
  detail::append_event(graph, {.wall_time = kTime, .step = 0, .graph_def = "G"});
  EXPECT_EQ(hex(graph), "0900002040fc54d941220147");
  std::string meta_graph;
  detail::append_event(meta_graph, {.wall_time = kTime, .step = 0, .meta_graph_def = "M"});
  EXPECT_EQ(hex(meta_graph), "0900002040fc54d9414a014d");
  std::string metadata;
  detail::append_event(
      metadata,
      {.wall_time = kTime, .step = 7, .tagged_run_metadata = detail::TaggedRunMetadataMessage{"step_7", "R"}});
  EXPECT_EQ(hex(metadata), "0900002040fc54d9411007420b0a06737465705f37120152");
}

TEST(Event, WritesANegativeStepAsTenBytes) {
  std::string bytes;
  detail::append_event(bytes, {.wall_time = kTime, .step = -1, .summary = ""});
  EXPECT_EQ(hex(bytes), "0900002040fc54d94110ffffffffffffffffff012a00");
}

}  // namespace
}  // namespace trainhook
