// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a failing call of the system means: the only place that decides which failures end an operation, which calls
/// are tried again, and which failures are only said.
///
///     interrupted by a signal              the call is repeated; a close is not, because it has closed
///     a network file system lost a handle  a look-up or a read is repeated, a few times
///     no file of that name                 is the answer to the question what a path names
///     a directory cannot be synced         is said once for each directory: after a power cut the names of its newest
///                                          files may be missing, and training goes on
///     space cannot be reserved             is ignored, unless the disk is full
///     a file system lacks locks            is one error, whatever number it gives: callers have another way
///     everything else                      is an error, also of the sync of a file: its bytes are not safe
///
/// Answers that are no failures stay with their calls: a lock that is held, a process that has ended. Names are made
/// and removed by calls that no signal interrupts. Random bytes that the system refuses are replaced, see
/// random_number.hpp.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

struct ErrnoMeaning {
  int number = 0;
  ErrorCode code = ErrorCode::Unknown;
  std::string_view way_out = "see the system's message";
};

/// What a call is for.
enum class SystemCall : std::uint8_t {
  Read,  ///< looks a path up or reads; repeating it is harmless
  Write,
  Find,  ///< asks what a path names
  Reserve,
  SyncDirectory,  ///< also to open it for that
  Lock,
  Close,
};

enum class OnFailure : std::uint8_t {
  Throw,
  Repeat,
  RepeatAFewTimes,
  SayOnce,
  Ignore,
  NothingThere,
  Unsupported,  ///< the file system does not have it, whatever it calls that
};

/// @param number an errno value
[[nodiscard]] TRAINHOOK_DECL OnFailure on_failure(SystemCall call, int number) noexcept;

[[nodiscard]] TRAINHOOK_DECL ErrnoMeaning errno_meaning(int number) noexcept;

/// @throws the error that belongs to the errno value; its message names the operation, the path and what to do.
[[noreturn]] TRAINHOOK_DECL void throw_errno(std::string_view operation, std::string_view path, int number);

/// Logs a warning, unless this process has logged one about `subject` before.
TRAINHOOK_DECL void warn_once(std::string_view subject, std::string_view warning);

/// Makes a call that returns -1 if it fails, and repeats it as `on_failure` tells.
template <class Call>
[[gnu::always_inline]] inline auto repeat_call(SystemCall what, const Call& call) {
  constexpr int kFewTimes = 3;
  auto result = call();
  for (int times = 0; result == -1;) {
    const OnFailure action = on_failure(what, errno);
    const bool is_repeated =
        action == OnFailure::Repeat || (action == OnFailure::RepeatAFewTimes && ++times <= kFewTimes);
    if (!is_repeated) break;
    result = call();
  }
  return result;
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/failure.ipp>
#endif
