// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/records.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <trainhook/core/coding.hpp>
#include <trainhook/io/crc32c.hpp>

namespace trainhook::detail {

void append_record(std::string& batch, std::string_view payload) {
  batch.reserve(batch.size() + payload.size() + kRecordOverhead);
  const std::size_t start = batch.size();
  append_fixed(batch, std::uint64_t{payload.size()});
  append_fixed(batch, crc32c::mask(crc32c::value(std::string_view(batch).substr(start, 8))));
  batch.append(payload);
  append_fixed(batch, crc32c::mask(crc32c::value(payload)));
}

void RecordWriter::write(std::string_view payload) {
  std::string record;
  append_record(record, payload);
  write_batch(record);
}

RecordReader::RecordReader(std::unique_ptr<ReadableFile> file, std::uint64_t offset)
    : file_(std::move(file)), offset_(offset) {}

RecordStatus RecordReader::try_next(std::string& payload) {
  const std::uint64_t size = file_->size();
  if (size <= offset_) return size == offset_ ? RecordStatus::End : RecordStatus::Truncated;
  const std::uint64_t left = size - offset_;
  if (left < kRecordHeaderSize) return RecordStatus::Truncated;
  std::array<char, kRecordHeaderSize> header;
  file_->read_at(offset_, std::as_writable_bytes(std::span(header)));
  const std::string_view fields(header.data(), header.size());
  if (!crc32c::agree(fixed32_at(fields, 8), crc32c::mask(crc32c::value(fields.substr(0, 8)))))
    throw corrupted("length");
  const std::uint64_t length = fixed64_at(fields, 0);
  if (left < kRecordOverhead || length > left - kRecordOverhead) return RecordStatus::Truncated;
  payload.resize(static_cast<std::size_t>(length) + 4);
  file_->read_at(offset_ + kRecordHeaderSize, std::as_writable_bytes(std::span(payload)));
  const std::uint32_t stored = fixed32_at(payload, static_cast<std::size_t>(length));
  payload.resize(static_cast<std::size_t>(length));
  if (!crc32c::agree(stored, crc32c::mask(crc32c::value(payload)))) throw corrupted("content");
  offset_ += length + kRecordOverhead;
  return RecordStatus::Record;
}

bool RecordReader::next(std::string& payload) {
  const RecordStatus status = try_next(payload);
  if (status == RecordStatus::Truncated)
    throw DataLossError("file {} has a truncated record at byte {}", path(), offset_);
  return status == RecordStatus::Record;
}

DataLossError RecordReader::corrupted(std::string_view part) const {
  return DataLossError("file {} has a corrupted record at byte {}: the checksum of its {} does not match", path(),
                       offset_, part);
}

}  // namespace trainhook::detail
