// SPDX-License-Identifier: Apache-2.0
/// @file
/// WAV audio with 16 bits a sample, in memory: encoding for audio summaries.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// Encodes samples in [-1, 1], frame after frame of `channels` samples each. What is beyond is clipped; NaN becomes
/// silence. `sample_rate` counts frames a second; its fraction is cut off.
/// @throws InvalidArgumentError if `channels` or `sample_rate` is not positive or too large for the format, or
/// `samples` ends inside a frame.
[[nodiscard]] TRAINHOOK_DECL std::string encode_wav(std::span<const float> samples, float sample_rate,
                                                    std::int64_t channels);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/wav.ipp>
#endif
