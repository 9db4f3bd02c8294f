// SPDX-License-Identifier: Apache-2.0
/// @file
/// FileWriterCache: the event writers that the hooks of a session share, one per directory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/events/file_writer.hpp>

namespace trainhook {

/// Owns one FileWriter per directory, because TensorBoard drops points if a directory has two. Each session owns a
/// cache and closes it. Any thread may call any member. Source: `tf.compat.v1.summary.FileWriterCache`, which is
/// global.
class FileWriterCache {
 public:
  /// Creates every writer with `options`.
  TRAINHOOK_DECL explicit FileWriterCache(FileWriterOptions options = {});
  FileWriterCache(const FileWriterCache&) = delete;
  FileWriterCache& operator=(const FileWriterCache&) = delete;

  /// The writer of `directory`, which the cache owns; the same one each time. A trailing slash makes no difference. No
  /// file is created before the first event. @throws as `FileWriter::check_name`.
  [[nodiscard]] TRAINHOOK_DECL FileWriter& at(std::string_view directory);

  /// Calls `restart_at` of all writers, also of those that `at` creates later.
  TRAINHOOK_DECL void restart_at(std::int64_t step);

  /// Flushes all writers, then throws the first error; further errors are logged.
  TRAINHOOK_DECL void flush();

  /// Closes all writers, then throws the first error; further errors are logged. `at` is an error from then on.
  TRAINHOOK_DECL void close();

 private:
  TRAINHOOK_DECL void for_all(FunctionRef<void(FileWriter&)> action);

  void expect_here() const { process_.expect_here("this cache of event writers"); }

  detail::ProcessMark process_;
  FileWriterOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<FileWriter>, std::less<>> writers_;
  std::optional<std::int64_t> start_;  // the smallest step of a restart
  bool closed_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/file_writer_cache.ipp>
#endif
