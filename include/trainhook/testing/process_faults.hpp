// SPDX-License-Identifier: Apache-2.0
/// @file
/// Makes a process run out of threads, reach a limit of file sizes, write to somebody who does not read, or fork.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>

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

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/process_faults.ipp>
#endif
