// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/exchange/write_safetensors.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/coding.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/checkpoint/rename.hpp>
#include <trainhook/exchange/safetensors_format.hpp>
#include <trainhook/exchange/strict_json.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

/// How a file begins that may be replaced.
inline bool is_safetensors(std::string_view beginning) {
  return beginning.size() > 8 && fixed64_at(beginning, 0) <= kMostSafetensorsHeader && beginning[8] == '{';
}

class SafetensorsWriter {
 public:
  using Read = FunctionRef<Tensor(const std::string& name)>;

  SafetensorsWriter(std::string path, const SafetensorsOptions& options, Read read)
      : path_(std::move(path)), options_(options), file_system_(given_or_posix(options.file_system)), read_(read) {
    if (options.dtype && !is_floating(*options.dtype)) {
      throw InvalidArgumentError("write_safetensors: dtype is {}; give float32, float64, float16 or bfloat16, or none",
                                 *options.dtype);
    }
  }

  /// False if the format has no such dtype.
  bool add(const std::string& name, DType dtype, const Shape& shape) {
    const SafetensorsDType* stored =
        find_safetensors_dtype(options_.dtype && is_floating(dtype) ? *options_.dtype : dtype);
    if (stored == nullptr) return false;
    PlannedTensor tensor{.name = renamed(name, options_.rename), .dtype = stored, .shape = shape, .from = name};
    if (tensor.name == kSafetensorsMetadata)
      throw InvalidArgumentError("write_safetensors: a tensor cannot be called '{}'; rename it", tensor.name);
    const auto [place, is_new] = tensors_.try_emplace(tensor.name, tensor);
    if (!is_new) {
      throw InvalidArgumentError("write_safetensors: '{}' and '{}' would both be called '{}'; rename one of them",
                                 place->second.from, name, tensor.name);
    }
    return true;
  }

  void write() {
    file_system_.make_directories(parent_path(path_));
    const std::vector<std::vector<PlannedTensor>> shards = cut();
    if (shards.size() == 1) return write_file(path_, shards.front());
    const std::string index_path = path_ + std::string(kSafetensorsIndex);
    for (const std::string& taken : {path_, index_path}) {
      if (file_system_.exists(taken))
        throw AlreadyExistsError(
            "write_safetensors: {} exists, and shards replace no other file; move it away, or give another name",
            taken);
    }
    std::map<std::string, std::string> places;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const std::string_view stem =
          std::string_view(path_).substr(0, path_.size() - (path_.ends_with(kEnding) ? kEnding.size() : 0));
      const std::string file = fmt::format("{}-{:05}-of-{:05}{}", stem, i + 1, shards.size(), kEnding);
      write_file(file, shards[i]);
      for (const PlannedTensor& tensor : shards[i]) {
        places[tensor.name] = base_name(file);
        total += tensor.size();
      }
    }
    write_file_atomically(file_system_, index_path, index(total, places));
  }

 private:
  static constexpr std::string_view kEnding = ".safetensors";

  /// The tensors of each file, in its order.
  [[nodiscard]] std::vector<std::vector<PlannedTensor>> cut() const {
    std::vector<std::vector<PlannedTensor>> shards(1);
    std::uint64_t size = 0;
    for (const auto& [name, tensor] : tensors_) {
      if (options_.max_shard_size > 0 && !shards.back().empty() && size + tensor.size() > options_.max_shard_size) {
        shards.emplace_back();
        size = 0;
      }
      size += tensor.size();
      shards.back().push_back(tensor);
    }
    for (auto& shard : shards) std::ranges::stable_sort(shard, {}, &PlannedTensor::dtype);
    return shards;
  }

  void write_file(const std::string& path, std::span<const PlannedTensor> tensors) {
    const std::string header = encode_safetensors_header(tensors, options_.metadata);
    std::uint64_t size = header.size();
    for (const PlannedTensor& tensor : tensors) size += tensor.size();
    write_file_atomically(
        file_system_, path,
        [&](WritableFile& file) {
          file.reserve(size);
          file.append(header);
          for (const PlannedTensor& tensor : tensors) append(file, tensor);
        },
        is_safetensors);
  }

  void append(WritableFile& file, const PlannedTensor& planned) const {
    const Tensor tensor = read_(planned.from);
    if (tensor.dtype() == planned.dtype->dtype) return file.append(tensor.bytes());
    constexpr std::size_t kAtOnce = 65536;
    const std::size_t size = dtype_size(planned.dtype->dtype);
    const auto count = static_cast<std::size_t>(tensor.num_elements());
    std::vector<std::byte> piece;
    for (std::size_t first = 0; first < count; first += kAtOnce) {
      piece.resize((std::min)(kAtOnce, count - first) * size);
      cast_floats(tensor, first, planned.dtype->dtype, piece);
      file.append(piece);
    }
  }

  [[nodiscard]] static std::string index(std::uint64_t total, const std::map<std::string, std::string>& places) {
    std::string json =
        fmt::format("{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{", total);
    std::string_view before = "\n";
    for (const auto& [tensor, file] : places) {
      json += fmt::format("{}    {}: {}", before, json_text(tensor, "the name of the tensor"),
                          json_text(file, "the name of the file"));
      before = ",\n";
    }
    return json + "\n  }\n}\n";
  }

  std::string path_;
  const SafetensorsOptions& options_;
  FileSystem& file_system_;
  Read read_;
  std::map<std::string, PlannedTensor> tensors_;  // by the name in the file
};

void expect_used(const std::vector<std::string>& names, const std::string& only, const Renames& rename) {
  if (names.empty()) return;
  const auto expect_one = [&](const char* option, const std::string& beginning,
                              FunctionRef<bool(const std::string&)> fits) {
    if (std::ranges::any_of(names, fits)) return;
    throw NotFoundError("no name of a tensor begins with '{}', which `{}` asks for; {}", beginning, option,
                        suggest_names({names.begin(), names.end()}, beginning));
  };
  expect_one("only", only, [&](const std::string& name) { return name.starts_with(only); });
  for (const auto& pair : rename) {
    const Renames alone{pair};
    expect_one("rename", pair.first, [&](const std::string& name) {
      return name.starts_with(only) && find_rename(alone, name) != alone.end();
    });
  }
}

}  // namespace trainhook::detail

namespace trainhook {

std::vector<std::string> write_safetensors(const std::string& path, const BundleReader& checkpoint,
                                           const SafetensorsOptions& options) {
  const auto read = [&](const std::string& name) { return checkpoint.get_tensor(name); };
  detail::SafetensorsWriter writer(path, options, read);
  std::vector<std::string> left_out;
  std::vector<std::string> all;
  for (const auto& [name, entry] : checkpoint.entries()) {
    all.push_back(name);
    if (!name.starts_with(options.only)) continue;
    const bool is_state = name.starts_with("_trainhook/");
    if (is_state || !writer.add(name, entry.dtype, entry.shape)) left_out.push_back(name);
  }
  detail::expect_used(all, options.only, options.rename);
  writer.write();
  std::string names;
  for (const std::string& name : left_out) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  if (!left_out.empty()) {
    log_info("{}: left out of checkpoint {}, because the format has no such values or they are the state of hooks: {}",
             path, checkpoint.prefix(), names);
  }
  return left_out;
}

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const SafetensorsOptions& options) {
  std::map<std::string_view, const Tensor*> by_name;
  std::vector<std::string> all;
  const auto read = [&](const std::string& name) { return *by_name.at(name); };
  detail::SafetensorsWriter writer(path, options, read);
  for (const auto& [name, tensor] : tensors) {
    all.push_back(name);
    if (!name.starts_with(options.only)) continue;
    if (!writer.add(name, tensor.dtype(), tensor.shape())) {
      throw InvalidArgumentError("write_safetensors: tensor '{}' is {}, and safetensors files have no such elements",
                                 name, tensor.dtype());
    }
    by_name.emplace(name, &tensor);
  }
  detail::expect_used(all, options.only, options.rename);
  writer.write();
}

}  // namespace trainhook
