// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summary messages as bytes: scalars, histograms, images and texts for TensorBoard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/io/wire.hpp>

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
inline void add_nonzero(WireWriter& message, std::uint32_t field, double value) {
  if (value != 0) message.add_double(field, value);
}
inline void add_nonzero(WireWriter& message, std::uint32_t field, std::int32_t value) {
  if (value != 0) message.add_int32(field, value);
}

/// Opens a new value of the summary. The caller adds what it holds, in the order of field numbers.
inline WireWriter open_value(WireWriter& summary, std::string_view tag) {
  if (tag.empty()) throw InvalidArgumentError("a summary needs a tag: TensorBoard drops a value that has none");
  WireWriter value(summary, SummaryField::kValue);
  value.add_string(SummaryValueField::kTag, tag.data(), tag.size());
  return value;
}

/// Names the dashboard that shows a tensor. Without it on the first value of a tag, the tag is never seen.
inline void add_plugin(WireWriter& value, std::string_view plugin) {
  WireWriter metadata(value, SummaryValueField::kMetadata);
  WireWriter data(metadata, SummaryMetadataField::kPluginData);
  data.add_string(SummaryMetadataField::kPluginName, plugin.data(), plugin.size());
}

inline void write_scalar_summary(WireWriter& summary, std::string_view tag, float scalar) {
  WireWriter value = open_value(summary, tag);
  value.add_float(SummaryValueField::kSimpleValue, scalar);  // a member of a oneof: zero is written too
}

inline void write_histogram_summary(WireWriter& summary, std::string_view tag, const Histogram& histogram) {
  if (histogram.bucket.size() != histogram.bucket_limit.size()) {
    throw InvalidArgumentError("histogram ", tag, " has ", histogram.bucket.size(), " buckets but ", histogram.bucket_limit.size(),
                               " limits");
  }
  WireWriter value = open_value(summary, tag);
  WireWriter histo(value, SummaryValueField::kHisto);
  add_nonzero(histo, HistogramField::kMin, histogram.min);
  add_nonzero(histo, HistogramField::kMax, histogram.max);
  add_nonzero(histo, HistogramField::kNum, histogram.num);
  add_nonzero(histo, HistogramField::kSum, histogram.sum);
  add_nonzero(histo, HistogramField::kSumSquares, histogram.sum_squares);
  histo.add_packed_double(HistogramField::kBucketLimit, histogram.bucket_limit.begin(), histogram.bucket_limit.end());
  histo.add_packed_double(HistogramField::kBucket, histogram.bucket.begin(), histogram.bucket.end());
}

inline void write_image_summary(WireWriter& summary, std::string_view tag, const EncodedImage& image) {
  WireWriter value = open_value(summary, tag);
  WireWriter message(value, SummaryValueField::kImage);
  add_nonzero(message, ImageField::kHeight, image.height);
  add_nonzero(message, ImageField::kWidth, image.width);
  add_nonzero(message, ImageField::kColorspace, image.channels);
  message.add_bytes(ImageField::kEncoded, image.bytes.data(), image.bytes.size());
}

inline void write_text_summary(WireWriter& summary, std::string_view tag, std::string_view markdown) {
  WireWriter value = open_value(summary, tag);
  {
    WireWriter tensor(value, SummaryValueField::kTensor);
    tensor.add_enum(TensorProtoField::kDType, static_cast<std::int32_t>(DType::String));
    tensor.add_message(TensorProtoField::kShape, "", 0);  // present and empty: a scalar
    tensor.add_bytes(TensorProtoField::kStringVal, markdown.data(), markdown.size());
  }
  add_plugin(value, "text");
}

template <class Write>
std::string summary_of(const Write& write) {
  std::string bytes;
  WireWriter summary(bytes);
  write(summary);
  return bytes;
}

}  // namespace detail

// A `Summary` is handled as its serialized message. Concatenating two of them gives the message with the values of both.

/// One number, for the Scalars dashboard.
[[nodiscard]] inline std::string scalar_summary(std::string_view tag, float value) {
  return detail::summary_of([&](WireWriter& summary) { detail::write_scalar_summary(summary, tag, value); });
}

/// Buckets that were counted before, for the Histograms and Distributions dashboards.
[[nodiscard]] inline std::string histogram_summary(std::string_view tag, const Histogram& histogram) {
  return detail::summary_of([&](WireWriter& summary) { detail::write_histogram_summary(summary, tag, histogram); });
}

/// @throws InvalidArgumentError naming `tag` where a value is NaN or infinite.
template <HistogramElement T>
[[nodiscard]] std::string histogram_summary(std::string_view tag, std::span<const T> values) {
  return histogram_summary(tag, histogram_of(tag, values));
}

/// One image. TensorFlow names the tag `<tag>/image` for a single one and `<tag>/image/<i>` for the i-th of several.
[[nodiscard]] inline std::string image_summary(std::string_view tag, const EncodedImage& image) {
  return detail::summary_of([&](WireWriter& summary) { detail::write_image_summary(summary, tag, image); });
}

/// A text in Markdown, for the Text dashboard.
[[nodiscard]] inline std::string text_summary(std::string_view tag, std::string_view markdown) {
  return detail::summary_of([&](WireWriter& summary) { detail::write_text_summary(summary, tag, markdown); });
}

/// All values of all summaries, in order.
[[nodiscard]] inline std::string merge_summaries(std::span<const std::string> summaries) {
  std::size_t size = 0;
  for (const std::string& summary : summaries) size += summary.size();
  std::string merged;
  merged.reserve(size);
  for (const std::string& summary : summaries) merged += summary;
  return merged;
}

}  // namespace trainhook
