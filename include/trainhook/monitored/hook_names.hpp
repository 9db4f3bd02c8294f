// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names of hooks in checkpoints and messages.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::detail {

/// Of its type; `core/type_name.hpp` has those of other types.
[[nodiscard]] TRAINHOOK_DECL std::string short_type_name(const SessionRunHook& hook);

/// The hook's own name, or else that of its type.
[[nodiscard]] TRAINHOOK_DECL std::string hook_name(const SessionRunHook& hook);

/// Logs which hook an error comes from, if it is a failure, see `is_failure`. An Error of `begin`,
/// which leaves the session's constructor, names the hook itself.
TRAINHOOK_DECL void log_hook_failure(const SessionRunHook& hook, std::string_view callback,
                                     const std::exception_ptr& error) noexcept;

/// Calls a hook and logs its failure.
template <class Call>
decltype(auto) call_hook(const SessionRunHook& hook, std::string_view callback, Call&& call) {
  try {
    return call();
  } catch (...) {
    log_hook_failure(hook, callback, std::current_exception());
    throw;
  }
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/hook_names.ipp>
#endif
