// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of session_run_hook.hpp.
#pragma once

#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

SessionRunHook::~SessionRunHook() = default;

detail::TimerMark& detail::HookAccess::add_timer(SessionRunHook& hook) {
  return *hook.timers_.emplace_back(std::make_unique<TimerMark>());
}

HookServices& SessionRunHook::services() const {
  if (services_ == nullptr) throw FailedPreconditionError("this hook is not attached to a session yet");
  return *services_;
}

}  // namespace trainhook
