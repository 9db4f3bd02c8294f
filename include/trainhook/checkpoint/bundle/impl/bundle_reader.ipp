// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/bundle/missing_bundle.hpp>
#include <trainhook/core/coding.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/tables.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook {

BundleReader::BundleReader(std::string prefix, BundleReaderOptions options) : prefix_(std::move(prefix)) {
  FileSystem& file_system = detail::given_or_posix(options.file_system);
  const std::optional<detail::BundleIndex> index =
      detail::read_from_device([&] { return detail::find_bundle_index(file_system, prefix_); });
  index_path_ = index ? index->path : detail::bundle_index_path(prefix_);
  if (!index) throw detail::missing_bundle(file_system, prefix_);
  read_index(file_system);
  shards_ = std::make_unique<detail::BundleShards>(detail::BundleShards::Options{.file_system = &file_system,
                                                                                 .prefix = prefix_,
                                                                                 .replacement = index->suffix,
                                                                                 .count = num_shards_,
                                                                                 .files = options.files},
                                                   std::exchange(needed_, {}));
}

bool BundleReader::has_tensor(std::string_view name) const { return entries_.find(name) != entries_.end(); }

const BundleEntry& BundleReader::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw NotFoundError("checkpoint {} has no tensor {}; {}", prefix_, name, detail::suggest_keys(entries_, name));
  }
  return found->second;
}

Tensor BundleReader::get_tensor(std::string_view name) const {
  const BundleEntry& entry = readable_entry(name);
  return entry.slices.empty() ? read(name, entry) : join(name, entry, TensorSlice::all_of(entry.shape.rank()));
}

Tensor BundleReader::get_tensor(std::string_view name, const TensorSlice& slice) const {
  const BundleEntry& entry = readable_entry(name);
  TensorSlice region;
  try {
    region = slice.within(entry.shape);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("tensor {} of checkpoint {}: {}", name, prefix_, error.what());
  }
  if (!entry.slices.empty()) return join(name, entry, slice);
  Tensor whole = read(name, entry);
  const TensorSlice all = TensorSlice::all_of(entry.shape.rank()).within(entry.shape);
  if (region == all) return whole;
  Tensor part = Tensor::uninitialized(entry.dtype, region.shape_in(entry.shape));
  copy(whole, all, part, region);
  return part;
}

void BundleReader::get_tensor(std::string_view name, const TensorSlice& slice, std::span<std::byte> to) const {
  const BundleEntry& entry = readable_entry(name);
  if (entry.slices.empty()) {
    const Tensor part = get_tensor(name, slice);
    if (!to.empty()) std::ranges::copy(part.bytes(), to.begin());
    return;
  }
  read_pieces(name, entry, slice, [&](const Tensor& piece, const TensorSlice& place, const TensorSlice& region) {
    if (!to.empty()) detail::copy_shared(piece.bytes(), place, to, region, dtype_size(entry.dtype));
  });
}

void(BundleReader::verify)(std::string_view beginning) const {
  for (auto at = entries_.lower_bound(beginning); at != entries_.end() && at->first.starts_with(beginning); ++at) {
    const auto& [name, entry] = *at;
    if (entry.unsupported) continue;
    if (entry.slices.empty()) static_cast<void>(read(name, entry));
    for (const TensorSlice& slice : entry.slices) static_cast<void>(read_slice(name, slice));
  }
}

void BundleReader::read_index(FileSystem& file_system) {
  const detail::TableReader table(detail::read_from_device([&] { return read_file(file_system, index_path_); }),
                                  index_path_);
  table.for_each([&](std::string_view key, std::string_view value) {
    if (num_shards_ > 0) return add_entry(key, value);
    if (!key.empty()) throw DataLossError("checkpoint {} is damaged: it has no header", index_path_);
    num_shards_ = detail::decode_bundle_header(value, index_path_);
  });
  if (num_shards_ == 0) throw DataLossError("checkpoint {} is damaged: it is empty", index_path_);
}

void BundleReader::add_entry(std::string_view key, std::string_view value) {
  const bool is_slice = key.front() == '\0';  // these come first
  BundleEntry entry = detail::decode_bundle_entry(value, is_slice ? "(slice)" : key, num_shards_, index_path_);
  std::uint64_t end = 0;
  if (__builtin_add_overflow(entry.offset, entry.size, &end)) {
    throw DataLossError("checkpoint {} is damaged: tensor {} is beyond the end of any file", index_path_, key);
  }
  std::uint64_t& needed = needed_[entry.shard_id].needed;
  needed = (std::max)(needed, end);
  if (!is_slice) check_slices(key, entry);
  Entries& entries = is_slice ? slices_ : entries_;
  entries.emplace_hint(entries.end(), key, std::move(entry));
}

void BundleReader::check_slices(std::string_view name, const BundleEntry& entry) {
  const auto damaged = [&](std::string_view problem) {
    return DataLossError("checkpoint {} is damaged: tensor {}{} {}", index_path_, name, entry.shape, problem);
  };
  if (entry.slices.empty()) return;
  std::vector<TensorSlice> places;
  for (const TensorSlice& slice : entry.slices) places.push_back(slice.within(entry.shape));
  const auto& regions = regions_.emplace(name, std::move(places)).first->second;
  if (const auto overlap = regions.find_overlap()) {
    throw damaged(
        fmt::format("has slices that overlap: {} and {}", entry.slices[overlap->first], entry.slices[overlap->second]));
  }
  std::vector<std::array<std::uint64_t, 3>> bytes;  // shard, begin and end
  for (const TensorSlice& slice : entry.slices) {
    const auto stored = slices_.find(detail::slice_key(name, slice));
    if (stored == slices_.end()) throw damaged(fmt::format("has no entry for its slice {}", slice));
    const BundleEntry& piece = stored->second;
    if (piece.dtype != entry.dtype || piece.shape != slice.shape_in(entry.shape) || !piece.slices.empty()) {
      throw damaged(fmt::format("has an entry of another dtype or shape for its slice {}", slice));
    }
    bytes.push_back({piece.shard_id, piece.offset, piece.offset + piece.size});
  }
  std::ranges::sort(bytes);
  const auto share = [](const auto& one, const auto& next) { return one[0] == next[0] && one[2] > next[1]; };
  if (std::ranges::adjacent_find(bytes, share) != bytes.end()) throw damaged("has slices that share bytes");
}

const BundleEntry& BundleReader::readable_entry(std::string_view name) const {
  const BundleEntry& entry = this->entry(name);
  if (entry.unsupported) {
    throw UnimplementedError("tensor {} of checkpoint {} cannot be read: {}", name, prefix_, entry.unsupported->reason);
  }
  return entry;
}

Tensor BundleReader::read(std::string_view name, const BundleEntry& entry) const {
  Tensor tensor = Tensor::uninitialized(entry.dtype, entry.shape);
  if (entry.dtype == DType::String) {
    read_strings(name, entry, tensor.overwrite_data<std::string>());
    return tensor;
  }
  const std::span<std::byte> bytes = tensor.overwrite_bytes();
  expect_checksum(name, entry, read_with_checksum(name, entry, bytes));
  if (entry.dtype == DType::Bool && std::ranges::any_of(bytes, [](std::byte byte) { return byte > std::byte{1}; })) {
    throw damaged(name, entry, "has booleans that are neither 0 nor 1");
  }
  return tensor;
}

Tensor BundleReader::read_slice(std::string_view name, const TensorSlice& slice) const {
  return read(fmt::format("{} slice {}", name, slice), slices_.find(detail::slice_key(name, slice))->second);
}

Tensor BundleReader::join(std::string_view name, const BundleEntry& entry, const TensorSlice& wanted) const {
  Tensor tensor = Tensor::uninitialized(entry.dtype, wanted.shape_in(entry.shape));
  read_pieces(name, entry, wanted, [&](const Tensor& piece, const TensorSlice& place, const TensorSlice& region) {
    if (place == region) {
      tensor = piece;
    } else {
      copy(piece, place, tensor, region);
    }
  });
  return tensor;
}

void BundleReader::read_pieces(std::string_view name, const BundleEntry& entry, const TensorSlice& wanted,
                               FunctionRef<TakePiece> take) const {
  const TensorSlice region = wanted.within(entry.shape);
  const std::int64_t elements = wanted.shape_in(entry.shape).num_elements();
  const detail::Regions& regions = regions_.find(name)->second;
  const std::vector<std::size_t> pieces = regions.meeting(region);
  std::int64_t stored = 0;  // no two slices share an element
  for (const std::size_t piece : pieces)
    stored += detail::intersection(regions[piece], region)->shape_in(entry.shape).num_elements();
  if (stored != elements) {
    throw NotFoundError(
        "checkpoint {} holds {} of the {} elements of tensor {}{} slice {}; it was saved without some of its {} slices "
        "(the first is {}): save them all, or read a region that they have",
        prefix_, stored, elements, name, entry.shape, wanted, entry.slices.size(), entry.slices.front());
  }
  for (const std::size_t piece : pieces) take(read_slice(name, entry.slices[piece]), regions[piece], region);
}

void BundleReader::copy(const Tensor& from, const TensorSlice& from_region, Tensor& to, const TensorSlice& to_region) {
  if (from.dtype() == DType::String) {
    detail::copy_shared(from.data<std::string>(), from_region, to.mutable_data<std::string>(), to_region, 1);
  } else {
    detail::copy_shared(from.bytes(), from_region, to.mutable_bytes(), to_region, dtype_size(from.dtype()));
  }
}

DataLossError BundleReader::damaged(std::string_view name, const BundleEntry& entry, std::string_view problem) const {
  return DataLossError("checkpoint file {} is damaged: tensor {} at byte {} {}; use an older checkpoint",
                       shards_->at(entry.shard_id).path(), name, entry.offset, problem);
}

void BundleReader::expect_checksum(std::string_view name, const BundleEntry& entry, std::uint32_t crc) const {
  if (!crc32c::agree(entry.crc32c, crc32c::mask(crc))) throw damaged(name, entry, "does not match its checksum");
}

std::uint32_t BundleReader::read_with_checksum(std::string_view name, const BundleEntry& entry,
                                               std::span<std::byte> into) const {
  const ReadableFile& shard = shards_->at(entry.shard_id);
  std::uint32_t crc = 0;
  for (std::size_t done = 0; done < into.size();) {
    const std::span<std::byte> chunk = into.subspan(done, (std::min)(into.size() - done, detail::kBundleChunk));
    try {
      detail::read_from_device([&] { shard.read_at(entry.offset + done, chunk); });
    } catch (const UnknownError&) {
      if (shard.size() < entry.offset + done + chunk.size())
        throw damaged(name, entry, "is no longer whole, because its file was cut off meanwhile");
      throw;
    }
    crc = crc32c::extend(crc, chunk);
    done += chunk.size();
  }
  return crc;
}

void BundleReader::read_strings(std::string_view name, const BundleEntry& entry, std::span<std::string> strings) const {
  if (entry.size == 0 && strings.empty()) return;
  std::string stored(static_cast<std::size_t>(entry.size), '\0');
  static_cast<void>(read_with_checksum(name, entry, std::as_writable_bytes(std::span(stored))));
  std::string_view rest = stored;
  std::uint32_t crc = 0;
  std::uint64_t total = 0;
  std::vector<std::uint64_t> lengths(strings.size());
  for (std::uint64_t& length : lengths) {
    const std::optional<std::uint64_t> taken = detail::take_varint(rest);
    if (!taken || *taken > entry.size) throw damaged(name, entry, "has a string of impossible length");
    length = *taken;
    if (__builtin_add_overflow(total, length, &total)) throw damaged(name, entry, "has strings of impossible length");
    crc = detail::extend_over_length(crc, length);
  }
  if (rest.size() < 4 || !crc32c::agree(detail::fixed32_at(rest, 0), crc32c::mask(crc))) {
    throw damaged(name, entry, "has lengths that do not match their checksum");
  }
  if (total != rest.size() - 4) throw damaged(name, entry, "has strings that do not fill its bytes");
  expect_checksum(name, entry, crc32c::extend(crc, rest));
  rest.remove_prefix(4);
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const auto length = static_cast<std::size_t>(lengths[i]);
    strings[i] = rest.substr(0, length);
    rest.remove_prefix(length);
  }
}

}  // namespace trainhook
