// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads Summary messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/events/histogram.hpp>

namespace trainhook {

/// An image, still encoded as in the file.
struct SummaryImage {
  std::int32_t height{};
  std::int32_t width{};
  std::int32_t channels{};  ///< 0 if unknown, as in files of TensorFlow 2
  std::string bytes{};

  friend bool operator==(const SummaryImage&, const SummaryImage&) = default;
};

/// One value of a summary, in TensorFlow 1's encoding or TensorFlow 2's, which uses tensors. The member that is set
/// tells its kind; for other kinds (audio, other tensors) none is set.
struct SummaryValue {
  std::string tag{};
  /// The dashboard that the metadata names, if any; `audio` also for a value of TensorFlow 1's.
  std::string plugin{};
  std::optional<float> scalar{};  ///< `simple_value`, or a tensor of one float or double
  /// From `histo`, or from a double tensor [buckets, 3], whose sums are unknown: NaN.
  std::optional<Histogram> histogram{};
  std::vector<SummaryImage> images{};  ///< from `image`, or a string tensor of the plugin `images`
  std::optional<std::string> text{};   ///< the first string of any other string tensor except audio

  friend bool operator==(const SummaryValue&, const SummaryValue&) = default;
};

/// The values of a serialized Summary. `what` names it in errors. @throws DataLossError if the bytes are not a Summary.
[[nodiscard]] TRAINHOOK_DECL std::vector<SummaryValue> parse_summary(std::string_view bytes,
                                                                     std::string_view what = "summary");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/summary_reader.ipp>
#endif
