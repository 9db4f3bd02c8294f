// SPDX-License-Identifier: Apache-2.0
/// @file
/// Error: a code for programs, and a message for people that names what failed and what to do.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/core.h>

#include <trainhook/core/format.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// The kind of a failure. The numbers are TensorFlow's `tf.errors` codes: never renumber. A monitored session recovers
/// from Aborted and Unavailable; OutOfRange means the end of the input.
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

/// The code's name as messages show it, for example `DataLoss`.
[[nodiscard]] TRAINHOOK_DECL std::string_view error_code_name(ErrorCode code) noexcept;

/// Base of every error that this library throws. `what()` is the message alone; `code()` is for programs.
class Error : public std::runtime_error {
 public:
  TRAINHOOK_DECL Error(ErrorCode code, const std::string& message);
  TRAINHOOK_DECL Error(ErrorCode code, fmt::string_view format, fmt::format_args args);
  TRAINHOOK_DECL ~Error() override;
  Error(const Error& other) noexcept = default;
  Error& operator=(const Error& other) noexcept = default;

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

  /// Code and message, `DataLoss: bad checksum in ...`. fmt prints the same.
  [[nodiscard]] TRAINHOOK_DECL std::string to_string() const;

 private:
  ErrorCode code_;
};

/// An `Error` with its code in its type, so that `catch (const OutOfRangeError&)` works.
template <ErrorCode Code>
class CodedError : public Error {
 public:
  [[gnu::always_inline]] explicit CodedError(const std::string& message) : Error(Code, message) {}

  /// The message from a format string that is checked at compile time: `DataLossError("bad checksum in {}", path)`.
  template <class First, class... Rest>
  [[gnu::always_inline]] CodedError(fmt::format_string<const First&, const Rest&...> format, const First& first,
                                    const Rest&... rest)
      : Error(Code, detail::format_text(format), fmt::make_format_args(first, rest...)) {}
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

/// Throws the error type of `code`, for codes that are known only at run time.
[[noreturn]] TRAINHOOK_DECL void throw_error(ErrorCode code, const std::string& message);

/// True if the error is of one of these types or of a type derived from one. False for null.
template <class... Types>
[[nodiscard]] bool is_any_of(const std::exception_ptr& error) noexcept {
  const auto is_a = [&error]<class Type>(std::type_identity<Type>) {
    try {
      std::rethrow_exception(error);
    } catch (const Type&) { return true; } catch (...) {
      return false;
    }
  };
  return error != nullptr && (is_a(std::type_identity<Types>()) || ...);
}

/// True for an OutOfRangeError, which means that the input has ended, a normal end of a loop. False for null.
[[nodiscard]] TRAINHOOK_DECL bool is_end_of_input(const std::exception_ptr& error) noexcept;

/// The message of any exception, for log lines: `OutOfRange: ...` for an `Error`, `what()` for other standard
/// exceptions.
[[nodiscard]] TRAINHOOK_DECL std::string describe(const std::exception_ptr& error) noexcept;

}  // namespace trainhook

template <>
struct fmt::formatter<trainhook::Error> : trainhook::detail::ToStringFormatter<trainhook::Error> {};
template <trainhook::ErrorCode Code>
struct fmt::formatter<trainhook::CodedError<Code>> : trainhook::detail::ToStringFormatter<trainhook::Error> {};

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/error.ipp>
#endif
