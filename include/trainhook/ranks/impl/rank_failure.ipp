// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of rank_failure.hpp.
#pragma once

#include <trainhook/ranks/rank_failure.hpp>

namespace trainhook::detail {

// A byte for the code, then the message.
std::string failure_bytes(const std::exception_ptr& error) {
  ErrorCode code = ErrorCode::Unknown;
  std::string message = error != nullptr ? describe(error) : "an exception that the library did not see";
  try {
    if (error != nullptr) std::rethrow_exception(error);
  } catch (const Error& known) {
    code = known.code();
    message = known.what();
  } catch (...) {  // of another family
  }
  if (code == ErrorCode::OutOfRange || code == ErrorCode::Aborted || code == ErrorCode::Unavailable)
    code = ErrorCode::FailedPrecondition;
  return static_cast<char>(code) + message;
}

ErrorCode failure_code(std::string_view bytes) { return static_cast<ErrorCode>(bytes.at(0)); }

std::string_view failure_message(std::string_view bytes) { return bytes.substr(bytes.empty() ? 0 : 1); }

}  // namespace trainhook::detail
