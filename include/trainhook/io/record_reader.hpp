// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads files of records, also ones that are still being written.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/record_writer.hpp>

namespace trainhook {

enum class RecordStatus {
  Record,     ///< a record was read
  End,        ///< the file ends here, between two records
  Truncated,  ///< the file ends inside a record: it was cut off, or its writer is not finished
};

/// Gives one record after another. Nothing can be found behind a damaged one: the format has no marks to look for.
class RecordReader {
 public:
  /// Begins at `offset`, which has to be that of a record.
  explicit RecordReader(std::unique_ptr<ReadableFile> file, std::uint64_t offset = 0) : file_(std::move(file)), offset_(offset) {}

  /// Where the next record begins.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] const std::string& path() const noexcept { return file_->path(); }

  /// Reads the next record. After `End` and `Truncated` the offset stays, so that the same call may succeed once the file has grown.
  /// @throws DataLossError for a wrong checksum, naming file and offset; so does every later call.
  [[nodiscard]] RecordStatus try_next(std::string& payload) {
    const std::uint64_t size = file_->size();
    if (size <= offset_) return size == offset_ ? RecordStatus::End : RecordStatus::Truncated;
    const std::uint64_t left = size - offset_;
    if (left < detail::kRecordHeaderSize) return RecordStatus::Truncated;
    std::array<char, detail::kRecordHeaderSize> header;
    file_->read_at(offset_, std::as_writable_bytes(std::span(header)));
    const std::string_view fields(header.data(), header.size());
    if (crc32c::mask(crc32c::value(fields.substr(0, 8))) != detail::fixed32_at(fields, 8)) throw corrupted("length");
    const std::uint64_t length = detail::fixed64_at(fields, 0);
    if (left < detail::kRecordOverhead || length > left - detail::kRecordOverhead) return RecordStatus::Truncated;
    payload.resize(static_cast<std::size_t>(length) + 4);
    file_->read_at(offset_ + detail::kRecordHeaderSize, std::as_writable_bytes(std::span(payload)));
    const std::uint32_t stored = detail::fixed32_at(payload, static_cast<std::size_t>(length));
    payload.resize(static_cast<std::size_t>(length));
    if (crc32c::mask(crc32c::value(payload)) != stored) throw corrupted("content");
    offset_ += length + detail::kRecordOverhead;
    return RecordStatus::Record;
  }

  /// Reads the next record of a file that is complete; false at its end. @throws DataLossError for a truncated record as well.
  [[nodiscard]] bool next(std::string& payload) {
    const RecordStatus status = try_next(payload);
    if (status == RecordStatus::Truncated) throw DataLossError("file ", path(), " has a truncated record at byte ", offset_);
    return status == RecordStatus::Record;
  }

 private:
  [[nodiscard]] DataLossError corrupted(std::string_view part) const {
    return DataLossError("file ", path(), " has a corrupted record at byte ", offset_, ": the checksum of its ", part, " does not match");
  }

  std::unique_ptr<ReadableFile> file_;
  std::uint64_t offset_;
};

}  // namespace trainhook
