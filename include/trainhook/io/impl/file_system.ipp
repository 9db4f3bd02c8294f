// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of file_system.hpp.
#pragma once

#include <trainhook/io/file_system.hpp>

#include <trainhook/core/error.hpp>

namespace trainhook {

TRAINHOOK_DECL WritableFile::~WritableFile() = default;

TRAINHOOK_DECL void WritableFile::append(std::string_view text) {
  append(std::as_bytes(std::span(text.data(), text.size())));
}

TRAINHOOK_DECL void WritableFile::reserve(std::uint64_t) {}

TRAINHOOK_DECL ReadableFile::~ReadableFile() = default;

TRAINHOOK_DECL FileLock::~FileLock() = default;

TRAINHOOK_DECL bool FileLock::is_current() const { return true; }

TRAINHOOK_DECL FileSystem::~FileSystem() = default;

TRAINHOOK_DECL std::unique_ptr<WritableFile> FileSystem::open_appendable(const std::string& path) {
  throw UnimplementedError("cannot append to {}: its FileSystem does not override open_appendable", path);
}

TRAINHOOK_DECL void FileSystem::truncate(const std::string& path, std::uint64_t /*size*/) {
  throw UnimplementedError("cannot cut {}: its FileSystem does not override truncate", path);
}

TRAINHOOK_DECL PathTarget FileSystem::resolve(const std::string& path) {
  if (!exists(path)) return {PathKind::Nothing, path};
  return {is_directory(path) ? PathKind::Directory : PathKind::File, path};
}

TRAINHOOK_DECL FileSystem& FileSystem::at_current_directory() { return *this; }

}  // namespace trainhook
