// SPDX-License-Identifier: Apache-2.0
/// @file
/// Encodes WAV audio with 16 bits per sample, for audio summaries.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// Encodes samples in [-1, 1], in frames of `channels` samples each. Larger values are clipped; NaN becomes silence.
/// `sample_rate` is in frames per second and is rounded down.
/// @throws InvalidArgumentError if `channels` or `sample_rate` is not positive or too large for the format, or
/// `samples` ends inside a frame.
[[nodiscard]] TRAINHOOK_DECL std::string encode_wav(std::span<const float> samples, float sample_rate,
                                                    std::int64_t channels);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/wav.ipp>
#endif
