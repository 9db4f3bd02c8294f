// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/exchange/safetensors_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/exchange/strict_json.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

SafetensorsReader::SafetensorsReader(std::string path, SafetensorsReaderOptions options) : path_(std::move(path)) {
  FileSystem& file_system = detail::given_or_posix(options.file_system);
  const std::string index_path = path_ + std::string(detail::kSafetensorsIndex);
  if (path_.ends_with(detail::kSafetensorsIndex)) {
    open_shards(file_system, path_);
  } else if (!file_system.exists(path_) && file_system.exists(index_path)) {
    open_shards(file_system, index_path);
  } else {
    files_.push_back(file_system.open_readable(path_));
    detail::SafetensorsHeader header = detail::read_safetensors_header(*files_.front());
    entries_ = std::move(header.entries);
    metadata_ = std::move(header.metadata);
  }
}

void SafetensorsReader::open_shards(FileSystem& file_system, const std::string& index_path) {
  const std::map<std::string, std::string> places =
      detail::read_safetensors_index(*file_system.open_readable(index_path));
  std::map<std::string, std::vector<std::string>> shards;
  for (const auto& [tensor, file] : places) shards[file].push_back(tensor);
  for (const auto& [file, tensors] : shards) {
    files_.push_back(file_system.open_readable(join_path(parent_path(index_path), file)));
    detail::SafetensorsHeader header = detail::read_safetensors_header(*files_.back());
    if (files_.size() == 1) metadata_ = std::move(header.metadata);
    for (const std::string& tensor : tensors) {
      const auto found = header.entries.find(tensor);
      if (found == header.entries.end()) {
        throw DataLossError("index {} is damaged: it has tensor '{}' in {}, which lacks it", index_path,
                            detail::shown(tensor), file);
      }
      found->second.shard = static_cast<std::uint32_t>(files_.size() - 1);
      entries_.emplace(tensor, std::move(found->second));
    }
  }
}

const SafetensorsEntry& SafetensorsReader::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw NotFoundError("safetensors file {} has no tensor {}; {}", path_, name, detail::suggest_keys(entries_, name));
  }
  return found->second;
}

Tensor SafetensorsReader::get_tensor(std::string_view name) const {
  const SafetensorsEntry& entry = this->entry(name);
  const ReadableFile& file = *files_[entry.shard];
  if (!entry.unsupported.empty()) {
    throw UnimplementedError("tensor '{}' of safetensors file {} cannot be read: {}", detail::shown(name), file.path(),
                             entry.unsupported);
  }
  Tensor tensor = Tensor::uninitialized(entry.dtype, entry.shape);
  const std::span<std::byte> bytes = tensor.overwrite_bytes();
  file.read_at(entry.offset, bytes);
  if (entry.dtype == DType::Bool && std::ranges::any_of(bytes, [](std::byte byte) { return byte > std::byte{1}; })) {
    throw DataLossError(
        "safetensors file {} is damaged: tensor '{}' has booleans that are neither 0 nor 1; get it "
        "again, or write it again",
        file.path(), detail::shown(name));
  }
  return tensor;
}

Tensor SafetensorsReader::get_tensor(std::string_view name, const TensorSlice& slice) const {
  const SafetensorsEntry& entry = this->entry(name);
  const TensorSlice region = slice.within(entry.shape);
  const TensorSlice all = TensorSlice::all_of(entry.shape.rank()).within(entry.shape);
  Tensor whole = get_tensor(name);
  if (region == all) return whole;
  Tensor part = Tensor::uninitialized(entry.dtype, region.shape_in(entry.shape));
  detail::copy_shared(std::as_const(whole).bytes(), all, part.overwrite_bytes(), region, dtype_size(entry.dtype));
  return part;
}

std::map<std::string, Tensor> read_safetensors(const std::string& path, SafetensorsReaderOptions options) {
  const SafetensorsReader reader(path, options);
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, entry] : reader.entries()) tensors.emplace(name, reader.get_tensor(name));
  return tensors;
}

}  // namespace trainhook

namespace trainhook::detail {

class SafetensorsContents final : public CheckpointContents {
 public:
  SafetensorsContents(const std::string& path, FileSystem& file_system)
      : reader_(path, {.file_system = &file_system}) {}

  [[nodiscard]] const std::string& path() const noexcept override { return reader_.path(); }
  [[nodiscard]] std::optional<Entry> find(std::string_view name) const override {
    const auto found = reader_.entries().find(name);
    if (found == reader_.entries().end()) return std::nullopt;
    return Entry{found->second.dtype, found->second.shape};
  }
  [[nodiscard]] Tensor read(std::string_view name) const override { return reader_.get_tensor(name); }
  [[nodiscard]] Tensor read(std::string_view name, const TensorSlice& region) const override {
    return reader_.get_tensor(name, region);
  }
  [[nodiscard]] std::vector<std::string> names(std::string_view beginning) const override {
    std::vector<std::string> names;
    const SafetensorsReader::Entries& entries = reader_.entries();
    for (auto entry = entries.lower_bound(beginning); entry != entries.end() && entry->first.starts_with(beginning);
         ++entry)
      names.push_back(entry->first);
    return names;
  }
  [[noreturn]] void refuse(std::string_view variable) const override {
    throw NotFoundError(
        "safetensors file {} has no tensor '{}', and a restore needs every variable; to start with some of them, "
        "set `missing` of RestoreRules to Missing::KeepInitial; {}",
        path(), variable, suggest_keys(reader_.entries(), variable));
  }

 private:
  SafetensorsReader reader_;
};

}  // namespace trainhook::detail

namespace trainhook {

std::unique_ptr<CheckpointContents> open_safetensors(const std::string& path, FileSystem& file_system,
                                                     BundleFiles /*files*/) {
  return std::make_unique<detail::SafetensorsContents>(path, file_system);
}

}  // namespace trainhook
