// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summary messages read back: what stands under each tag.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook {

/// An image as it stands in the file, still encoded.
struct SummaryImage {
  std::int32_t height{};
  std::int32_t width{};
  std::int32_t channels{};  ///< 0 where the file does not say, as TensorFlow 2's
  std::string bytes{};
};

/// One value of a summary, in TensorFlow 1's encoding or in TensorFlow 2's, which are tensors. Which of the fields are
/// there tells what it is; other kinds (audio, other tensors) have none.
struct SummaryValue {
  std::string tag{};
  std::string plugin{};           ///< the dashboard that the metadata names, if any
  std::optional<float> scalar{};  ///< `simple_value`, or a tensor of one float or double
  std::optional<Histogram>
      histogram{};  ///< `histo`, or a double tensor [buckets, 3], which says nothing of the sums: they are NaN
  std::vector<SummaryImage> images{};  ///< `image`, or those of a string tensor for the plugin `images`
  std::optional<std::string> text{};   ///< the first string of another string tensor, but not of sound
};

namespace detail {

TRAINHOOK_DECL SummaryValue parse_summary_value(WireReader message);

template <class Take>
void parse_summary(WireReader message, const Take& take) {
  message.for_each_field(SummaryField::kValue,
                         [&](WireReader& field) { take(parse_summary_value(field.get_message())); });
}

}  // namespace detail

/// The values of a serialized Summary. `what` names it in errors. @throws DataLossError for bytes that are no Summary.
[[nodiscard]] TRAINHOOK_DECL std::vector<SummaryValue> parse_summary(std::string_view bytes,
                                                                     std::string_view what = "summary");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/summary_reader.ipp>
#endif
