// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/chief_status.hpp>

#include <string>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/session/coordinator.hpp>

namespace trainhook::detail {

void ChiefStatus::fail(const std::exception_ptr& error) {
  const std::scoped_lock lock(mutex_);
  if (failed_) return;
  error_ = error;
  failed_ = true;
}

std::exception_ptr ChiefStatus::error_for_worker() const {
  const std::scoped_lock lock(mutex_);
  const std::string message = error_ == nullptr
                                  ? std::string("the chief of this worker ended by an error, which is unknown here")
                                  : fmt::format("the chief of this worker ended by an error: {}", describe(error_));
  ErrorCode code = ErrorCode::Cancelled;
  try {
    if (error_ != nullptr) std::rethrow_exception(error_);
  } catch (const Error& known) {
    const bool goes_on = known.code() == ErrorCode::OutOfRange || known.code() == ErrorCode::Aborted ||
                         known.code() == ErrorCode::Unavailable;
    if (!goes_on) code = known.code();
  } catch (...) {  // an error of another family has no code
  }
  try {
    throw_error(code, message);
  } catch (...) { return std::current_exception(); }
}

void ChiefStatus::set_threads(std::shared_ptr<const Coordinator> threads) {
  const std::scoped_lock lock(mutex_);
  threads_.swap(threads);  // the old ones go when the lock is free
}

std::exception_ptr ChiefStatus::thread_error() const {
  const std::scoped_lock lock(mutex_);
  return threads_ == nullptr ? nullptr : threads_->error();
}

}  // namespace trainhook::detail
