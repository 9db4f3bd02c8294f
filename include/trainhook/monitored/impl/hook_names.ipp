// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of hook_names.hpp.
#pragma once

#include <trainhook/monitored/hook_names.hpp>

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <typeinfo>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/session/clean_stop.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL std::string short_type_name(const std::string& name) {
  std::size_t end = name.size();
  int depth = 0;  // of the brackets to the right, whose colons are those of an argument
  for (std::size_t i = name.size(); i > 0; --i) {
    const char c = name[i - 1];
    if (c == '>' || c == ')') ++depth;
    if (c == '<' || c == '(') --depth;
    if (c == '<' && depth == 0) end = i - 1;
    if (c == ':' && depth == 0) return name.substr(i, end - i);
  }
  return name.substr(0, end);
}

TRAINHOOK_DECL std::string short_type_name(const SessionRunHook& hook) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(typeid(hook).name(), nullptr, nullptr, &status), std::free);
  return short_type_name(std::string(status == 0 ? demangled.get() : typeid(hook).name()));
}

TRAINHOOK_DECL void log_hook_failure(const SessionRunHook& hook, std::string_view callback,
                                     const std::exception_ptr& error) noexcept {
  try {
    if (is_end_of_input(error) || is_any_of<AbortedError, UnavailableError>(error)) return;
    const std::string name = hook.name();
    log_error("hook '{}' failed in {}: {}", name.empty() ? short_type_name(hook) : name, callback, describe(error));
  } catch (...) {  // the error itself is passed on
  }
}

}  // namespace trainhook::detail
