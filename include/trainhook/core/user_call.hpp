// SPDX-License-Identifier: Apache-2.0
/// @file
/// Calls of functions that the program gave, which tell whose function it was that threw.
#pragma once

#include <exception>
#include <string_view>
#include <utility>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// False for the end of the input and for the loss of a session: the library expects them.
[[nodiscard]] TRAINHOOK_DECL bool is_failure(const std::exception_ptr& error) noexcept;

/// Logs what a function of the program threw, if it is a failure: `the function of value 'loss' threw: ...`.
/// @param name may be empty
TRAINHOOK_DECL void log_thrown_by(std::string_view function, std::string_view name,
                                  const std::exception_ptr& error) noexcept;

/// Calls a function of the program. What it throws stays the same object, because the program may catch a type of its
/// own; so the name goes into a log line.
template <class Call>
[[gnu::always_inline]] inline decltype(auto) call_of_user(std::string_view function, std::string_view name,
                                                          Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    log_thrown_by(function, name, std::current_exception());
    throw;
  }
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/user_call.ipp>
#endif
