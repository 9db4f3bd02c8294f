// SPDX-License-Identifier: Apache-2.0
/// @file
/// Makes a process run out of threads, reach a limit of file sizes, write to somebody who does not read, or fork; and
/// runs code as on an unusual system: in a sandbox or on a file system whose calls fail.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::testing {

/// While it exists, no thread can be started in this process, as at a limit of processes (`ulimit -u`) or in a full
/// container. Needs the GNU C library; elsewhere `works()` is false.
class NoThreads {
 public:
  TRAINHOOK_DECL NoThreads() noexcept;
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  TRAINHOOK_DECL ~NoThreads();

  [[nodiscard]] bool works() const noexcept { return works_; }

 private:
  [[nodiscard]] TRAINHOOK_DECL static std::size_t stack_size() noexcept;  // that a new thread gets
  TRAINHOOK_DECL static bool set_stack_size(std::size_t size) noexcept;

  std::size_t before_ = 0;
  bool works_ = false;
};

/// While it exists, no file of this process can grow beyond `bytes` bytes, as with `ulimit -f`: writes fail, and raise
/// SIGXFSZ unless the program prevents it.
class FileSizeLimit {
 public:
  TRAINHOOK_DECL explicit FileSizeLimit(std::uint64_t bytes) noexcept;
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  TRAINHOOK_DECL ~FileSizeLimit();

 private:
  ::rlimit before_{};
};

/// While it exists, standard error of this process is a full pipe that nobody reads, as of a program that hangs behind
/// `2>&1 |`: each write to it waits for ever, in whatever thread.
class FullStandardError {
 public:
  /// @throws ResourceExhaustedError if the process can open no more files.
  TRAINHOOK_DECL FullStandardError();
  FullStandardError(const FullStandardError&) = delete;
  FullStandardError& operator=(const FullStandardError&) = delete;
  TRAINHOOK_DECL ~FullStandardError();

 private:
  int before_ = -1;
  int reader_ = -1;
};

/// Forks and calls `body` in the child, which then ends without further destructors. Returns the status from waitpid: 0
/// if `body` returned, exit status 1 if it threw, and SIGALRM if it did not return within ten seconds.
TRAINHOOK_DECL int run_in_forked_child(FunctionRef<void()> body);

/// A call that the system refuses.
struct RefusedCall {
  long number = 0;          ///< as in `<sys/syscall.h>`: `SYS_fsync`
  int error = 0;            ///< the errno value
  std::uint32_t flags = 0;  ///< only calls whose third argument has one of these bits, such as O_DIRECTORY; 0: all
};

/// A kind of system, described by a call that it refuses.
struct UnusualSystem {
  std::string_view name{};
  RefusedCall refused{};
};

#if defined(__linux__)
/// Systems on which a training runs to its end. For a new kind add a line.
inline constexpr std::array kUnusualSystems{
    UnusualSystem{"a sandbox without random bytes", {SYS_getrandom, ENOSYS}},
    UnusualSystem{"a sandbox that forbids random bytes", {SYS_getrandom, EPERM}},
    UnusualSystem{"a file system without locks", {SYS_flock, ENOLCK}},
    UnusualSystem{"a file system that does not know locks", {SYS_flock, EINVAL}},
    UnusualSystem{"a sandbox that forbids locks", {SYS_flock, EPERM}},
    UnusualSystem{"a file system that reserves nothing", {SYS_fallocate, EOPNOTSUPP}},
    UnusualSystem{"a sandbox that forbids to reserve", {SYS_fallocate, EPERM}},
    UnusualSystem{"a system without early write-back", {SYS_sync_file_range, ENOSYS}},
};
#else
inline constexpr std::array<UnusualSystem, 0> kUnusualSystems{};
#endif

/// Calls `act` in a forked child in which the system refuses calls. Returns what `act` returned, or `error: ` and the
/// message of what it threw; nothing if this system cannot refuse calls. `act` may start threads; those of this process
/// do not run in the child.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> run_refused(std::span<const RefusedCall> refused,
                                                                    FunctionRef<std::string()> act);

/// The same in a child without the rights of root, who may read and enter everything. Returns nothing if this process
/// is root and cannot give those up.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> run_unprivileged(FunctionRef<std::string()> act);

/// The user and group of that child if this process is root, for `chown`.
inline constexpr unsigned kNobody = 65534;

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/process_faults.ipp>
#endif
