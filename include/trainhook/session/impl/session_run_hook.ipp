// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/session/session_run_hook.hpp>

#include <typeinfo>

#include <fmt/format.h>

#include <trainhook/core/names_in_messages.hpp>

namespace trainhook {

SessionRunHook::~SessionRunHook() = default;

detail::TimerMark& detail::HookAccess::add_timer(SessionRunHook& hook) {
  return *hook.timers_.emplace_back(std::make_unique<TimerMark>());
}

std::string detail::short_type_name(const SessionRunHook& hook) { return short_type_name(typeid(hook)); }

std::string detail::name_of_state(const SessionRunHook& hook, const std::string& given,
                                  const std::vector<std::string>& about) {
  if (!given.empty() || about.empty()) return given;
  std::string name = short_type_name(hook);
  for (std::size_t i = 0; i < about.size(); ++i) {
    name += i == 0 ? '(' : ',';
    for (const char c : about[i]) {
      if (c == ':' || c == ',' || c == '%') {
        name += fmt::format("%{:02X}", static_cast<unsigned>(c));
      } else {
        name += c == '/' ? ':' : c;
      }
    }
  }
  return name += ')';
}

HookServices& SessionRunHook::services() const {
  if (services_ == nullptr) throw FailedPreconditionError("this hook is not attached to a session yet");
  return *services_;
}

}  // namespace trainhook
