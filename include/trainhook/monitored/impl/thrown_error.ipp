// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of thrown_error.hpp.
#pragma once

#include <trainhook/monitored/thrown_error.hpp>

#include <typeinfo>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

// The same error as a new object, of the type that belongs to its code.
[[nodiscard]] TRAINHOOK_DECL std::exception_ptr copy_of(const Error& error) noexcept {
  try {
    throw_error(error.code(), error.what());
  } catch (...) { return std::current_exception(); }
}

TRAINHOOK_DECL std::exception_ptr ThrownError::record(const std::exception_ptr& error) noexcept {
  forget();
  error_ = error;
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    if (typeid(known) == typeid(OutOfRangeError)) error_ = copy_of(known);
  } catch (...) { return error_; }
  try {
    std::rethrow_exception(error_);
  } catch (const Error& known) {
    lifetime_ = known.lifetime();
    is_known_ = !lifetime_.expired();
  } catch (...) {  // memory ran out while the error was copied
  }
  return error_;
}

TRAINHOOK_DECL void ThrownError::forget_if_past() noexcept {
  if (error_ == nullptr || is_known_ || std::uncaught_exceptions() > 0) return;
  if (std::current_exception() != error_) forget();
}

TRAINHOOK_DECL void ThrownError::forget_if_handled() noexcept {
  if (!is_known_) return;
  std::exception_ptr copy;
  try {
    std::rethrow_exception(error_);
  } catch (const Error& known) { copy = copy_of(known); } catch (...) {
  }
  error_ = nullptr;  // if it was handled, that was the last reference
  if (!lifetime_.expired()) {
    error_ = copy;
    is_known_ = false;
    return;
  }
  forget();
}

}  // namespace trainhook::detail
