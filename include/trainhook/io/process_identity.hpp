// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProcessIdentity: tells processes apart on all machines that share a file system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Which process on which machine. A number of a process is used again one day; its start tells the two apart.
struct ProcessIdentity {
  std::string host{};    ///< the machine's name
  std::string boot{};    ///< the machine's present run and the container in it; empty if the system does not tell
  std::int64_t pid = 0;  ///< within that container
  std::string start{};   ///< when the process started, in units of the system; empty if the system does not tell

  bool operator==(const ProcessIdentity&) const = default;
};

/// The machine's name, without slashes.
[[nodiscard]] TRAINHOOK_DECL std::string host_name();

[[nodiscard]] TRAINHOOK_DECL ProcessIdentity this_process();

/// Program and arguments of this process, separated by spaces; empty if the system does not tell. At most 4 KiB.
[[nodiscard]] TRAINHOOK_DECL std::string command_line();

/// CRC-32C of the program's file, which tells different builds apart; 0 if the system does not tell.
[[nodiscard]] TRAINHOOK_DECL std::uint32_t program_digest();

/// Whether the process lives. Nothing if that cannot be seen from here, because it runs on another machine, in another
/// container, or ran before this machine's last start.
[[nodiscard]] TRAINHOOK_DECL std::optional<bool> is_alive(const ProcessIdentity& process);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/process_identity.ipp>
#endif
