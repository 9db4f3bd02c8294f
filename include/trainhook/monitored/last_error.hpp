// SPDX-License-Identifier: Apache-2.0
/// @file
/// LastError: the error that left a run last, and whether the program has handled it since.
#pragma once

#include <exception>
#include <memory>
#include <optional>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Records the errors that leave `run`. A destructor cannot see which exception unwinds; this class tells whether it
/// can be the recorded one.
class LastError {
 public:
  /// Call it in the handler and throw its result: the same exception, but a new object for an OutOfRangeError, so that
  /// only the code that catches it keeps it alive.
  [[nodiscard]] TRAINHOOK_DECL std::exception_ptr record() noexcept;

  void forget() noexcept { *this = LastError(); }

  /// The error, or null.
  [[nodiscard]] const std::exception_ptr& get() const noexcept { return error_; }

  /// For a call by the program: it has handled the error, unless it is handling it now.
  TRAINHOOK_DECL void note_call() noexcept;

  /// For a destructor during unwinding. Exact for an OutOfRangeError, to which `get()` no longer refers then; another
  /// error was handled if a call was noted after it.
  [[nodiscard]] TRAINHOOK_DECL bool was_handled() noexcept;

 private:
  std::exception_ptr error_;
  std::optional<std::weak_ptr<const void>> alive_;  // of an OutOfRangeError: expires with its object
  bool is_past_ = false;                            // a call was noted
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/last_error.ipp>
#endif
