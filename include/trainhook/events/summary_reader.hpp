// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summary messages read back: what stands under each tag.
#pragma once

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/coding.hpp>
#include <trainhook/io/tensor_shape_proto.hpp>
#include <trainhook/io/wire.hpp>

namespace trainhook {

/// An image as it stands in the file, still encoded.
struct SummaryImage {
  std::int32_t height{};
  std::int32_t width{};
  std::int32_t channels{};  ///< 0 where the file does not say, as TensorFlow 2's
  std::string bytes{};
};

/// One value of a summary, in TensorFlow 1's encoding or in TensorFlow 2's, which are tensors. Which of the fields are there tells what it
/// is; other kinds (audio, other tensors) have none.
struct SummaryValue {
  std::string tag{};
  std::string plugin{};                  ///< the dashboard that the metadata names, if any
  std::optional<float> scalar{};         ///< `simple_value`, or a tensor of one float or double
  std::optional<Histogram> histogram{};  ///< `histo`, or a double tensor [buckets, 3], which says nothing of the sums: they are NaN
  std::vector<SummaryImage> images{};    ///< `image`, or those of a string tensor for the plugin `images`
  std::optional<std::string> text{};     ///< the first string of another string tensor, but not of sound
};

namespace detail {

inline Histogram parse_histogram(WireReader message) {
  Histogram histogram{.min = 0, .max = 0};
  while (message.next()) {
    switch (message.tag()) {
      case HistogramField::kMin: histogram.min = message.get_double(); break;
      case HistogramField::kMax: histogram.max = message.get_double(); break;
      case HistogramField::kNum: histogram.num = message.get_double(); break;
      case HistogramField::kSum: histogram.sum = message.get_double(); break;
      case HistogramField::kSumSquares: histogram.sum_squares = message.get_double(); break;
      case HistogramField::kBucketLimit: message.for_each<double>([&](double limit) { histogram.bucket_limit.push_back(limit); }); break;
      case HistogramField::kBucket: message.for_each<double>([&](double count) { histogram.bucket.push_back(count); }); break;
      default: message.skip();
    }
  }
  return histogram;
}

inline SummaryImage parse_image(WireReader message) {
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

inline SummaryTensor parse_summary_tensor(WireReader message) {
  SummaryTensor tensor;
  std::string_view content;
  while (message.next()) {
    switch (message.tag()) {
      case TensorProtoField::kDType: tensor.dtype = message.get_uint64(); break;
      case TensorProtoField::kShape: tensor.dims = read_shape_dims(message.get_message()); break;
      case TensorProtoField::kTensorContent: content = message.get_bytes(); break;
      case TensorProtoField::kFloatVal: message.for_each<float>([&](float number) { tensor.numbers.push_back(number); }); break;
      case TensorProtoField::kDoubleVal: message.for_each<double>([&](double number) { tensor.numbers.push_back(number); }); break;
      case TensorProtoField::kStringVal: tensor.strings.push_back(message.get_bytes()); break;
      default: message.skip();
    }
  }
  if (tensor.dtype == static_cast<std::uint64_t>(DType::Float)) {
    for (std::size_t at = 0; at + 4 <= content.size(); at += 4) tensor.numbers.push_back(std::bit_cast<float>(fixed32_at(content, at)));
  } else if (tensor.dtype == static_cast<std::uint64_t>(DType::Double)) {
    for (std::size_t at = 0; at + 8 <= content.size(); at += 8) tensor.numbers.push_back(std::bit_cast<double>(fixed64_at(content, at)));
  }
  return tensor;
}

/// Rows of left limit, right limit and count.
inline Histogram histogram_of_rows(std::span<const double> rows) {
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
inline std::vector<SummaryImage> images_of_strings(std::span<const std::string_view> strings) {
  std::vector<SummaryImage> images;
  if (strings.size() < 2) return images;
  std::int32_t size[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const char* const end = strings[i].data() + strings[i].size();
    if (const auto read = std::from_chars(strings[i].data(), end, size[i]); read.ec != std::errc() || read.ptr != end) return images;
  }
  for (const std::string_view bytes : strings.subspan(2))
    images.push_back({.height = size[1], .width = size[0], .bytes = std::string(bytes)});
  return images;
}

inline void set_tensor_value(const SummaryTensor& tensor, SummaryValue& value) {
  if (value.plugin == "images") {
    value.images = images_of_strings(tensor.strings);
  } else if (!tensor.strings.empty() && value.plugin != "audio") {
    value.text = std::string(tensor.strings.front());
  } else if (tensor.dims.size() == 2) {
    const bool has_rows = tensor.dims[1] == 3 && tensor.numbers.size() % 3 == 0 && tensor.dims[0] >= 0 &&
                          static_cast<std::uint64_t>(tensor.dims[0]) == tensor.numbers.size() / 3;
    if (has_rows && tensor.dtype == static_cast<std::uint64_t>(DType::Double)) value.histogram = histogram_of_rows(tensor.numbers);
  } else if (tensor.numbers.size() == 1) {
    value.scalar = static_cast<float>(tensor.numbers[0]);
  }
}

inline std::string parse_plugin_name(WireReader metadata) {
  std::string name;
  metadata.for_each_field(SummaryMetadataField::kPluginData, [&](WireReader& field) {
    field.get_message().for_each_field(SummaryMetadataField::kPluginName, [&](WireReader& data) { name = data.get_string(); });
  });
  return name;
}

inline SummaryValue parse_summary_value(WireReader message) {
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

template <class Take>
void parse_summary(WireReader message, const Take& take) {
  message.for_each_field(SummaryField::kValue, [&](WireReader& field) { take(parse_summary_value(field.get_message())); });
}

}  // namespace detail

/// The values of a serialized Summary. `what` names it in errors. @throws DataLossError for bytes that are no Summary.
[[nodiscard]] inline std::vector<SummaryValue> parse_summary(std::string_view bytes, std::string_view what = "summary") {
  std::vector<SummaryValue> values;
  detail::parse_summary(WireReader(bytes, what), [&](SummaryValue value) { values.push_back(std::move(value)); });
  return values;
}

}  // namespace trainhook
