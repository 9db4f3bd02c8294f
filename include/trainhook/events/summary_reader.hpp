// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads Summary messages: what they hold under each tag.
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
  std::int32_t channels{};  ///< 0 if the file does not say, as in those of TensorFlow 2
  std::string bytes{};

  friend bool operator==(const SummaryImage&, const SummaryImage&) = default;
};

/// One value of a summary, in TensorFlow 1's encoding or in TensorFlow 2's, which are tensors. The member that is set
/// tells its kind; for other kinds (audio, other tensors) none is set.
struct SummaryValue {
  std::string tag{};
  std::string plugin{};           ///< the dashboard that the metadata names, if any
  std::optional<float> scalar{};  ///< `simple_value`, or a tensor of one float or double
  /// `histo`, or a double tensor [buckets, 3], which has no sums: they are NaN.
  std::optional<Histogram> histogram{};
  std::vector<SummaryImage> images{};  ///< `image`, or those in a string tensor of the plugin `images`
  std::optional<std::string> text{};   ///< the first string of any other string tensor but audio

  friend bool operator==(const SummaryValue&, const SummaryValue&) = default;
};

/// The values of a serialized Summary. `what` names it in errors. @throws DataLossError if the bytes are no Summary.
[[nodiscard]] TRAINHOOK_DECL std::vector<SummaryValue> parse_summary(std::string_view bytes,
                                                                     std::string_view what = "summary");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/summary_reader.ipp>
#endif
