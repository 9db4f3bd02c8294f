// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/exchange/safetensors_format.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/exchange/strict_json.hpp>

namespace trainhook::detail {

/// Takes the values of a header, one after the other, and makes entries of them.
class SafetensorsHeaderReader {
 public:
  using Kind = JsonValue::Kind;
  using Path = std::span<const std::string>;

  SafetensorsHeaderReader(const std::string& path, std::uint64_t data, std::uint64_t end)
      : path_(path), data_(data), end_(end) {}

  void take(Path path, const JsonValue& value) {
    if (path.empty()) {
      if (value.kind != Kind::Object || value.arrays > 0) throw damaged("its header is not a JSON object");
    } else if (path.front() == kSafetensorsMetadata) {
      take_metadata(path, value);
    } else if (path.size() == 1) {
      finish_tensor();
      if (value.kind != Kind::Object || value.arrays > 0) throw damaged_tensor(path[0], "it is not an object");
      name_ = path[0];
      draft_ = Draft{};
    } else {
      take_field(path, value);
    }
  }

  /// The tensors have to lie one behind the other, from the first byte of the data to the last.
  SafetensorsHeader finish() {
    finish_tensor();
    std::vector<const std::pair<const std::string, SafetensorsEntry>*> in_order;
    for (const auto& entry : header_.entries) in_order.push_back(&entry);
    std::ranges::sort(in_order, {},
                      [](const auto* entry) { return std::pair(entry->second.offset, entry->second.size); });
    std::uint64_t end = data_;
    for (const auto* entry : in_order) {
      const auto& [name, tensor] = *entry;
      if (tensor.offset != end) {
        throw damaged_tensor(name, fmt::format("data_offsets begin at {}, and the tensors before it end at {}",
                                               tensor.offset - data_, end - data_));
      }
      end += tensor.size;
    }
    if (end != end_) {
      throw damaged(fmt::format("its tensors have {} bytes by the header, and the file has {} behind it", end - data_,
                                end_ - data_));
    }
    return std::move(header_);
  }

 private:
  struct Draft {
    std::optional<std::string> dtype{};
    bool has_shape = false;
    std::array<std::int64_t, kMaxRank> dims{};
    std::size_t rank = 0;
    std::uint64_t elements = 1;
    std::uint64_t nonzero = 1;  // the product of the dimensions that are not 0
    std::vector<std::uint64_t> offsets{};
  };

  [[nodiscard]] DataLossError damaged(std::string_view problem) const {
    return DataLossError("safetensors file {} is damaged: {}; get it again, or write it again", path_, problem);
  }
  [[nodiscard]] DataLossError damaged_tensor(std::string_view name, std::string_view problem) const {
    return damaged(fmt::format("tensor '{}': {}", shown(name), problem));
  }

  void take_metadata(Path path, const JsonValue& value) {
    if (value.arrays == 0 && path.size() == 1 && value.kind == Kind::Object) return;
    if (value.arrays > 0 || path.size() != 2 || value.kind != Kind::Text)
      throw damaged("__metadata__ is not an object of texts");
    header_.metadata.emplace(path[1], value.text);
  }

  void take_field(Path path, const JsonValue& value) {
    const std::string& field = path[1];
    const bool is_array = path.size() == 2 && value.kind == Kind::Array && value.arrays == 0;
    const bool is_element = path.size() == 2 && value.kind == Kind::Number && value.arrays == 1;
    if (field == "dtype") {
      if (path.size() != 2 || value.kind != Kind::Text || value.arrays > 0)
        throw damaged_tensor(name_, "dtype is not a text");
      draft_->dtype = value.text;
    } else if (field == "shape") {
      if (is_element) return add_dimension(value.number);
      if (!is_array) throw damaged_tensor(name_, "shape is not an array of numbers");
      draft_->has_shape = true;
    } else if (field == "data_offsets") {
      if (is_element && draft_->offsets.size() < 2) {
        draft_->offsets.push_back(value.number);
      } else if (!is_array) {
        throw damaged_tensor(name_, "data_offsets is not an array of two numbers");
      }
    } else {
      throw damaged_tensor(name_, fmt::format("it has a field '{}', which the format lacks", shown(field)));
    }
  }

  void add_dimension(std::uint64_t dim) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
    std::uint64_t& product = draft_->nonzero;
    if (dim >= kMost || (dim > 0 && (__builtin_mul_overflow(product, dim, &product) || product >= kMost)))
      throw damaged_tensor(name_, "shape has more elements than 63 bits count");
    draft_->elements *= dim;
    if (draft_->rank < kMaxRank) draft_->dims[draft_->rank] = static_cast<std::int64_t>(dim);
    ++draft_->rank;
  }

  void finish_tensor() {
    if (!draft_) return;
    const Draft draft = *std::move(draft_);
    draft_.reset();
    if (!draft.dtype) throw damaged_tensor(name_, "dtype is missing");
    if (!draft.has_shape) throw damaged_tensor(name_, "shape is missing");
    if (draft.offsets.size() != 2) throw damaged_tensor(name_, "data_offsets does not have two numbers");
    const auto [begin, end] = std::array{draft.offsets[0], draft.offsets[1]};
    if (begin > end || end > end_ - data_) {
      throw damaged_tensor(
          name_, fmt::format("data_offsets are [{}, {}], and the file has {} bytes of data", begin, end, end_ - data_));
    }
    SafetensorsEntry entry{.offset = data_ + begin, .size = end - begin};
    const auto known = std::ranges::find(kSafetensorsDTypes, *draft.dtype, &SafetensorsDType::name);
    const bool is_known = known != kSafetensorsDTypes.end();
    if (is_known) expect_size(draft.elements, known->bits, entry.size);
    if (!is_known || known->dtype == DType::Invalid) {
      entry.unsupported = fmt::format(
          "its dtype is {}, which tensors of this library lack; convert it with the "
          "program that wrote it",
          shown(*draft.dtype));
    } else if (draft.rank > kMaxRank) {
      entry.unsupported =
          fmt::format("it has {} dimensions, and tensors of this library {} at most", draft.rank, kMaxRank);
    } else {
      entry.dtype = known->dtype;
    }
    if (draft.rank <= kMaxRank) entry.shape = Shape(std::span(draft.dims).first(draft.rank));
    header_.entries.emplace(name_, std::move(entry));
  }

  void expect_size(std::uint64_t elements, std::uint64_t bits, std::uint64_t size) const {
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(elements, bits, &all) || all % 8 != 0 || all / 8 != size) {
      throw damaged_tensor(name_, fmt::format("data_offsets are {} bytes apart, and {} elements of {} bits need others",
                                              size, elements, bits));
    }
  }

  const std::string& path_;
  std::uint64_t data_;  // where it begins and ends in the file
  std::uint64_t end_;
  SafetensorsHeader header_;
  std::string name_;  // of the present tensor
  std::optional<Draft> draft_;
};

SafetensorsHeader read_safetensors_header(const ReadableFile& file) {
  const std::uint64_t size = file.size();
  std::string length(sizeof(std::uint64_t), '\0');
  if (size < length.size()) {
    throw DataLossError("{} is not a safetensors file, or was cut off: it has {} bytes", file.path(), size);
  }
  file.read_at(0, std::as_writable_bytes(std::span(length)));
  const std::uint64_t header_size = fixed64_at(length, 0);
  if (header_size > kMostSafetensorsHeader || header_size > size - length.size()) {
    throw DataLossError(
        "{} is not a safetensors file, or was cut off: its header would have {} bytes; the file has {} behind the "
        "length, and a header {} at most",
        file.path(), header_size, size - length.size(), kMostSafetensorsHeader);
  }
  std::string json(static_cast<std::size_t>(header_size), '\0');
  file.read_at(length.size(), std::as_writable_bytes(std::span(json)));
  if (!json.starts_with('{'))
    throw DataLossError("{} is not a safetensors file: its header does not begin with '{{'", file.path());
  SafetensorsHeaderReader reader(file.path(), length.size() + header_size, size);
  visit_json(json, fmt::format("the header of safetensors file {}", file.path()),
             [&](std::span<const std::string> path, const JsonValue& value) { reader.take(path, value); });
  return reader.finish();
}

std::string encode_safetensors_header(std::span<const PlannedTensor> tensors,
                                      const std::map<std::string, std::string>& metadata) {
  std::string json = "{";
  const auto separate = [&] { json += json.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    json += fmt::format("\"{}\":{{", kSafetensorsMetadata);
    std::string_view before;
    for (const auto& [name, text] : metadata) {
      json += fmt::format("{}{}:{}", before, json_text(name, "the metadata"), json_text(text, "the metadata"));
      before = ",";
    }
    json += '}';
  }
  std::uint64_t offset = 0;
  for (const PlannedTensor& tensor : tensors) {
    separate();
    json += fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                        json_text(tensor.name, "the name of the tensor"), tensor.dtype->name, tensor.shape, offset,
                        offset + tensor.size());
    offset += tensor.size();
  }
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');
  if (json.size() > kMostSafetensorsHeader) {
    throw InvalidArgumentError(
        "the header of {} tensors has {} bytes, and readers of safetensors take {} at most; set max_shard_size",
        tensors.size(), json.size(), kMostSafetensorsHeader);
  }
  std::string bytes;
  append_fixed(bytes, static_cast<std::uint64_t>(json.size()));
  return bytes + json;
}

std::map<std::string, std::string> read_safetensors_index(const ReadableFile& file) {
  using Kind = JsonValue::Kind;
  const std::uint64_t size = file.size();
  if (size > kMostSafetensorsHeader)
    throw DataLossError("{} has {} bytes, and an index {} at most", file.path(), size, kMostSafetensorsHeader);
  std::string json(static_cast<std::size_t>(size), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(json)));
  std::map<std::string, std::string> files;
  bool has_map = false;
  visit_json(
      json, fmt::format("index {}", file.path()), [&](std::span<const std::string> path, const JsonValue& value) {
        if (path.empty() || path.front() != "weight_map") return;
        if (path.size() == 1 && value.kind == Kind::Object && value.arrays == 0) {
          has_map = true;
          return;
        }
        if (path.size() != 2 || value.kind != Kind::Text || value.arrays > 0)
          throw DataLossError("index {} is damaged: weight_map is not an object of file names", file.path());
        if (value.text.empty() || value.text.find_first_of(std::string_view("/\\\0", 3)) != std::string_view::npos ||
            value.text == "." || value.text == "..") {
          throw DataLossError("index {} is damaged: weight_map has tensor '{}' in '{}', which is no file beside it",
                              file.path(), shown(path[1]), shown(value.text));
        }
        files.emplace(path[1], value.text);
      });
  if (!has_map) throw DataLossError("index {} is damaged: it has no weight_map", file.path());
  return files;
}

}  // namespace trainhook::detail
