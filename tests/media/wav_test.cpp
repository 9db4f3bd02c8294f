// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of WAV encoding. The bytes are those of TensorFlow 2.15.
#include <trainhook/media/wav.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

using namespace std::string_view_literals;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Wav, EncodesAsTensorFlowDoes) {
  const std::vector<float> mono{0, 0.5F, -0.5F};
  EXPECT_EQ(encode_wav(mono, 8000, 1),
            "RIFF*\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0"
            "data\x06\0\0\0\0\0\0\x40\0\xc0"sv);
  const std::vector<float> stereo{0, 0.5F, -0.5F, 1, -1, 2};
  EXPECT_EQ(encode_wav(stereo, 44100.5F, 2),
            "RIFF0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0D\xac\0\0\x10\xb1\x02\0\x04\0\x10\0"
            "data\x0c\0\0\0\0\0\0\x40\0\xc0\xff\x7f\0\x80\xff\x7f"sv);
}

TEST(Wav, ClipsWhatIsBeyondAndMakesNanSilent) {
  const std::vector<float> samples{std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
  EXPECT_EQ(encode_wav(samples, 8000, 1).substr(44), "\0\0\xff\x7f\0\x80"sv);
}

TEST(Wav, MayBeEmpty) { EXPECT_EQ(encode_wav({}, 8000, 1).size(), 44U); }

TEST(Wav, RefusesWhatTheFormatHasNot) {
  const std::vector<float> samples(6);
  EXPECT_THROW(static_cast<void>(encode_wav(samples, 8000, 0)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_wav(samples, 8000, 4)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_wav({}, 8000, 65536)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_wav(samples, 0, 1)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_wav(samples, -1, 1)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_wav(samples, kInfinity, 1)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_wav(samples, std::numeric_limits<float>::quiet_NaN(), 1)),
               InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(encode_wav(samples, 3e9F, 1)), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
