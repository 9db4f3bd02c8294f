// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one family of errors: a code for programs, a message that names the thing and the way out for people.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include <trainhook/core/str_cat.hpp>

namespace trainhook {

/// What kind of failure it is. The numbers are TensorFlow's `tf.errors` codes: never renumber.
enum class ErrorCode : int {
  Cancelled = 1,
  Unknown = 2,
  InvalidArgument = 3,
  DeadlineExceeded = 4,
  NotFound = 5,
  AlreadyExists = 6,
  PermissionDenied = 7,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Aborted = 10,
  OutOfRange = 11,
  Unimplemented = 12,
  Internal = 13,
  Unavailable = 14,
  DataLoss = 15,
};

/// The code's name as it stands in messages, for example `DataLoss`.
[[nodiscard]] constexpr std::string_view error_code_name(ErrorCode code) noexcept {
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

/// Base of every error that this library throws. `what()` is the message alone; the code says what a program may do about it.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// An `Error` with its code in its type, so that `catch (const OutOfRangeError&)` works.
template <ErrorCode Code>
class CodedError : public Error {
 public:
  explicit CodedError(const std::string& message) : Error(Code, message) {}

  /// Builds the message from pieces: `DataLossError("bad checksum in ", path)`.
  template <class First, class Second, class... Rest>
  CodedError(const First& first, const Second& second, const Rest&... rest) : Error(Code, str_cat(first, second, rest...)) {}
};

using CancelledError = CodedError<ErrorCode::Cancelled>;
using UnknownError = CodedError<ErrorCode::Unknown>;
using InvalidArgumentError = CodedError<ErrorCode::InvalidArgument>;
using DeadlineExceededError = CodedError<ErrorCode::DeadlineExceeded>;
using NotFoundError = CodedError<ErrorCode::NotFound>;
using AlreadyExistsError = CodedError<ErrorCode::AlreadyExists>;
using PermissionDeniedError = CodedError<ErrorCode::PermissionDenied>;
using ResourceExhaustedError = CodedError<ErrorCode::ResourceExhausted>;
using FailedPreconditionError = CodedError<ErrorCode::FailedPrecondition>;
using AbortedError = CodedError<ErrorCode::Aborted>;
using OutOfRangeError = CodedError<ErrorCode::OutOfRange>;
using UnimplementedError = CodedError<ErrorCode::Unimplemented>;
using InternalError = CodedError<ErrorCode::Internal>;
using UnavailableError = CodedError<ErrorCode::Unavailable>;
using DataLossError = CodedError<ErrorCode::DataLoss>;

/// Throws the error type that belongs to a code known only when the program runs, so that catching by type works for it too.
[[noreturn]] inline void throw_error(ErrorCode code, const std::string& message) {
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

/// The message of any exception, for log lines: `OutOfRange: ...` for an `Error`, `what()` for other standard ones.
[[nodiscard]] inline std::string describe(const std::exception_ptr& error) noexcept {
  try {
    if (error == nullptr) return "no error";
    std::rethrow_exception(error);
  } catch (const Error& failure) {
    return str_cat(error_code_name(failure.code()), ": ", failure.what());
  } catch (const std::exception& failure) {
    return failure.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace trainhook
