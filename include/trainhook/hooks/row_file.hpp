// SPDX-License-Identifier: Apache-2.0
/// @file
/// RowFile: a text file with one record per logged step, which a resumed run continues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// One record of a file.
struct RowRecord {
  std::size_t length = 0;              ///< with its newline
  std::optional<std::int64_t> step{};  ///< nothing: not a row
};

/// The format of rows. A cell is text in the file's form; an empty cell has no value.
struct RowFormat {
  std::string_view hook{};                                                   ///< the type of the hook, for messages
  std::string (*header)(const std::vector<std::string>& columns) = nullptr;  ///< null: none
  std::string (*line)(const std::vector<std::string>& columns, std::int64_t step,
                      const std::vector<std::string>& cells) = nullptr;
  std::string (*text)(std::string_view text) = nullptr;  ///< a string as a cell
  std::string (*non_finite)(double value) = nullptr;     ///< NaN or infinity as a cell
  RowRecord (*record)(std::string_view text) = nullptr;  ///< parses the first record; length 0: it is incomplete
};

/// A scalar number, bool or string as a cell; numbers have the shortest digits that read back the same.
/// @throws InvalidArgumentError, naming `column`, for anything else.
[[nodiscard]] TRAINHOOK_DECL std::string cell_of(const Tensor& tensor, const std::string& column,
                                                 const RowFormat& format);

/// Appends rows immediately; they are durable after `sync`.
class RowFile {
 public:
  /// Continues the file at `path`: keeps the rows of steps up to `last_step` and removes all others and a torn last
  /// line. Replaces the file atomically, through `<path>.tmp`.
  /// @throws FailedPreconditionError if kept rows have other columns.
  TRAINHOOK_DECL RowFile(FileSystem& file_system, std::string path, const std::vector<std::string>& columns,
                         const RowFormat& format, std::int64_t last_step);

  /// The step of the last row; nothing if there is none.
  [[nodiscard]] std::optional<std::int64_t> last_step() const noexcept { return last_step_; }

  TRAINHOOK_DECL void append(std::int64_t step, const std::string& line);
  TRAINHOOK_DECL void sync();
  TRAINHOOK_DECL void close();

 private:
  TRAINHOOK_DECL std::string kept_part(std::string_view text, const std::string& header, const RowFormat& format,
                                       std::int64_t last_step);

  std::string path_;
  std::unique_ptr<WritableFile> file_;
  std::optional<std::int64_t> last_step_;
  bool synced_ = true;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/row_file.ipp>
#endif
