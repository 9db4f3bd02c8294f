// SPDX-License-Identifier: Apache-2.0
/// @file
/// LockHolder: what the file of a lock or lease says about the session that holds it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/process_identity.hpp>

namespace trainhook::detail {

/// The holder of a lock or lease, from its file:
///
///     trainhook lock 1        (or `lease 1`)
///     host <name>
///     boot <text>
///     process <number>
///     start <text>
///     id <16 hex digits>
///
/// Then one line for each refresh of a lease, which is empty, or `ending` once the holder is about to give the
/// directory up. A lock has only the line `ending`, then. Earlier versions leave the file of a lock empty.
struct LockHolder {
  ProcessIdentity process{};
  std::string id{};        ///< random: a holder knows its own file by it
  bool is_ending = false;  ///< it is about to give the directory up
};

/// The line that says that the holder is ending.
inline constexpr std::string_view kEndingLine = "ending\n";

/// A holder in this process, with a new id.
[[nodiscard]] TRAINHOOK_DECL LockHolder new_holder();

/// @param kind `lock` or `lease`
[[nodiscard]] TRAINHOOK_DECL std::string holder_text(std::string_view kind, const LockHolder& holder);

/// Nothing if the text does not name a holder completely.
[[nodiscard]] TRAINHOOK_DECL std::optional<LockHolder> parse_holder(std::string_view text);

/// Whether it may be the text of a holder, damaged or not.
[[nodiscard]] TRAINHOOK_DECL bool is_holder_text(std::string_view text);

/// The beginning and the end of the file, enough for `parse_holder`; nothing if there is no file.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> read_holder_text(FileSystem& file_system,
                                                                         const std::string& path);

/// Nothing if there is no file, or if it does not name a holder.
[[nodiscard]] TRAINHOOK_DECL std::optional<LockHolder> read_holder(FileSystem& file_system, const std::string& path);

/// For messages: `process 17 on host-3`.
[[nodiscard]] TRAINHOOK_DECL std::string holder_name(const std::optional<LockHolder>& holder);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/lock_holder.ipp>
#endif
