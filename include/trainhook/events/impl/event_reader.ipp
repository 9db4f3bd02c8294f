// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/event_reader.hpp>

#include <bit>
#include <charconv>
#include <cstddef>
#include <limits>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/records.hpp>

namespace trainhook::detail {

/// What a TensorProto of a summary holds.
struct SummaryTensor {
  std::uint64_t dtype = 0;
  std::vector<std::int64_t> dims{};
  std::vector<double> numbers{};  // of float and double tensors
  std::vector<std::string_view> strings{};
};

inline SummaryTensor summary_tensor(const TensorMessage& message) {
  SummaryTensor tensor{.dtype = message.dtype, .dims = dims_of(message.tensor_shape), .strings = message.string_val};
  tensor.numbers = message.double_val;
  tensor.numbers.insert(tensor.numbers.end(), message.float_val.begin(), message.float_val.end());
  const std::string_view content = message.tensor_content;
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

/// Width, height, then images; none if the first two are not numbers.
inline std::vector<SummaryImage> images_of_strings(std::span<const std::string_view> strings) {
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

inline void set_tensor_value(const SummaryTensor& tensor, SummaryValue& value) {
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

inline SummaryValue summary_value(const SummaryValueMessage& message) {
  SummaryValue value{.tag = std::string(message.tag.empty() ? message.node_name : message.tag),
                     .scalar = message.simple_value,
                     .histogram = message.histo};
  if (message.metadata) value.plugin = std::string(message.metadata->plugin_data.plugin_name);
  if (message.audio && value.plugin.empty()) value.plugin = "audio";
  if (message.image) {
    value.images.push_back({.height = message.image->height,
                            .width = message.image->width,
                            .channels = message.image->colorspace,
                            .bytes = std::string(message.image->encoded_image_string)});
  }
  if (message.tensor) set_tensor_value(summary_tensor(*message.tensor), value);
  return value;
}

}  // namespace trainhook::detail

namespace trainhook {

std::vector<SummaryValue> parse_summary(std::string_view bytes, std::string_view what) {
  std::vector<SummaryValue> values;
  for (const detail::SummaryValueMessage& value : detail::parse_message<detail::SummaryMessage>(bytes, what).value)
    values.push_back(detail::summary_value(value));
  return values;
}

Event parse_event(std::string_view bytes, std::string_view what) {
  const auto message = detail::parse_message<detail::EventMessage>(bytes, what);
  Event event{.wall_time = message.wall_time, .step = message.step};
  event.file_version = message.file_version.value_or("");
  event.graph_def = message.graph_def.value_or("");
  event.meta_graph_def = message.meta_graph_def.value_or("");
  if (message.source_metadata) event.source_writer = message.source_metadata->writer;
  if (message.summary) event.values = parse_summary(*message.summary, what);
  event.session_log = message.session_log;
  if (const auto& metadata = message.tagged_run_metadata)
    event.run_metadata = {.tag = std::string(metadata->tag), .run_metadata = std::string(metadata->run_metadata)};
  return event;
}

EventFileContents read_events(FileSystem& file_system, const std::string& path) {
  EventFileContents contents;
  detail::RecordReader reader(file_system.open_readable(path));
  std::string payload;
  detail::RecordStatus status = detail::RecordStatus::Record;
  const auto read_next = [&] {
    try {
      status = reader.try_next(payload);
    } catch (const DataLossError& error) {
      contents.problems.emplace_back(error.what());
      return false;
    }
    return status == detail::RecordStatus::Record;
  };
  while (read_next()) {
    try {
      contents.events.push_back(parse_event(payload, path));
    } catch (const DataLossError& error) {
      contents.problems.push_back(
          fmt::format("{} (in the record that ends at byte {})", error.what(), reader.offset()));
    }
  }
  if (status == detail::RecordStatus::Truncated) {
    contents.problems.push_back(fmt::format("file {} ends inside the record at byte {}", path, reader.offset()));
  }
  const std::uint64_t size = file_system.file_size(path);
  contents.dropped_bytes = size > reader.offset() ? size - reader.offset() : 0;
  return contents;
}

std::vector<std::string> list_event_files(FileSystem& file_system, const std::string& directory) {
  std::vector<std::string> paths;
  if (!file_system.is_directory(directory)) return paths;
  for (const std::string& name : file_system.list_directory(directory)) {
    if (name.find("tfevents") != std::string::npos) paths.push_back(join_path(directory, name));
  }
  return paths;
}

EvalHistory read_eval_metrics(FileSystem& file_system, const std::string& eval_dir) {
  EvalHistory history;
  for (const std::string& path : list_event_files(file_system, eval_dir)) {
    const EventFileContents contents = read_events(file_system, path);
    for (const std::string& problem : contents.problems) log_warning("{}", problem);
    for (const Event& event : contents.events) {
      if (event.session_log && event.session_log->status == SessionLog::Start)
        history.erase(history.lower_bound(event.step), history.end());
      for (const SummaryValue& value : event.values)
        if (value.scalar) history[event.step].insert_or_assign(value.tag, *value.scalar);
    }
  }
  return history;
}

}  // namespace trainhook
