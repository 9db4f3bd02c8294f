// SPDX-License-Identifier: Apache-2.0
/// @file
/// CoordinatedSession: a hooked session beside background threads, whose errors and stop requests count.
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

/// Whether a session is made anew after this error: AbortedError and UnavailableError, as in TensorFlow.
[[nodiscard]] inline bool is_preemption(const std::exception_ptr& error) noexcept {
  return is_any_of<AbortedError, UnavailableError>(error);
}

/// One life of a session: from its creation until it is closed or lost. Owns the engine's session and the coordinator.
class CoordinatedSession {
 public:
  /// Creates the session, starts the graph's queue runners and calls every hook's `after_create_session`; what was made
  /// is closed again where one of them throws.
  TRAINHOOK_DECL CoordinatedSession(SessionCreator& creator, const Hooks& hooks, HookServices& services,
                                    Duration stop_grace_period_secs);
  CoordinatedSession(const CoordinatedSession&) = delete;
  CoordinatedSession& operator=(const CoordinatedSession&) = delete;
  ~CoordinatedSession() { close_quietly(); }

  [[nodiscard]] SessionRef session() const noexcept { return owned_.session; }
  [[nodiscard]] Coordinator& coordinator() noexcept { return coordinator_; }
  [[nodiscard]] TRAINHOOK_DECL bool should_stop() const noexcept;

  /// Whether a hook has asked for the end, in a run that came through or not; and to ask for it in place of one.
  [[nodiscard]] bool stop_requested() const noexcept { return hooked_.should_stop(); }
  void request_stop() noexcept { hooked_.request_stop(); }

  /// A run with all hooks around it.
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);

  /// Does `body`, a run or several. Where it fails after a background thread has reported an error, that one is thrown,
  /// being the cause, and the other kept behind it. A session that others share and have given up counts as lost.
  TRAINHOOK_DECL void guarded(FunctionRef<void()> body);

  /// Stops and joins the threads, then closes the engine's session. Gives what the threads reported, first error first.
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
