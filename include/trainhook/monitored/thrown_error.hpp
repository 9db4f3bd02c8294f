// SPDX-License-Identifier: Apache-2.0
/// @file
/// ThrownError: the last error that left a run, and whether the user has handled it since.
#pragma once

#include <exception>
#include <memory>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Records the error that leaves `run`. A destructor that runs during unwinding cannot see the exception; this class
/// tells whether it can be the recorded one.
class ThrownError {
 public:
  /// Call it in the handler and throw its result: the same exception, but a new object for an OutOfRangeError, so that
  /// only the code that catches it keeps it alive, and one of a derived type for an exception of the standard library.
  [[nodiscard]] TRAINHOOK_DECL std::exception_ptr record(const std::exception_ptr& error) noexcept;

  void forget() noexcept { *this = ThrownError(); }

  /// The error, or null.
  [[nodiscard]] const std::exception_ptr& get() const noexcept { return error_; }

  /// For a call by the user: forgets an error of a type of the user's own, unless it is being handled now.
  TRAINHOOK_DECL void forget_if_past() noexcept;

  /// Forgets the error if it was handled. Exact for errors of this library and of the standard library; others are
  /// always forgotten, because nobody can tell whether they were handled. Afterwards `get()` may be a copy: a type that
  /// the user derived from one of ours becomes the library's type.
  TRAINHOOK_DECL void forget_if_handled() noexcept;

 private:
  std::exception_ptr error_;
  std::weak_ptr<const void> lifetime_;  // of the error, if it is one of this library or the standard's
  bool is_known_ = false;               // whether it has a lifetime
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/thrown_error.ipp>
#endif
