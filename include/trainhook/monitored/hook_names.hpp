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

/// `trainhook::StopAtStepHook` as `StopAtStepHook`, `my::Hook<std::string>` as `Hook`: without scopes and template
/// arguments.
[[nodiscard]] TRAINHOOK_DECL std::string short_type_name(const std::string& name);

[[nodiscard]] TRAINHOOK_DECL std::string short_type_name(const SessionRunHook& hook);

/// Logs which hook an error comes from, except for the end of the input and the loss of a session. An Error of `begin`,
/// which leaves the session's constructor, names the hook itself.
TRAINHOOK_DECL void log_hook_failure(const SessionRunHook& hook, std::string_view callback,
                                     const std::exception_ptr& error) noexcept;

/// Calls a hook and logs its failure.
template <class Call>
void call_hook(const SessionRunHook& hook, std::string_view callback, Call&& call) {
  try {
    call();
  } catch (...) {
    log_hook_failure(hook, callback, std::current_exception());
    throw;
  }
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/hook_names.ipp>
#endif
