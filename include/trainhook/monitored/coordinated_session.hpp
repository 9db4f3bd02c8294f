// SPDX-License-Identifier: Apache-2.0
/// @file
/// CoordinatedSession: a hooked session with background threads, whose errors and stop requests end it.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/monitored/hooked_session.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// True for the errors after which a session is recreated: AbortedError and UnavailableError, as in TensorFlow.
[[nodiscard]] inline bool is_preemption(const std::exception_ptr& error) noexcept {
  return is_any_of<AbortedError, UnavailableError>(error);
}

/// A session from its creation until it is closed or lost. Owns the engine's session and the coordinator.
class CoordinatedSession {
 public:
  /// Creates the session, starts the graph's queue runners and calls every hook's `after_create_session`. If one of
  /// them throws, the session is closed.
  TRAINHOOK_DECL CoordinatedSession(SessionCreator& creator, const Hooks& hooks, HookServices& services,
                                    Duration stop_grace_period_secs);
  CoordinatedSession(const CoordinatedSession&) = delete;
  CoordinatedSession& operator=(const CoordinatedSession&) = delete;
  ~CoordinatedSession() { close_quietly(); }

  [[nodiscard]] SessionRef session() const noexcept { return owned_.session; }
  [[nodiscard]] Coordinator& coordinator() noexcept { return coordinator_; }
  [[nodiscard]] TRAINHOOK_DECL bool should_stop() const noexcept;

  /// True if a hook requested a stop, in a run that succeeded or not.
  [[nodiscard]] bool stop_requested() const noexcept { return hooked_.should_stop(); }
  void request_stop() noexcept { hooked_.request_stop(); }

  /// A run with all hooks around it.
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);

  /// Calls `body`, which makes one run or several. If it fails after a background thread reported an error, that error
  /// is thrown, because it is the cause, and the other one is kept behind it. A shared session that was given up counts
  /// as lost.
  TRAINHOOK_DECL void guarded(FunctionRef<void()> body);

  /// Stops and joins the threads, then closes the engine's session. Returns the errors of the threads, oldest first.
  TRAINHOOK_DECL std::vector<std::exception_ptr> close();

 private:
  TRAINHOOK_DECL void close_quietly() noexcept;

  OwnedSession owned_;
  Coordinator coordinator_;
  HookedSession hooked_;
  Duration stop_grace_period_secs_;
  bool closed_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/coordinated_session.ipp>
#endif
