// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProcessIdentity: tells processes apart on all machines that share a file system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// A process on a machine. Process ids are reused; the start time tells such processes apart.
struct ProcessIdentity {
  std::string host{};    ///< the machine's name
  std::string boot{};    ///< the current boot of the machine, and the container; empty if the system does not tell
  std::int64_t pid = 0;  ///< in that container
  std::string start{};   ///< when the process started, in system units; empty if the system does not tell

  bool operator==(const ProcessIdentity&) const = default;
};

/// The machine's name, without slashes.
[[nodiscard]] TRAINHOOK_DECL std::string host_name();

[[nodiscard]] TRAINHOOK_DECL ProcessIdentity this_process();

/// Program and arguments of this process, separated by spaces; empty if the system does not tell. At most 4 KiB.
[[nodiscard]] TRAINHOOK_DECL std::string command_line();

/// CRC32C of the program's file, to tell builds apart; 0 if the file cannot be read. It is read once in a process.
[[nodiscard]] TRAINHOOK_DECL std::uint32_t program_digest();

/// Whether the process is alive. Nothing if this process cannot tell: the other one is on another machine or in another
/// container, or started before the last boot.
[[nodiscard]] TRAINHOOK_DECL std::optional<bool> is_alive(const ProcessIdentity& process);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/process_identity.ipp>
#endif
