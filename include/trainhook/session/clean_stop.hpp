// SPDX-License-Identifier: Apache-2.0
/// @file
/// IsCleanStop: tells which errors are a normal end of a thread or a loop.
#pragma once

#include <chrono>
#include <exception>
#include <string_view>
#include <type_traits>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// How long `join` and `close()` wait for background threads by default.
inline constexpr Duration kDefaultStopGracePeriod = std::chrono::seconds(120);

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

/// Returns true for errors that are a normal end, for example `is_end_of_input` or `is_any_of<Done, OutOfRangeError>`.
/// Called from any thread; must not throw.
using IsCleanStop = bool (*)(const std::exception_ptr& error) noexcept;

/// True for an OutOfRangeError, which means that the input has ended, a normal end of a loop. False for null.
[[nodiscard]] TRAINHOOK_DECL bool is_end_of_input(const std::exception_ptr& error) noexcept;

namespace detail {

/// @throws InvalidArgumentError, naming `owner`, for a negative period.
TRAINHOOK_DECL void check_grace_period(std::string_view owner, Duration period);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/clean_stop.ipp>
#endif
