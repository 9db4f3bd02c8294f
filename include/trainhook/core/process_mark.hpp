// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProcessMark: tells an object from the copy of it that a forked child has.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// How often this process and its ancestors have forked, each as a child, since the library is in use.
TRAINHOOK_DECL std::atomic<int>& num_forks() noexcept;

/// The same; counts from the first call on.
TRAINHOOK_DECL int counted_forks() noexcept;

/// The process that made an object. A forked child has a copy of the object without its threads, and shares its files
/// with the parent, so there the object must neither wait nor write. Takes no system call to look at.
class ProcessMark {
 public:
  TRAINHOOK_DECL ProcessMark() noexcept;

  /// False in a forked child.
  [[nodiscard]] TRAINHOOK_DECL bool is_here() const noexcept;

  /// @throws FailedPreconditionError in a forked child; `way_out` says what to do there.
  void expect_here(std::string_view what, std::string_view way_out = "use it there, or make another one here") const {
    if (!is_here()) refuse(what, way_out);
  }

 private:
  [[noreturn]] TRAINHOOK_DECL void refuse(std::string_view what, std::string_view way_out) const;

  int forks_;
  ::pid_t pid_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/process_mark.ipp>
#endif
