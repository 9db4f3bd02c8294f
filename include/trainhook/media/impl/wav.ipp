// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/media/wav.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <trainhook/core/error.hpp>
#include <trainhook/core/finite.hpp>

namespace trainhook::detail {

inline constexpr std::uint32_t kWavSampleSize = 2;
inline constexpr std::uint32_t kWavHeaderSize = 44;

/// Appends the lowest `size` bytes of a number, the lowest first.
inline void append_wav_number(std::string& bytes, std::uint32_t number, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i, number >>= 8) bytes.push_back(static_cast<char>(number & 0xFFU));
}

inline std::int16_t wav_sample(float sample) noexcept {
  if (is_nan(sample)) return 0;
  using Limits = std::numeric_limits<std::int16_t>;
  return static_cast<std::int16_t>(std::clamp((std::round)(sample * 32768.0F), static_cast<float>((Limits::min)()),
                                              static_cast<float>((Limits::max)())));
}

inline void check_wav(std::size_t samples, float sample_rate, std::int64_t channels) {
  constexpr double kLargest = (std::numeric_limits<std::uint32_t>::max)();
  if (channels < 1 || channels > (std::numeric_limits<std::uint16_t>::max)() / kWavSampleSize)
    throw InvalidArgumentError("audio has 1 to 32767 channels, not {}", channels);
  const double bytes_a_second = static_cast<double>(sample_rate) * kWavSampleSize * static_cast<double>(channels);
  if (!(sample_rate >= 1) || bytes_a_second > kLargest) {
    throw InvalidArgumentError("a WAV file cannot have {} frames a second of {} channels", sample_rate, channels);
  }
  if (samples % static_cast<std::size_t>(channels) != 0)
    throw InvalidArgumentError("{} samples are not whole frames of {} channels", samples, channels);
  if (static_cast<double>(samples) * kWavSampleSize + kWavHeaderSize > kLargest)
    throw InvalidArgumentError("{} samples are too many for a WAV file, which has at most 4 GiB", samples);
}

}  // namespace trainhook::detail

namespace trainhook {

std::string encode_wav(std::span<const float> samples, float sample_rate, std::int64_t channels) {
  using detail::append_wav_number;
  detail::check_wav(samples.size(), sample_rate, channels);
  const auto rate = static_cast<std::uint32_t>(sample_rate);
  const std::uint32_t frame_size = static_cast<std::uint32_t>(channels) * detail::kWavSampleSize;
  const auto size = static_cast<std::uint32_t>(samples.size() * detail::kWavSampleSize);
  std::string bytes;
  bytes.reserve(detail::kWavHeaderSize + size);
  bytes += "RIFF";
  append_wav_number(bytes, detail::kWavHeaderSize - 8 + size, 4);
  bytes += "WAVEfmt ";
  append_wav_number(bytes, 16, 4);  // the size of this part
  append_wav_number(bytes, 1, 2);   // PCM
  append_wav_number(bytes, static_cast<std::uint32_t>(channels), 2);
  append_wav_number(bytes, rate, 4);
  append_wav_number(bytes, rate * frame_size, 4);
  append_wav_number(bytes, frame_size, 2);
  append_wav_number(bytes, 8 * detail::kWavSampleSize, 2);
  bytes += "data";
  append_wav_number(bytes, size, 4);
  for (const float sample : samples)
    append_wav_number(bytes, static_cast<std::uint16_t>(detail::wav_sample(sample)), detail::kWavSampleSize);
  return bytes;
}

}  // namespace trainhook
