// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of summaries of several images or pieces of audio.
#include <trainhook/media/batch_summary.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/media/png.hpp>
#include <trainhook/media/wav.hpp>

namespace trainhook {
namespace {

using namespace std::string_view_literals;

std::string gray(std::string_view tag, const std::vector<std::uint8_t>& pixels, std::int32_t height,
                 std::int32_t width) {
  const std::string png = encode_png(pixels, height, width, 1);
  return image_summary(tag, {.height = height, .width = width, .channels = 1, .bytes = png});
}

std::string message_of(auto function) {
  try {
    static_cast<void>(function());
  } catch (const InvalidArgumentError& error) { return error.what(); }
  return "nothing was thrown";
}

TEST(ImageBatch, NumbersTheTagsUnlessOneImageIsAskedFor) {
  const std::vector<std::uint8_t> pixels{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(image_batch_summary("x", pixels, {.height = 1, .width = 2}),
            gray("x/image/0", {1, 2}, 1, 2) + gray("x/image/1", {3, 4}, 1, 2) + gray("x/image/2", {5, 6}, 1, 2));
  EXPECT_EQ(image_batch_summary("x", pixels, {.height = 2, .width = 1, .max_outputs = 2}),
            gray("x/image/0", {1, 2}, 2, 1) + gray("x/image/1", {3, 4}, 2, 1));
  EXPECT_EQ(image_batch_summary("x", pixels, {.height = 1, .width = 2, .max_outputs = 1}),
            gray("x/image", {1, 2}, 1, 2));
  EXPECT_EQ(image_batch_summary("x", pixels, {.height = 2, .width = 3}), gray("x/image/0", pixels, 2, 3));
  EXPECT_EQ(image_batch_summary("x", std::vector<std::uint8_t>(), {.height = 2, .width = 3}), "");
}

TEST(ImageBatch, SpreadsFloatsOverTheBytes) {
  const std::vector<double> pixels{0, 1, 2, NAN, -4, 0, 2, INFINITY};
  EXPECT_EQ(image_batch_summary("x", pixels, {.height = 1, .width = 4, .bad_color = {7}}),
            gray("x/image/0", {0, 127, 255, 7}, 1, 4) + gray("x/image/1", {1, 128, 191, 7}, 1, 4));
  const std::vector<float> floats(pixels.begin(), pixels.begin() + 4);
  EXPECT_EQ(image_batch_summary("x", floats, {.height = 1, .width = 4}), gray("x/image/0", {0, 127, 255, 255}, 1, 4));
}

TEST(ImageBatch, NamesTheSummaryWithSizesThatDoNotFit) {
  const std::vector<float> pixels(100);
  const auto message = [&](const ImageBatch& batch) {
    return message_of([&] { return image_batch_summary("digits", pixels, batch); });
  };
  EXPECT_EQ(message({.height = 28, .width = 28}),
            "image summary 'digits': 100 elements are not a whole number of images of 28 x 28 pixels with 1 channels");
  EXPECT_EQ(message({.height = 5, .width = 10, .channels = 2}),
            "image summary 'digits': an image has 1, 3 or 4 channels, not 2");
  EXPECT_EQ(message({.height = 10}), "image summary 'digits': height and width must be 1 to 1048576, not 10 and 0");
  EXPECT_EQ(message({.height = 10, .width = 10, .max_outputs = 0}),
            "image summary 'digits': max_outputs must be positive, not 0");
}

// The bytes are those of TensorFlow 2.15.
TEST(AudioBatch, IsWhatTensorFlowWrites) {
  const std::vector<float> samples{0, 0.5F, -0.5F, 1, -1, 2};
  EXPECT_EQ(audio_batch_summary("tone", samples, {.sample_rate = 8000, .frames = 3}),
            "\nX\n\x0ctone/audio/02H\r\0\0\xfa\x45\x10\x01\x18\x03\"2RIFF*\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0"
            "\x80>\0\0\x02\0\x10\0data\x06\0\0\0\0\0\0\x40\0\xc0*\taudio/wav"
            "\nX\n\x0ctone/audio/12H\r\0\0\xfa\x45\x10\x01\x18\x03\"2RIFF*\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0"
            "\x80>\0\0\x02\0\x10\0data\x06\0\0\0\xff\x7f\0\x80\xff\x7f*\taudio/wav"sv);
  EXPECT_EQ(audio_batch_summary("tone", samples, {.sample_rate = 44100.5F, .channels = 2, .max_outputs = 1}),
            "\n\\\n\ntone/audio2N\r\x80\x44,G\x10\x02\x18\x03\"8RIFF0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0D\xac\0\0\x10"
            "\xb1\x02\0\x04\0\x10\0data\x0c\0\0\0\0\0\0\x40\0\xc0\xff\x7f\0\x80\xff\x7f*\taudio/wav"sv);
}

TEST(AudioBatch, ShowsTheFirstPieces) {
  const std::vector<float> samples(10);
  const std::string wav = encode_wav(std::vector<float>(2), 8000, 1);
  const auto piece = [&](std::string_view tag) {
    return audio_summary(tag, {.sample_rate = 8000, .frames = 2, .bytes = wav});
  };
  EXPECT_EQ(audio_batch_summary("t", samples, {.sample_rate = 8000, .frames = 2}),
            piece("t/audio/0") + piece("t/audio/1") + piece("t/audio/2"));
  EXPECT_EQ(audio_batch_summary("t", samples, {.sample_rate = 8000, .frames = 2, .max_outputs = 1}), piece("t/audio"));
  EXPECT_EQ(audio_batch_summary("t", {}, {.sample_rate = 8000}), "");
}

TEST(AudioBatch, NamesTheSummaryWithSizesThatDoNotFit) {
  const std::vector<float> samples(10);
  const auto message = [&](const AudioBatch& batch) {
    return message_of([&] { return audio_batch_summary("tone", samples, batch); });
  };
  EXPECT_EQ(message({.sample_rate = 8000, .channels = 3}),
            "audio summary 'tone': 10 samples are not a whole number of frames of 3 channels");
  EXPECT_EQ(message({.sample_rate = 8000, .frames = 3}),
            "audio summary 'tone': 10 samples are not a whole number of pieces of 3 frames with 1 channels");
  EXPECT_EQ(message({}), "audio summary 'tone': a WAV file cannot have 0 frames a second of 1 channels");
  EXPECT_EQ(message({.sample_rate = 8000, .channels = 0}),
            "audio summary 'tone': audio has 1 to 32767 channels, not 0");
  EXPECT_EQ(message({.sample_rate = 8000, .frames = -1}),
            "audio summary 'tone': frames must be 0 to 4294967296, not -1");
  EXPECT_EQ(message({.sample_rate = 8000, .max_outputs = 0}),
            "audio summary 'tone': max_outputs must be positive, not 0");
}

}  // namespace
}  // namespace trainhook
