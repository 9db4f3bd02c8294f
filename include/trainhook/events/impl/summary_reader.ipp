// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of summary_reader.hpp.
#pragma once

#include <trainhook/events/summary_reader.hpp>

#include <bit>
#include <charconv>
#include <cstddef>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/io/coding.hpp>
#include <trainhook/proto/tensor_shape_proto.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL Histogram parse_histogram(WireReader message) {
  Histogram histogram{.min = 0, .max = 0};
  while (message.next()) {
    switch (message.tag()) {
      case HistogramField::kMin: histogram.min = message.get_double(); break;
      case HistogramField::kMax: histogram.max = message.get_double(); break;
      case HistogramField::kNum: histogram.num = message.get_double(); break;
      case HistogramField::kSum: histogram.sum = message.get_double(); break;
      case HistogramField::kSumSquares: histogram.sum_squares = message.get_double(); break;
      case HistogramField::kBucketLimit:
        message.for_each<double>([&](double limit) { histogram.bucket_limit.push_back(limit); });
        break;
      case HistogramField::kBucket:
        message.for_each<double>([&](double count) { histogram.bucket.push_back(count); });
        break;
      default: message.skip();
    }
  }
  return histogram;
}

TRAINHOOK_DECL SummaryImage parse_image(WireReader message) {
  SummaryImage image;
  while (message.next()) {
    switch (message.tag()) {
      case ImageField::kHeight: image.height = message.get_int32(); break;
      case ImageField::kWidth: image.width = message.get_int32(); break;
      case ImageField::kColorspace: image.channels = message.get_int32(); break;
      case ImageField::kEncoded: image.bytes = message.get_string(); break;
      default: message.skip();
    }
  }
  return image;
}

/// What a TensorProto of a summary holds.
struct SummaryTensor {
  std::uint64_t dtype = 0;
  std::vector<std::int64_t> dims{};
  std::vector<double> numbers{};  // of float and double tensors
  std::vector<std::string_view> strings{};
};

TRAINHOOK_DECL SummaryTensor parse_summary_tensor(WireReader message) {
  SummaryTensor tensor;
  std::string_view content;
  while (message.next()) {
    switch (message.tag()) {
      case TensorProtoField::kDType: tensor.dtype = message.get_uint64(); break;
      case TensorProtoField::kShape: tensor.dims = read_shape_dims(message.get_message()); break;
      case TensorProtoField::kTensorContent: content = message.get_bytes(); break;
      case TensorProtoField::kFloatVal:
        message.for_each<float>([&](float number) { tensor.numbers.push_back(number); });
        break;
      case TensorProtoField::kDoubleVal:
        message.for_each<double>([&](double number) { tensor.numbers.push_back(number); });
        break;
      case TensorProtoField::kStringVal: tensor.strings.push_back(message.get_bytes()); break;
      default: message.skip();
    }
  }
  if (tensor.dtype == static_cast<std::uint64_t>(DType::Float)) {
    for (std::size_t at = 0; at + 4 <= content.size(); at += 4)
      tensor.numbers.push_back(std::bit_cast<float>(fixed32_at(content, at)));
  } else if (tensor.dtype == static_cast<std::uint64_t>(DType::Double)) {
    for (std::size_t at = 0; at + 8 <= content.size(); at += 8)
      tensor.numbers.push_back(std::bit_cast<double>(fixed64_at(content, at)));
  }
  return tensor;
}

/// Rows of left limit, right limit and count.
TRAINHOOK_DECL Histogram histogram_of_rows(std::span<const double> rows) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  Histogram histogram{.sum = kUnknown, .sum_squares = kUnknown};
  for (std::size_t i = 0; i < rows.size(); i += 3) {
    histogram.bucket_limit.push_back(rows[i + 1]);
    histogram.bucket.push_back(rows[i + 2]);
    histogram.num += rows[i + 2];
  }
  if (histogram.num > 0) {
    histogram.min = rows.front();
    histogram.max = rows[rows.size() - 2];
  }
  return histogram;
}

/// Width, height, then images; none where the first two are no numbers.
TRAINHOOK_DECL std::vector<SummaryImage> images_of_strings(std::span<const std::string_view> strings) {
  std::vector<SummaryImage> images;
  if (strings.size() < 2) return images;
  std::int32_t size[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const char* const end = strings[i].data() + strings[i].size();
    if (const auto read = std::from_chars(strings[i].data(), end, size[i]); read.ec != std::errc() || read.ptr != end)
      return images;
  }
  for (const std::string_view bytes : strings.subspan(2))
    images.push_back({.height = size[1], .width = size[0], .bytes = std::string(bytes)});
  return images;
}

TRAINHOOK_DECL void set_tensor_value(const SummaryTensor& tensor, SummaryValue& value) {
  if (value.plugin == "images") {
    value.images = images_of_strings(tensor.strings);
  } else if (!tensor.strings.empty() && value.plugin != "audio") {
    value.text = std::string(tensor.strings.front());
  } else if (tensor.dims.size() == 2) {
    const bool has_rows = tensor.dims[1] == 3 && tensor.numbers.size() % 3 == 0 && tensor.dims[0] >= 0 &&
                          static_cast<std::uint64_t>(tensor.dims[0]) == tensor.numbers.size() / 3;
    if (has_rows && tensor.dtype == static_cast<std::uint64_t>(DType::Double))
      value.histogram = histogram_of_rows(tensor.numbers);
  } else if (tensor.numbers.size() == 1) {
    value.scalar = static_cast<float>(tensor.numbers[0]);
  }
}

TRAINHOOK_DECL std::string parse_plugin_name(WireReader metadata) {
  std::string name;
  metadata.for_each_field(SummaryMetadataField::kPluginData, [&](WireReader& field) {
    field.get_message().for_each_field(SummaryMetadataField::kPluginName,
                                       [&](WireReader& data) { name = data.get_string(); });
  });
  return name;
}

TRAINHOOK_DECL SummaryValue parse_summary_value(WireReader message) {
  SummaryValue value;
  std::string node_name;
  std::optional<SummaryTensor> tensor;
  while (message.next()) {
    switch (message.tag()) {
      case SummaryValueField::kTag: value.tag = message.get_string(); break;
      case SummaryValueField::kSimpleValue: value.scalar = message.get_float(); break;
      case SummaryValueField::kImage: value.images.push_back(parse_image(message.get_message())); break;
      case SummaryValueField::kHisto: value.histogram = parse_histogram(message.get_message()); break;
      case SummaryValueField::kNodeName: node_name = message.get_string(); break;
      case SummaryValueField::kTensor: tensor = parse_summary_tensor(message.get_message()); break;
      case SummaryValueField::kMetadata: value.plugin = parse_plugin_name(message.get_message()); break;
      default: message.skip();
    }
  }
  if (tensor) set_tensor_value(*tensor, value);
  if (value.tag.empty()) value.tag = std::move(node_name);
  return value;
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::vector<SummaryValue> parse_summary(std::string_view bytes, std::string_view what) {
  std::vector<SummaryValue> values;
  detail::parse_summary(WireReader(bytes, what), [&](SummaryValue value) { values.push_back(std::move(value)); });
  return values;
}

}  // namespace trainhook
