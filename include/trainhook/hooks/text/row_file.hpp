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
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// The format of rows. A cell is text in the file's form; an empty cell has no value.
struct RowFormat {
  std::string_view hook{};                                                   ///< the type of the hook, for messages
  std::string_view start{};                                                  ///< of every row, before its step
  std::string_view after_step{};                                             ///< characters, one of which follows it
  bool has_quotes = false;                                                   ///< a newline in quotes ends no row
  std::string (*header)(const std::vector<std::string>& columns) = nullptr;  ///< null: none
  std::string (*line)(const std::vector<std::string>& columns, std::int64_t step,
                      const std::vector<std::string>& cells) = nullptr;
  std::string (*text)(std::string_view text) = nullptr;  ///< a string as a cell
  std::string (*non_finite)(double value) = nullptr;     ///< NaN or infinity as a cell
};

/// A scalar number, bool or string as a cell; numbers have the shortest digits that read back the same.
/// @throws InvalidArgumentError, naming `column`, for anything else.
[[nodiscard]] TRAINHOOK_DECL std::string cell_of(const Tensor& tensor, const std::string& column,
                                                 const RowFormat& format);

/// The bytes at the beginning of a file that a run has written.
struct WrittenRows {
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
};

/// Appends rows immediately; they are durable after `sync`. If that fails, the next call writes the rows since the last
/// `sync` again, because the system no longer tells whether it has them. No other RowFile, of any process, can have the
/// file open.
/// If the file was removed, emptied or cut during the run, a warning says that rows are gone, and later rows follow
/// what is there now. A pipe or a device gets the header and the rows, and nothing is cut off.
class RowFile {
 public:
  /// Continues the file at `path`: keeps the rows of steps up to `last_step` and cuts off those after them and a torn
  /// last line. A file is known by its first line, by every line being a row, and by `written`, which the run has
  /// saved. Without `written`, or with no row in it, rows that are cut may be of another run: then `<path>.1`, or the
  /// next free number, keeps a copy.
  /// @throws FailedPreconditionError if another program wrote the file, it has other columns, or it is open.
  TRAINHOOK_DECL RowFile(FileSystem& file_system, std::string path, const std::vector<std::string>& columns,
                         const RowFormat& format, std::int64_t last_step,
                         const std::optional<WrittenRows>& written = {});

  /// The step of the last row; nothing if there is none.
  [[nodiscard]] std::optional<std::int64_t> last_step() const noexcept { return last_step_; }

  /// All that is in the file; nothing for a pipe or a device.
  [[nodiscard]] const std::optional<WrittenRows>& written() const noexcept { return written_; }

  /// @throws FailedPreconditionError if another program wrote what is in the place of the file now.
  TRAINHOOK_DECL void append(std::int64_t step, const std::string& line);
  TRAINHOOK_DECL void sync();
  TRAINHOOK_DECL void close();

 private:
  /// Takes the lock, makes the directory of `target`, to which the path leads, and returns what is in the file.
  [[nodiscard]] TRAINHOOK_DECL std::string lock_and_read(const std::string& target);
  TRAINHOOK_DECL void expect_written(std::string_view text, const std::optional<WrittenRows>& written) const;

  /// The length of the part to keep, and the number of rows after it.
  [[nodiscard]] TRAINHOOK_DECL std::pair<std::size_t, std::size_t> divide(std::string_view text,
                                                                          std::int64_t last_step);
  TRAINHOOK_DECL void keep_copy(const std::string& target, const std::string& text) const;
  TRAINHOOK_DECL void write(const std::string& text);

  /// Opens the file to append to the first `kept` bytes of `text`, which is in it.
  TRAINHOOK_DECL void open(std::string_view text, std::size_t kept);

  /// Opens the file again, with a warning, if it has lost rows.
  TRAINHOOK_DECL void reopen_if_lost();
  [[nodiscard]] TRAINHOOK_DECL bool has_lost_rows();

  /// For a sync that failed: keeps what came after the one before.
  TRAINHOOK_DECL void prepare_repair() noexcept;

  /// After that: opens the file again and writes what was kept.
  TRAINHOOK_DECL void repair();
  [[noreturn]] TRAINHOOK_DECL void refuse(std::string_view reason) const;

  FileSystem* file_system_;
  const RowFormat* format_;
  std::string path_;
  std::string header_;
  std::unique_ptr<FileLock> lock_;  // null: the file system has none
  std::unique_ptr<WritableFile> file_;
  std::optional<WrittenRows> written_;
  std::optional<std::int64_t> last_step_;
  std::uint64_t durable_ = 0;             // the size at the last sync
  std::uint64_t seen_size_ = 0;           // of what the path leads to, when it was looked at last
  std::optional<std::string> rewritten_;  // after a sync that failed: what is written again
  bool synced_ = true;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/text/impl/row_file.ipp>
#endif
