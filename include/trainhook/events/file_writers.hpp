// SPDX-License-Identifier: Apache-2.0
/// @file
/// FileWriters: the event writers that the hooks of one session share, one for a directory.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/file_writer.hpp>

namespace trainhook {

/// Owns a FileWriter for each directory that was asked for: two writers of one directory would erase each other's points in TensorBoard.
/// A session owns one of these and closes it. Any thread may ask. (TensorFlow: FileWriterCache, which is a hidden global there.)
class FileWriters {
 public:
  /// `options` are those of every writer.
  explicit FileWriters(FileWriterOptions options = {}) : options_(std::move(options)) {}
  FileWriters(const FileWriters&) = delete;
  FileWriters& operator=(const FileWriters&) = delete;

  /// The writer of `directory`, the same each time; a slash at the end makes no difference. No file is created before the first event.
  [[nodiscard]] FileWriter& at(std::string_view directory) {
    while (directory.size() > 1 && directory.back() == '/') directory.remove_suffix(1);
    const std::scoped_lock lock(mutex_);
    if (closed_) throw FailedPreconditionError("the event writers of this session are closed: ", directory, " gets no more events");
    auto found = writers_.find(directory);
    if (found == writers_.end()) {
      found = writers_.emplace(std::string(directory), std::make_unique<FileWriter>(std::string(directory), options_)).first;
    }
    return *found->second;
  }

  /// Flushes all. Throws the first failure after all were flushed; others are logged.
  void flush() {
    for_all([](FileWriter& writer) { writer.flush(); });
  }

  /// Closes all; `at` is an error from then on. Throws the first failure after all were closed; others are logged.
  void close() {
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    for_all([](FileWriter& writer) { writer.close(); });
  }

 private:
  void for_all(const std::function<void(FileWriter&)>& action) {
    const std::scoped_lock lock(mutex_);
    std::exception_ptr first;
    for (const auto& [directory, writer] : writers_) {
      try {
        action(*writer);
      } catch (...) {
        if (first == nullptr) {
          first = std::current_exception();
        } else {
          log_error("FileWriter of ", directory, ": ", describe(std::current_exception()));
        }
      }
    }
    if (first != nullptr) std::rethrow_exception(first);
  }

  FileWriterOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<FileWriter>, std::less<>> writers_;
  bool closed_ = false;
};

}  // namespace trainhook
