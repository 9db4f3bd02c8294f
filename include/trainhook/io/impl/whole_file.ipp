// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/whole_file.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <memory>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/random_number.hpp>

namespace trainhook::detail {

inline std::uint64_t checked_number(std::uint64_t upper_half) noexcept {
  return upper_half << 32 | crc32c::value(std::as_bytes(std::span(&upper_half, 1)));
}

std::uint64_t temporary_number() { return checked_number(random_number() >> 32); }

bool is_temporary_number(std::uint64_t number) noexcept { return number == checked_number(number >> 32); }

inline constexpr std::string_view kTemporary = ".tmp";
inline constexpr std::size_t kTemporaryDigits = 16;

std::string temporary_suffix() { return fmt::format("{}{:0{}x}", kTemporary, temporary_number(), kTemporaryDigits); }

bool has_temporary_suffix(std::string_view name) noexcept {
  if (name.size() <= kTemporary.size() + kTemporaryDigits) return false;
  const std::string_view digits = name.substr(name.size() - kTemporaryDigits);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return error == std::errc() && end == digits.data() + digits.size() && is_temporary_number(number) &&
         name.substr(0, name.size() - kTemporaryDigits).ends_with(kTemporary);
}

PathTarget target_to_write(FileSystem& file_system, const std::string& path) {
  PathTarget target = file_system.resolve(path);
  if (target.kind == PathKind::Directory || target.kind == PathKind::Other) {
    throw FailedPreconditionError("cannot write to {}: it is a {}; give the path of a file", path,
                                  target.kind == PathKind::Directory ? "directory" : "disk or a socket");
  }
  return target;
}

/// Whether the file holds nothing that is worth keeping, or `is_own` knows it. What the device cannot read is no one's.
inline bool may_replace(FileSystem& file_system, const std::string& path, IsOwn is_own) {
  constexpr std::uint64_t kEnough = 4096;
  try {
    const std::unique_ptr<ReadableFile> file = file_system.open_readable(path);
    std::string beginning(static_cast<std::size_t>((std::min)(file->size(), kEnough)), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(beginning)));
    constexpr std::string_view kBlank("\0 \t\r\n", 5);  // NULs: a power cut may leave them
    beginning.erase(beginning.find_last_not_of('\0') + 1);
    return beginning.find_first_not_of(kBlank) == std::string::npos || is_own(beginning);
  } catch (const NotFoundError&) { return true; } catch (const DataLossError&) {
    return true;
  }
}

void expect_own(FileSystem& file_system, const PathTarget& target, const std::string& path, IsOwn is_own) {
  if (target.kind != PathKind::File || may_replace(file_system, target.path, is_own)) return;
  throw FailedPreconditionError(
      "{} is not replaced: it does not begin like the file of that name that this library writes, so another program "
      "wrote it; move it away, or give another directory or name",
      path);
}

void remove_silently(FileSystem& file_system, const std::string& path) noexcept {
  try {
    file_system.remove_file(path);
  } catch (...) {  // gone already, or as unreachable as the file that failed
  }
}

void expect_file_name(std::string_view what, std::string_view option, std::string_view name) {
  if (!name.empty() && name.find('/') == std::string_view::npos) return;
  throw InvalidArgumentError("{}: {} is '{}'; it must be a file name without directory", what, option, name);
}

void expect_name_fits(FileSystem& file_system, const std::string& path, std::string_view what) {
  const std::string_view name = base_name(path);
  std::string directory = parent_path(path);
  try {
    while (!file_system.exists(directory) && directory != parent_path(directory)) directory = parent_path(directory);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("{} names a directory that cannot be: {}", what, error.what());
  } catch (const Error&) { return; }  // whoever writes the file reports it
  try {
    static_cast<void>(file_system.exists(join_path(directory, name)));
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("{} is too long: file names of {} characters would be needed; give a shorter one ({})",
                               what, name.size(), error.what());
  } catch (const Error&) {  // whoever writes the file reports it
  }
}

/// Whether a failed rename says that the file system never replaces a file, not that this one could not be replaced.
inline bool is_refusal(ErrorCode code) noexcept {
  using enum ErrorCode;
  return code == PermissionDenied || code == AlreadyExists || code == Unimplemented || code == InvalidArgument ||
         code == FailedPrecondition;
}

void expect_replaces_files(FileSystem& file_system, const std::string& directory) {
  const std::string file = join_path(directory, ".replaced" + temporary_suffix());
  const std::string other = join_path(directory, ".replacing" + temporary_suffix());
  const auto clean_up = [&] {
    remove_silently(file_system, file);
    remove_silently(file_system, other);
  };
  try {
    for (const std::string& path : {file, other}) file_system.create_writable(path, WriteMode::Exclusive)->close();
  } catch (const Error&) { return clean_up(); }
  try {
    file_system.rename(other, file);
  } catch (const Error& error) {
    clean_up();
    if (!is_refusal(error.code())) return;
    throw FailedPreconditionError(
        "no file in '{}' can be renamed over another one, as each save does: {}. Give a directory on another "
        "file system, and copy the files from there",
        directory, error.what());
  }
  remove_silently(file_system, file);
}

}  // namespace trainhook::detail

namespace trainhook {

std::string read_file(FileSystem& file_system, const std::string& path) {
  const std::unique_ptr<ReadableFile> file = file_system.open_readable(path);
  std::string contents(static_cast<std::size_t>(file->size()), '\0');
  file->read_at(0, std::as_writable_bytes(std::span(contents)));
  return contents;
}

void write_file_atomically(FileSystem& file_system, const std::string& path, std::string_view contents,
                           detail::IsOwn is_own, WriteMode mode) {
  write_file_atomically(
      file_system, path, [contents](WritableFile& file) { file.append(contents); }, is_own, mode);
}

void write_file_atomically(FileSystem& file_system, const std::string& path,
                           FunctionRef<void(WritableFile& file)> append, detail::IsOwn is_own, WriteMode mode) {
  const PathTarget target = detail::target_to_write(file_system, path);
  if (target.kind == PathKind::Stream) {
    const std::unique_ptr<WritableFile> stream = file_system.open_appendable(path);
    append(*stream);
    stream->close();
    return;
  }
  if (is_own != nullptr) detail::expect_own(file_system, target, path, is_own);
  const std::string temporary = target.path + detail::temporary_suffix();
  const std::unique_ptr<WritableFile> file = file_system.create_writable(temporary, mode);
  try {
    append(*file);
    file->sync();
    file->close();
    file_system.rename(temporary, target.path);
  } catch (...) {
    detail::remove_silently(file_system, temporary);
    throw;
  }
  file_system.sync_directory(parent_path(target.path));
}

}  // namespace trainhook
