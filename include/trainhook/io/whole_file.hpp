// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads a whole file into a string, and replaces a whole file atomically; what this library writes to and what it does
/// not; and what the directory of a run and the names in it must be, found out before the first save.
///
/// Before it writes to a path that a user or another program may have used, the library looks what it names:
///
///     nothing                          the file is created
///     a link                           what it leads to counts; the link stays
///     a file that is known as its own  is replaced or continued
///     any other file                   is refused
///     a pipe or a device               is appended to; it is never opened for reading, replaced or cut
///     a directory, a disk, a socket    is refused
///
/// A file is known by its contents: one of a format by how it begins, however short it is; a log also by the checksum
/// in the checkpoint. Temporary files have a number in their names that only this library makes. Names that are random
/// are created and must not exist.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

namespace detail {

/// A random number for the name of a temporary file. Its lower half is a checksum of the upper one.
TRAINHOOK_DECL std::uint64_t temporary_number();

/// Whether `temporary_number` may have made it. Files of other programs, and of this library before it numbered them
/// so, have numbers that it did not make.
[[nodiscard]] TRAINHOOK_DECL bool is_temporary_number(std::uint64_t number) noexcept;

/// A new ending for the name of a temporary file: `.tmp<16 hex digits>`.
[[nodiscard]] TRAINHOOK_DECL std::string temporary_suffix();

/// Whether `temporary_suffix` may have made the end of the name.
[[nodiscard]] TRAINHOOK_DECL bool has_temporary_suffix(std::string_view name) noexcept;

/// What `path` names, for a writer. @throws FailedPreconditionError for a directory, a disk or a socket.
[[nodiscard]] TRAINHOOK_DECL PathTarget target_to_write(FileSystem& file_system, const std::string& path);

/// Whether the beginning of a file, which has bytes, is that of a file that this library writes there. It also knows
/// one that was cut off after any byte, so that what a disk has shortened is replaced and does not end each start.
using IsOwn = bool (*)(std::string_view beginning);

/// @throws FailedPreconditionError for a file that `is_own` does not know, unless it is blank.
TRAINHOOK_DECL void expect_own(FileSystem& file_system, const PathTarget& target, const std::string& path,
                               IsOwn is_own);

/// Removes a file after a failure and ignores errors.
TRAINHOOK_DECL void remove_silently(FileSystem& file_system, const std::string& path) noexcept;

/// @throws InvalidArgumentError, naming the option of `what`, if `name` is empty or has a directory.
TRAINHOOK_DECL void expect_file_name(std::string_view what, std::string_view option, std::string_view name);

/// Asks the file system whether it takes a name; creates nothing. Other failures come when the file is written.
/// @param path with the longest name that files in its directory will have
/// @throws InvalidArgumentError, beginning with `what` (who gave which name), if a name in the path is too long.
TRAINHOOK_DECL void expect_name_fits(FileSystem& file_system, const std::string& path, std::string_view what);

/// Tries whether a file can be renamed over another one, with two empty files that it removes. Other failures, such as
/// a full disk, come when the files are written.
/// @throws FailedPreconditionError, naming the directory and the file system's answer, if that is refused.
TRAINHOOK_DECL void expect_replaces_files(FileSystem& file_system, const std::string& directory);

}  // namespace detail

/// The contents of a file.
[[nodiscard]] TRAINHOOK_DECL std::string read_file(FileSystem& file_system, const std::string& path);

/// Replaces the file durably: even if the machine stops at any moment, `path` has either the old contents or the new
/// ones. The temporary file, `<path>.tmp<16 hex digits>`, is removed after an error too. If `path` is a link, all this
/// happens where it leads to; a pipe or a device gets the contents.
/// @param is_own null: whatever file is there is replaced
/// @param mode Private: only the user may read the new file, even if others could read the old one
/// @throws FailedPreconditionError for a file that `is_own` does not know, a directory, a disk or a socket.
TRAINHOOK_DECL void write_file_atomically(FileSystem& file_system, const std::string& path, std::string_view contents,
                                          detail::IsOwn is_own = nullptr, WriteMode mode = WriteMode::Exclusive);

/// The same for contents that `append` appends to the file in pieces. What `append` throws is thrown.
TRAINHOOK_DECL void write_file_atomically(FileSystem& file_system, const std::string& path,
                                          FunctionRef<void(WritableFile& file)> append, detail::IsOwn is_own = nullptr,
                                          WriteMode mode = WriteMode::Exclusive);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/whole_file.ipp>
#endif
