// SPDX-License-Identifier: Apache-2.0
/// @file
/// FileWriters: the event writers that the hooks of one session share, one for a directory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/events/file_writer.hpp>

namespace trainhook {

/// Owns a FileWriter for each directory that was asked for: two writers of one directory would erase each other's
/// points in TensorBoard. A session owns one of these and closes it. Any thread may ask. (TensorFlow: FileWriterCache,
/// which is a hidden global there.)
class FileWriters {
 public:
  /// `options` are those of every writer.
  explicit FileWriters(FileWriterOptions options = {}) : options_(std::move(options)) {}
  FileWriters(const FileWriters&) = delete;
  FileWriters& operator=(const FileWriters&) = delete;

  /// The writer of `directory`, the same each time; a slash at the end makes no difference. No file is created before
  /// the first event.
  [[nodiscard]] TRAINHOOK_DECL FileWriter& at(std::string_view directory);

  /// Flushes all. Throws the first failure after all were flushed; others are logged.
  TRAINHOOK_DECL void flush();

  /// Closes all; `at` is an error from then on. Throws the first failure after all were closed; others are logged.
  TRAINHOOK_DECL void close();

 private:
  TRAINHOOK_DECL void for_all(const std::function<void(FileWriter&)>& action);

  FileWriterOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<FileWriter>, std::less<>> writers_;
  bool closed_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/file_writers.ipp>
#endif
