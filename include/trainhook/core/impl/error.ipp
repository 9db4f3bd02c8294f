// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/error.hpp>

#include <fmt/format.h>

namespace trainhook {

std::string_view error_code_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::Cancelled: return "Cancelled";
    case ErrorCode::Unknown: return "Unknown";
    case ErrorCode::InvalidArgument: return "InvalidArgument";
    case ErrorCode::DeadlineExceeded: return "DeadlineExceeded";
    case ErrorCode::NotFound: return "NotFound";
    case ErrorCode::AlreadyExists: return "AlreadyExists";
    case ErrorCode::PermissionDenied: return "PermissionDenied";
    case ErrorCode::ResourceExhausted: return "ResourceExhausted";
    case ErrorCode::FailedPrecondition: return "FailedPrecondition";
    case ErrorCode::Aborted: return "Aborted";
    case ErrorCode::OutOfRange: return "OutOfRange";
    case ErrorCode::Unimplemented: return "Unimplemented";
    case ErrorCode::Internal: return "Internal";
    case ErrorCode::Unavailable: return "Unavailable";
    case ErrorCode::DataLoss: return "DataLoss";
  }
  return "Unknown";
}

Error::Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

Error::Error(ErrorCode code, fmt::string_view format, fmt::format_args args)
    : std::runtime_error(fmt::vformat(format, args)), code_(code) {}

Error::~Error() = default;

std::string Error::to_string() const { return fmt::format("{}: {}", error_code_name(code_), what()); }

void throw_error(ErrorCode code, const std::string& message) {
  switch (code) {
    case ErrorCode::Cancelled: throw CancelledError(message);
    case ErrorCode::Unknown: throw UnknownError(message);
    case ErrorCode::InvalidArgument: throw InvalidArgumentError(message);
    case ErrorCode::DeadlineExceeded: throw DeadlineExceededError(message);
    case ErrorCode::NotFound: throw NotFoundError(message);
    case ErrorCode::AlreadyExists: throw AlreadyExistsError(message);
    case ErrorCode::PermissionDenied: throw PermissionDeniedError(message);
    case ErrorCode::ResourceExhausted: throw ResourceExhaustedError(message);
    case ErrorCode::FailedPrecondition: throw FailedPreconditionError(message);
    case ErrorCode::Aborted: throw AbortedError(message);
    case ErrorCode::OutOfRange: throw OutOfRangeError(message);
    case ErrorCode::Unimplemented: throw UnimplementedError(message);
    case ErrorCode::Internal: throw InternalError(message);
    case ErrorCode::Unavailable: throw UnavailableError(message);
    case ErrorCode::DataLoss: throw DataLossError(message);
  }
  throw Error(code, message);
}

bool is_end_of_input(const std::exception_ptr& error) noexcept { return is_any_of<OutOfRangeError>(error); }

std::string describe(const std::exception_ptr& error) noexcept {
  try {
    if (error == nullptr) return "no error";
    std::rethrow_exception(error);
  } catch (const Error& failure) { return failure.to_string(); } catch (const std::exception& failure) {
    return failure.what();
  } catch (...) { return "an exception that is not a std::exception"; }
}

}  // namespace trainhook
