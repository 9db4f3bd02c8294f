// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordReader: reads files of records, also while they are being written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

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
#include <trainhook/io/impl/record_reader.ipp>
#endif
