// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads files of records, also ones that are still being written.
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
  Truncated,  ///< the file ends inside a record: it was cut off, or its writer is not finished
};

/// Gives one record after another. Nothing can be found behind a damaged one: the format has no marks to look for.
class RecordReader {
 public:
  /// Begins at `offset`, which has to be that of a record.
  TRAINHOOK_DECL explicit RecordReader(std::unique_ptr<ReadableFile> file, std::uint64_t offset = 0);

  /// The offset of the next record.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] const std::string& path() const noexcept { return file_->path(); }

  /// Reads the next record. After `End` and `Truncated` the offset stays, so that the same call may succeed once the
  /// file has grown.
  /// @throws DataLossError for a wrong checksum, naming file and offset; so does every later call.
  [[nodiscard]] TRAINHOOK_DECL RecordStatus try_next(std::string& payload);

  /// Reads the next record of a file that is complete; false at its end. @throws DataLossError for a truncated record
  /// as well.
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
