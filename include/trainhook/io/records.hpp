// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordWriter and RecordReader: files of records (TFRecord), a sequence of checksummed byte strings; also read while
/// they are being written.
///
///     file   = record*
///     record = length:u64 masked_crc32c(length):u32 payload:byte[length] masked_crc32c(payload):u32
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

inline constexpr std::size_t kRecordHeaderSize = 12;
inline constexpr std::size_t kRecordOverhead = kRecordHeaderSize + 4;

/// Appends the record to `batch`, so that several records can be written to a file at once.
TRAINHOOK_DECL void append_record(std::string& batch, std::string_view payload);

/// Writes each record to a file with a single write. So a process that dies leaves only whole records, and a failed
/// write leaves those before it.
class RecordWriter {
 public:
  explicit RecordWriter(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

  TRAINHOOK_DECL void write(std::string_view payload);

  /// Writes the records that `append_record` collected.
  void write_batch(std::string_view records) { file_->append(records); }

  [[nodiscard]] const std::string& path() const noexcept { return file_->path(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return file_->size(); }
  void sync() { file_->sync(); }
  void close() { file_->close(); }

 private:
  std::unique_ptr<WritableFile> file_;
};

enum class RecordStatus {
  Record,     ///< a record was read
  End,        ///< the file ends here, between two records
  Truncated,  ///< the file ends inside a record: it was cut off, or is still being written
};

/// Reads one record after another. Records behind a damaged one cannot be found: the format has no markers to search
/// for.
class RecordReader {
 public:
  /// Starts at `offset`, which must be the start of a record.
  TRAINHOOK_DECL explicit RecordReader(std::unique_ptr<ReadableFile> file, std::uint64_t offset = 0);

  /// The offset of the next record.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] const std::string& path() const noexcept { return file_->path(); }

  /// Reads the next record. `End` and `Truncated` leave the offset unchanged, so the call can be repeated after the
  /// file has grown.
  /// @throws DataLossError, naming file and offset, for a wrong checksum; every later call throws it too.
  [[nodiscard]] TRAINHOOK_DECL RecordStatus try_next(std::string& payload);

  /// Reads the next record of a complete file; false at its end. @throws DataLossError for a wrong checksum or a
  /// truncated record.
  [[nodiscard]] TRAINHOOK_DECL bool next(std::string& payload);

 private:
  [[nodiscard]] TRAINHOOK_DECL DataLossError corrupted(std::string_view part) const;

  std::unique_ptr<ReadableFile> file_;
  std::uint64_t offset_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/records.ipp>
#endif
