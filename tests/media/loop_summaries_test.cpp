// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of summaries of images and audio in a loop's own memory.
#include <trainhook/media/loop_summaries.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>
#include <trainhook/media/png.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::string fetch(LoopSession& loop, const Output& output) { return loop.run(output).data<std::string>()[0]; }

TEST(LoopImages, ShowTheMemoryAsItIsAfterTheStep) {
  LoopSession loop;
  Bytes pixels{1, 2, 3, 4};
  const Output digits = summary::image(loop, "digits", pixels, {.height = 1, .width = 2});
  EXPECT_EQ(fetch(loop, digits), image_batch_summary("digits", Bytes{1, 2, 3, 4}, {.height = 1, .width = 2}));
  pixels = {9, 8};
  EXPECT_EQ(fetch(loop, digits), image_batch_summary("digits", Bytes{9, 8}, {.height = 1, .width = 2}));
}

TEST(LoopImages, TakeMemoryOfManyKinds) {
  LoopSession loop;
  const std::array<double, 2> doubles{0, 1};
  std::vector<float> floats{0, 1};
  const ImageBatch batch{.height = 1, .width = 2};
  const Output a = summary::image(loop, "a", doubles, batch);
  const Output b = summary::image(loop, "b", std::span<const float>(floats), batch);
  const Output c = summary::image(
      loop, "c",
      [&] {
        return Bytes{0, 255};
      },
      batch);
  const Output d = summary::image(
      loop, "d", [&]() -> const std::vector<float>& { return floats; }, batch);
  EXPECT_EQ(fetch(loop, a), image_batch_summary("a", Bytes{0, 255}, batch));
  EXPECT_EQ(fetch(loop, b), image_batch_summary("b", Bytes{0, 255}, batch));
  EXPECT_EQ(fetch(loop, c), image_batch_summary("c", Bytes{0, 255}, batch));
  EXPECT_EQ(fetch(loop, d), image_batch_summary("d", Bytes{0, 255}, batch));
}

TEST(LoopImages, AreAmongTheSummariesOfTheGraph) {
  LoopSession loop;
  Bytes pixels{1, 2};
  const std::vector<float> samples(4);
  summary::image(loop, "digits", pixels, {.height = 1, .width = 2});
  summary::audio(loop, "tone", samples, {.sample_rate = 8000});
  EXPECT_EQ(fetch(loop, *summary::merge_all(loop.graph())),
            image_batch_summary("digits", pixels, {.height = 1, .width = 2}) +
                audio_batch_summary("tone", samples, {.sample_rate = 8000}));
}

TEST(LoopImages, KeepTheirTagBesideAValueOfThatName) {
  LoopSession loop;
  Bytes pixels{1, 2};
  loop.value("digits", [] { return 1.0F; });
  const Output digits = summary::image(loop, "digits", pixels, {.height = 1, .width = 2});
  EXPECT_EQ(fetch(loop, digits), image_batch_summary("digits", pixels, {.height = 1, .width = 2}));
}

TEST(LoopImages, AreCheckedWhenTheyAreRegisteredAndWhenTheyAreShown) {
  LoopSession loop;
  Bytes pixels{1, 2, 3};
  EXPECT_THROW(summary::image(loop, "digits", pixels, {.height = 1, .width = 2}), InvalidArgumentError);
  EXPECT_THROW(summary::image(loop, "digits", pixels, {.height = 1, .width = 1, .channels = 2}), InvalidArgumentError);
  EXPECT_THROW(summary::image(loop, "digits", [&] { return pixels; }, {.height = 0, .width = 1}), InvalidArgumentError);
  EXPECT_FALSE(loop.graph().find_operation("digits").has_value());
  const Output digits = summary::image(loop, "digits", pixels, {.height = 1, .width = 3});
  pixels.pop_back();
  try {
    static_cast<void>(fetch(loop, digits));
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("'digits'"), std::string::npos) << error.what();
  }
}

TEST(LoopAudio, ShowsTheMemoryAsItIsAfterTheStep) {
  LoopSession loop;
  std::vector<float> samples{0, 0.5F, -0.5F, 1};
  const AudioBatch batch{.sample_rate = 8000, .channels = 2};
  const Output tone = summary::audio(loop, "tone", samples, batch);
  const Output made = summary::audio(
      loop, "made", [&] { return samples; }, batch);
  samples.resize(2);
  EXPECT_EQ(fetch(loop, tone), audio_batch_summary("tone", std::vector<float>{0, 0.5F}, batch));
  EXPECT_EQ(fetch(loop, made), audio_batch_summary("made", std::vector<float>{0, 0.5F}, batch));
  samples.resize(3);
  EXPECT_THROW(static_cast<void>(fetch(loop, tone)), InvalidArgumentError);
  EXPECT_THROW(summary::audio(loop, "bad", samples, batch), InvalidArgumentError);
  EXPECT_THROW(summary::audio(loop, "bad", samples, {}), InvalidArgumentError);
}

TEST(LoopImages, ComeIntoTheEventFileThroughTheHook) {
  testing::MemoryFileSystem disk;
  LoopSession loop;
  Bytes pixels{0, 0};
  int calls = 0;
  const Output digits = summary::image(loop, "digits",
                                       [&] {
                                         ++calls;
                                         return pixels;
                                       },
                                       {.height = 1, .width = 2, .max_outputs = 1});
  auto session = monitored_training_session(
      loop, {.save_summaries_steps = std::nullopt,
             .hooks = {SummarySaverHook({.save_steps = 2, .output_dir = "run", .summary_op = digits}),
                       StopAtStepHook({.last_step = 4})},
             .file_system = &disk});
  while (!session.should_stop()) session.run([&] { ++pixels[0]; });
  session.close();
  EXPECT_EQ(calls, 2);
  std::vector<std::pair<std::int64_t, Bytes>> shown;
  for (const Event& event : read_events(disk, list_event_files(disk, "run").at(0)).events) {
    for (const SummaryValue& value : event.values) {
      EXPECT_EQ(value.tag, "digits/image");
      const Tensor image = decode_png(value.images.at(0).bytes, "image");
      const std::span<const std::uint8_t> bytes = image.data<std::uint8_t>();
      shown.emplace_back(event.step, Bytes(bytes.begin(), bytes.end()));
    }
  }
  EXPECT_EQ(shown, (std::vector<std::pair<std::int64_t, Bytes>>{{1, {1, 0}}, {3, {3, 0}}}));
}

}  // namespace
}  // namespace trainhook
