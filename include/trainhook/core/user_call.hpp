// SPDX-License-Identifier: Apache-2.0
/// @file
/// Calls of functions that the program gave, which tell whose function it was that threw. FirstError: that of several
/// calls.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// False for the end of the input and for the loss of a session: the library expects them.
[[nodiscard]] TRAINHOOK_DECL bool is_failure(const std::exception_ptr& error) noexcept;

/// Throws the exception that is being handled again. It stays the same object, because the program may catch a type of
/// its own. If it is a failure, its text gets `context` in front, which an `Error`, a `std::runtime_error` and a
/// `std::logic_error` allow, and what derives from one.
[[noreturn]] TRAINHOOK_DECL void rethrow_in_context(const std::string& context);

/// Throws what a function of the program threw again, as above, and logs it: `the function of value 'loss' threw: ...`.
/// @param name may be empty
[[noreturn]] TRAINHOOK_DECL void rethrow_of_user(std::string_view function, std::string_view name);

/// Calls a function of the program. What it throws tells in its text and in the log whose function it was.
template <class Call>
[[gnu::always_inline]] inline decltype(auto) call_of_user(std::string_view function, std::string_view name,
                                                          Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) { rethrow_of_user(function, name); }
}

/// The same for a `Saveable`. What fails below one of ours says itself whose it is.
template <class Call>
decltype(auto) call_of_saveable(std::string_view function, std::string_view name, Call&& call) {
  if (name.starts_with("_trainhook/")) return std::forward<Call>(call)();
  return call_of_user(function, name, std::forward<Call>(call));
}

/// Calls `call`, whose failures tell what it was for: `saving run/model.ckpt-100: ...`.
template <class Call>
decltype(auto) call_in_context(const std::string& context, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) { rethrow_in_context(context); }
}

/// The first error of several acts, each of which is done whatever the others throw.
class FirstError {
 public:
  template <class Act>
  void attempt(Act&& act) {
    try {
      std::forward<Act>(act)();
    } catch (...) { keep(std::current_exception()); }
  }

  /// An error that was caught elsewhere; null: none.
  void keep(std::exception_ptr error) noexcept {
    if (first_ == nullptr) first_ = std::move(error);
  }

  /// Throws the first error, if there was one.
  void rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/user_call.ipp>
#endif
