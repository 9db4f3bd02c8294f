// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/file_writer_cache.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

FileWriterCache::FileWriterCache(FileWriterOptions options) : options_(std::move(options)) {
  options_.file_system = &detail::given_or_posix(options_.file_system);
}

FileWriter& FileWriterCache::at(std::string_view directory) {
  while (directory.size() > 1 && directory.back() == '/') directory.remove_suffix(1);
  expect_here();
  const std::scoped_lock lock(mutex_);
  if (closed_)
    throw FailedPreconditionError("the event writers of this session are closed: {} gets no more events", directory);
  auto found = writers_.find(directory);
  if (found == writers_.end()) {
    found =
        writers_.emplace(std::string(directory), std::make_unique<FileWriter>(std::string(directory), options_)).first;
    found->second->check_name();
    if (start_) found->second->restart_at(*start_);
  }
  return *found->second;
}

void FileWriterCache::restart_at(std::int64_t step) {
  expect_here();
  const std::scoped_lock lock(mutex_);
  start_ = (std::min)(step, start_.value_or(step));
  for (const auto& [directory, writer] : writers_) writer->restart_at(step);
}

void FileWriterCache::flush() {
  for_all([](FileWriter& writer) { writer.flush(); });
}

void FileWriterCache::close() {
  expect_here();
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  for_all([](FileWriter& writer) { writer.close(); });
}

void FileWriterCache::for_all(FunctionRef<void(FileWriter&)> action) {
  expect_here();
  const std::scoped_lock lock(mutex_);
  std::exception_ptr first;
  for (const auto& [directory, writer] : writers_) {
    try {
      action(*writer);
    } catch (...) {
      if (first == nullptr) {
        first = std::current_exception();
      } else {
        log_error("FileWriter of {}: {}", directory, describe(std::current_exception()));
      }
    }
  }
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace trainhook
