// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of whole_file.hpp.
#pragma once

#include <trainhook/io/whole_file.hpp>

#include <unistd.h>

#include <cstddef>
#include <memory>
#include <span>

#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include <trainhook/core/error.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0)
    throw InternalError("the system gives no random bytes for a temporary name");
  return number;
}

TRAINHOOK_DECL std::string temporary_suffix() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string suffix = ".tmp";
  std::uint64_t number = random_number();
  for (int i = 0; i < 16; ++i, number >>= 4) suffix += kDigits[number & 15];
  return suffix;
}

TRAINHOOK_DECL void remove_silently(FileSystem& file_system, const std::string& path) noexcept {
  try {
    file_system.remove_file(path);
  } catch (...) {  // gone already, or as unreachable as the file that failed
  }
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::string read_file(FileSystem& file_system, const std::string& path) {
  const std::unique_ptr<ReadableFile> file = file_system.open_readable(path);
  std::string contents(static_cast<std::size_t>(file->size()), '\0');
  file->read_at(0, std::as_writable_bytes(std::span(contents)));
  return contents;
}

TRAINHOOK_DECL void write_file_atomically(FileSystem& file_system, const std::string& path, std::string_view contents) {
  const std::string temporary = path + detail::temporary_suffix();
  const std::unique_ptr<WritableFile> file = file_system.create_writable(temporary, WriteMode::Exclusive);
  try {
    file->append(contents);
    file->sync();
    file->close();
    file_system.rename(temporary, path);
  } catch (...) {
    detail::remove_silently(file_system, temporary);
    throw;
  }
  file_system.sync_directory(parent_path(path));
}

}  // namespace trainhook
