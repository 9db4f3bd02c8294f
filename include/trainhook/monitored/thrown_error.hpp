// SPDX-License-Identifier: Apache-2.0
/// @file
/// ThrownError: the error that left a run last, and whether the user has handled it since.
#pragma once

#include <exception>
#include <memory>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Remembers the error that leaves `run`. A destructor that runs while an exception unwinds cannot see that exception;
/// this class tells whether it can be the one that was remembered.
class ThrownError {
 public:
  /// Call it in the handler that lets the exception pass, and throw what it returns: the same exception, but a new
  /// object for an OutOfRangeError, so that none but the one who catches it keeps it alive.
  [[nodiscard]] TRAINHOOK_DECL std::exception_ptr record(const std::exception_ptr& error) noexcept;

  void forget() noexcept { *this = ThrownError(); }

  /// The error, or null.
  [[nodiscard]] const std::exception_ptr& get() const noexcept { return error_; }

  /// For a call of the user's: forgets an error of another family than ours, unless it is being handled right now.
  TRAINHOOK_DECL void forget_if_past() noexcept;

  /// Forgets the error if it was handled. Certain for errors of this library; one of another type is taken as not
  /// handled. Afterwards `get()` may be a copy: a type that a user derived becomes the library's own type.
  TRAINHOOK_DECL void forget_if_handled() noexcept;

 private:
  std::exception_ptr error_;
  std::weak_ptr<const void> lifetime_;  // of the error, if it is one of this library
  bool is_known_ = false;               // whether it has a lifetime
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/thrown_error.ipp>
#endif
