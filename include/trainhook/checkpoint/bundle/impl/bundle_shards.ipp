// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/bundle/bundle_shards.hpp>

#include <utility>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook::detail {

BundleShards::BundleShards(Options options, BundleShardMap shards)
    : options_(std::move(options)), shards_(std::move(shards)) {
  const bool opens_all = options_.files == BundleFiles::Hold || options_.count == 1;
  if (!opens_all && options_.files == BundleFiles::AsRead) return;
  for (std::uint32_t shard = 0; shard < options_.count; ++shard) {
    if (opens_all) {
      shards_[shard].file = open(shard);
    } else {
      validate(shard);
    }
  }
}

const ReadableFile& BundleShards::at(std::uint32_t shard) const {
  BundleShard& known = shards_.at(shard);
  {
    const std::scoped_lock lock(mutex_);
    if (known.file != nullptr) return *known.file;
  }
  std::unique_ptr<ReadableFile> file = open(shard);  // others can read meanwhile
  const std::scoped_lock lock(mutex_);
  if (known.file == nullptr) known.file = std::move(file);
  return *known.file;
}

void BundleShards::validate(std::uint32_t shard) const {
  const std::string where = path(shard);
  try {
    expect_size(shard, where, read_from_device([&] { return options_.file_system->file_size(where); }));
  } catch (const NotFoundError& error) {
    throw DataLossError("checkpoint {} is incomplete: {}", options_.prefix, error.what());
  }
}

std::unique_ptr<ReadableFile> BundleShards::open(std::uint32_t shard) const {
  const std::string where = path(shard);
  std::unique_ptr<ReadableFile> file;
  std::uint64_t size = 0;
  try {
    read_from_device([&] {
      file = options_.file_system->open_readable(where);
      size = file->size();
    });
  } catch (const NotFoundError& error) {
    throw DataLossError("checkpoint {} is incomplete: {}", options_.prefix, error.what());
  }
  expect_size(shard, where, size);
  return file;
}

void BundleShards::expect_size(std::uint32_t shard, const std::string& path, std::uint64_t size) const {
  const auto known = shards_.find(shard);
  if (known != shards_.end() && size < known->second.needed)
    throw DataLossError("checkpoint file {} was cut off: it has {} bytes of {}", path, size, known->second.needed);
}

// A file of an interrupted replacement may be renamed at any time.
std::string BundleShards::path(std::uint32_t shard) const {
  if (!options_.replacement.empty()) {
    std::string temporary = temporary_data_path(options_.prefix, shard, options_.replacement);
    if (options_.file_system->exists(temporary)) return temporary;
  }
  return bundle_data_path(options_.prefix, shard, options_.count);
}

}  // namespace trainhook::detail
