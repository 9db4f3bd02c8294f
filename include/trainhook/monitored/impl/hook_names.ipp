// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of hook_names.hpp.
#pragma once

#include <trainhook/monitored/hook_names.hpp>

#include <typeinfo>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/type_name.hpp>
#include <trainhook/core/user_call.hpp>

namespace trainhook::detail {

std::string short_type_name(const SessionRunHook& hook) { return short_type_name(typeid(hook)); }

std::string hook_name(const SessionRunHook& hook) {
  std::string own = hook.name();
  return own.empty() ? short_type_name(hook) : own;
}

void log_hook_failure(const SessionRunHook& hook, std::string_view callback, const std::exception_ptr& error) noexcept {
  try {
    if (!is_failure(error)) return;
    log_error("hook '{}' failed in {}: {}", hook_name(hook), callback, describe(error));
  } catch (...) {  // the error itself is passed on
  }
}

}  // namespace trainhook::detail
