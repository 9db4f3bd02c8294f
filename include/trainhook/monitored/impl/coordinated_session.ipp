// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of coordinated_session.hpp.
#pragma once

#include <trainhook/monitored/coordinated_session.hpp>

#include <memory>
#include <utility>

#include <trainhook/core/log.hpp>
#include <trainhook/session/queue_runner.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL CoordinatedSession::CoordinatedSession(SessionCreator& creator, const Hooks& hooks,
                                                      HookServices& services, Duration stop_grace_period_secs)
    : owned_(creator.create_session()),
      coordinator_(services.clock()),
      hooked_(owned_.session, hooks, services),
      stop_grace_period_secs_(stop_grace_period_secs) {
  services.set_restored_from(owned_.restored_from);
  try {
    start_queue_runners(owned_.session, coordinator_, owned_.owner);
    for (const std::shared_ptr<SessionRunHook>& hook : hooks) hook->after_create_session(owned_.session, coordinator_);
  } catch (...) {
    close_quietly();
    throw;
  }
}

TRAINHOOK_DECL bool CoordinatedSession::should_stop() const noexcept {
  return hooked_.should_stop() || coordinator_.should_stop();
}

TRAINHOOK_DECL void CoordinatedSession::run(const RunRequest& request, std::span<Tensor> results) {
  guarded([&] { hooked_.run(request, results); });
}

TRAINHOOK_DECL void CoordinatedSession::guarded(FunctionRef<void()> body) {
  try {
    body();
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    if (const std::exception_ptr cause = coordinator_.error(); cause != nullptr) {
      if (cause != failure) coordinator_.request_stop(failure);
      std::rethrow_exception(cause);
    }
    if (owned_.is_lost() && !is_preemption(failure))
      throw UnavailableError("the chief has given up the session: {}", describe(failure));
    throw;
  }
}

TRAINHOOK_DECL std::vector<std::exception_ptr> CoordinatedSession::close() {
  if (std::exchange(closed_, true)) return {};
  coordinator_.request_stop();
  try {
    coordinator_.join(stop_grace_period_secs_, true);
  } catch (...) {  // one of those that it lists
  }
  try {
    owned_.close();
  } catch (...) { log_error("closing the session failed: {}", describe(std::current_exception())); }
  return coordinator_.errors();
}

TRAINHOOK_DECL void CoordinatedSession::close_quietly() noexcept {
  try {
    static_cast<void>(close());  // its errors are in the log
  } catch (...) { log_error("while the session was closed: {}", describe(std::current_exception())); }
}

}  // namespace trainhook::detail
