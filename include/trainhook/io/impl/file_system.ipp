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

}  // namespace trainhook
