// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of summary.hpp.
#pragma once

#include <trainhook/events/summary.hpp>

#include <cstddef>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void add_nonzero(WireWriter& message, std::uint32_t field, double value) {
  if (value != 0) message.add_double(field, value);
}

TRAINHOOK_DECL void add_nonzero(WireWriter& message, std::uint32_t field, std::int32_t value) {
  if (value != 0) message.add_int32(field, value);
}

TRAINHOOK_DECL WireWriter open_value(WireWriter& summary, std::string_view tag) {
  if (tag.empty()) throw InvalidArgumentError("a summary needs a tag: TensorBoard drops a value that has none");
  WireWriter value(summary, SummaryField::kValue);
  value.add_string(SummaryValueField::kTag, tag.data(), tag.size());
  return value;
}

TRAINHOOK_DECL void add_plugin(WireWriter& value, std::string_view plugin) {
  WireWriter metadata(value, SummaryValueField::kMetadata);
  WireWriter data(metadata, SummaryMetadataField::kPluginData);
  data.add_string(SummaryMetadataField::kPluginName, plugin.data(), plugin.size());
}

TRAINHOOK_DECL void write_scalar_summary(WireWriter& summary, std::string_view tag, float scalar) {
  WireWriter value = open_value(summary, tag);
  value.add_float(SummaryValueField::kSimpleValue, scalar);  // a member of a oneof: zero is written too
}

TRAINHOOK_DECL void write_histogram_summary(WireWriter& summary, std::string_view tag, const Histogram& histogram) {
  if (histogram.bucket.size() != histogram.bucket_limit.size()) {
    throw InvalidArgumentError("histogram {} has {} buckets but {} limits", tag, histogram.bucket.size(),
                               histogram.bucket_limit.size());
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

TRAINHOOK_DECL void write_image_summary(WireWriter& summary, std::string_view tag, const EncodedImage& image) {
  WireWriter value = open_value(summary, tag);
  WireWriter message(value, SummaryValueField::kImage);
  add_nonzero(message, ImageField::kHeight, image.height);
  add_nonzero(message, ImageField::kWidth, image.width);
  add_nonzero(message, ImageField::kColorspace, image.channels);
  message.add_bytes(ImageField::kEncoded, image.bytes.data(), image.bytes.size());
}

TRAINHOOK_DECL void write_text_summary(WireWriter& summary, std::string_view tag, std::string_view markdown) {
  WireWriter value = open_value(summary, tag);
  {
    WireWriter tensor(value, SummaryValueField::kTensor);
    tensor.add_enum(TensorProtoField::kDType, static_cast<std::int32_t>(DType::String));
    tensor.add_message(TensorProtoField::kShape, "", 0);  // present and empty: a scalar
    tensor.add_bytes(TensorProtoField::kStringVal, markdown.data(), markdown.size());
  }
  add_plugin(value, "text");
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::string scalar_summary(std::string_view tag, float value) {
  return detail::summary_of([&](WireWriter& summary) { detail::write_scalar_summary(summary, tag, value); });
}

TRAINHOOK_DECL std::string histogram_summary(std::string_view tag, const Histogram& histogram) {
  return detail::summary_of([&](WireWriter& summary) { detail::write_histogram_summary(summary, tag, histogram); });
}

TRAINHOOK_DECL std::string image_summary(std::string_view tag, const EncodedImage& image) {
  return detail::summary_of([&](WireWriter& summary) { detail::write_image_summary(summary, tag, image); });
}

TRAINHOOK_DECL std::string text_summary(std::string_view tag, std::string_view markdown) {
  return detail::summary_of([&](WireWriter& summary) { detail::write_text_summary(summary, tag, markdown); });
}

TRAINHOOK_DECL std::string merge_summaries(std::span<const std::string> summaries) {
  std::size_t size = 0;
  for (const std::string& summary : summaries) size += summary.size();
  std::string merged;
  merged.reserve(size);
  for (const std::string& summary : summaries) merged += summary;
  return merged;
}

}  // namespace trainhook
