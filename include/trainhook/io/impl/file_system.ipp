// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/file_system.hpp>

#include <trainhook/core/error.hpp>

namespace trainhook {

WritableFile::~WritableFile() = default;

void WritableFile::append(std::string_view text) { append(std::as_bytes(std::span(text.data(), text.size()))); }

ReadableFile::~ReadableFile() = default;

FileLock::~FileLock() = default;

FileSystem::~FileSystem() = default;

std::unique_ptr<WritableFile> FileSystem::open_appendable(const std::string& path) {
  throw UnimplementedError("cannot append to {}: its FileSystem does not override open_appendable", path);
}

void FileSystem::truncate(const std::string& path, std::uint64_t /*size*/) {
  throw UnimplementedError("cannot cut {}: its FileSystem does not override truncate", path);
}

PathTarget FileSystem::resolve(const std::string& path) {
  if (!exists(path)) return {PathKind::Nothing, path};
  return {is_directory(path) ? PathKind::Directory : PathKind::File, path};
}

}  // namespace trainhook
