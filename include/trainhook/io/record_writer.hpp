// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordWriter: writes files of records (TFRecord), a sequence of checksummed byte strings.
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

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/record_writer.ipp>
#endif
