// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/last_error.hpp>

#include <typeinfo>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shared.hpp>

namespace trainhook::detail {

/// An end of input that tells when it is gone.
struct FollowedEndOfInput final : OutOfRangeError {
  using OutOfRangeError::OutOfRangeError;
  std::shared_ptr<const void> alive = make_shared_object<bool>();
};

std::exception_ptr LastError::record() noexcept {
  forget();
  error_ = std::current_exception();
  try {
    throw;
  } catch (const OutOfRangeError& error) {
    // The object of a derived type cannot be copied here.
    if (typeid(error) != typeid(OutOfRangeError) && typeid(error) != typeid(FollowedEndOfInput)) return error_;
    try {
      throw FollowedEndOfInput(error.what());
    } catch (const FollowedEndOfInput& copy) {
      alive_ = copy.alive;
      error_ = std::current_exception();
    } catch (...) {  // memory ran out for the copy
    }
  } catch (...) {  // it is passed on as it is
  }
  return error_;
}

void LastError::note_call() noexcept {
  if (error_ != nullptr && std::uncaught_exceptions() == 0 && std::current_exception() != error_) is_past_ = true;
}

bool LastError::was_handled() noexcept {
  if (!alive_) return is_past_;
  error_ = nullptr;  // if it was handled, that was the last reference
  return alive_->expired();
}

}  // namespace trainhook::detail
