// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summary messages as bytes: scalars, histograms, images and texts for TensorBoard.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook {

/// An image that is encoded already. `channels` is 1 (gray), 2 (gray and alpha), 3 (RGB) or 4 (RGBA).
struct EncodedImage {
  std::int32_t height{};
  std::int32_t width{};
  std::int32_t channels{};
  std::string_view bytes{};  ///< PNG, or any other format that browsers show
};

namespace detail {

// Field numbers of TensorFlow's messages; they stand in files: never renumber.
struct SummaryField {
  static constexpr std::uint32_t kValue = 1;
};
struct SummaryValueField {
  static constexpr std::uint32_t kTag = 1;
  static constexpr std::uint32_t kSimpleValue = 2;
  static constexpr std::uint32_t kImage = 4;
  static constexpr std::uint32_t kHisto = 5;
  static constexpr std::uint32_t kNodeName = 7;
  static constexpr std::uint32_t kTensor = 8;
  static constexpr std::uint32_t kMetadata = 9;
};
struct SummaryMetadataField {
  static constexpr std::uint32_t kPluginData = 1;
  static constexpr std::uint32_t kPluginName = 1;  // of PluginData
};
struct ImageField {
  static constexpr std::uint32_t kHeight = 1;
  static constexpr std::uint32_t kWidth = 2;
  static constexpr std::uint32_t kColorspace = 3;
  static constexpr std::uint32_t kEncoded = 4;
};
struct HistogramField {
  static constexpr std::uint32_t kMin = 1;
  static constexpr std::uint32_t kMax = 2;
  static constexpr std::uint32_t kNum = 3;
  static constexpr std::uint32_t kSum = 4;
  static constexpr std::uint32_t kSumSquares = 5;
  static constexpr std::uint32_t kBucketLimit = 6;
  static constexpr std::uint32_t kBucket = 7;
};
struct TensorProtoField {
  static constexpr std::uint32_t kDType = 1;
  static constexpr std::uint32_t kShape = 2;
  static constexpr std::uint32_t kTensorContent = 4;
  static constexpr std::uint32_t kFloatVal = 5;
  static constexpr std::uint32_t kDoubleVal = 6;
  static constexpr std::uint32_t kStringVal = 8;
};

/// proto3 leaves out what is zero.
TRAINHOOK_DECL void add_nonzero(WireWriter& message, std::uint32_t field, double value);
TRAINHOOK_DECL void add_nonzero(WireWriter& message, std::uint32_t field, std::int32_t value);

/// Opens a new value of the summary. The caller adds what it holds, in the order of field numbers.
TRAINHOOK_DECL WireWriter open_value(WireWriter& summary, std::string_view tag);

/// Names the dashboard that shows a tensor. Without it on the first value of a tag, the tag is never seen.
TRAINHOOK_DECL void add_plugin(WireWriter& value, std::string_view plugin);

TRAINHOOK_DECL void write_scalar_summary(WireWriter& summary, std::string_view tag, float scalar);
TRAINHOOK_DECL void write_histogram_summary(WireWriter& summary, std::string_view tag, const Histogram& histogram);

template <class Write>
std::string summary_of(const Write& write) {
  std::string bytes;
  WireWriter summary(bytes);
  write(summary);
  return bytes;
}

}  // namespace detail

// A `Summary` is handled as its serialized message. Concatenating two of them gives the message with the values of
// both.

/// One number, for the Scalars dashboard.
[[nodiscard]] TRAINHOOK_DECL std::string scalar_summary(std::string_view tag, float value);

/// Buckets that were counted before, for the Histograms and Distributions dashboards.
[[nodiscard]] TRAINHOOK_DECL std::string histogram_summary(std::string_view tag, const Histogram& histogram);

/// @throws InvalidArgumentError naming `tag` where a value is NaN or infinite.
template <HistogramElement T>
[[nodiscard]] std::string histogram_summary(std::string_view tag, std::span<const T> values) {
  return histogram_summary(tag, histogram_of(tag, values));
}

/// One image. TensorFlow names the tag `<tag>/image` for a single one and `<tag>/image/<i>` for the i-th of several.
[[nodiscard]] TRAINHOOK_DECL std::string image_summary(std::string_view tag, const EncodedImage& image);

/// A text in Markdown, for the Text dashboard.
[[nodiscard]] TRAINHOOK_DECL std::string text_summary(std::string_view tag, std::string_view markdown);

/// All values of all summaries, in order.
[[nodiscard]] TRAINHOOK_DECL std::string merge_summaries(std::span<const std::string> summaries);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/summary.ipp>
#endif
