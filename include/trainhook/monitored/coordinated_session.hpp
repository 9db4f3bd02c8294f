// SPDX-License-Identifier: Apache-2.0
/// @file
/// CoordinatedSession: a hooked session beside background threads, whose errors and stop requests count.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <trainhook/creation/session_creator.hpp>
#include <trainhook/monitored/hooked_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/queue_runner.hpp>

namespace trainhook {

/// Whether a session is made anew after this error: AbortedError and UnavailableError, as in TensorFlow.
[[nodiscard]] inline bool is_preemption(const std::exception_ptr& error) noexcept {
  return is_any_of<AbortedError, UnavailableError>(error);
}

/// One life of a session: from its creation until it is closed or lost. Owns the engine's session and the coordinator.
class CoordinatedSession {
 public:
  /// Creates the session, starts the graph's queue runners and calls every hook's `after_create_session`; what was made is closed again where one of them throws.
  CoordinatedSession(SessionCreator& creator, const Hooks& hooks, Environment& environment, Duration stop_grace_period_secs)
      : owned_(creator.create_session()),
        coordinator_(environment.clock()),
        hooked_(owned_.session, hooks, environment),
        stop_grace_period_secs_(stop_grace_period_secs) {
    environment.set_restored_from(owned_.restored_from);
    try {
      start_queue_runners(owned_.session, coordinator_, owned_.owner);
      for (const std::shared_ptr<SessionRunHook>& hook : hooks) hook->after_create_session(owned_.session, coordinator_);
    } catch (...) {
      close_quietly();
      throw;
    }
  }
  CoordinatedSession(const CoordinatedSession&) = delete;
  CoordinatedSession& operator=(const CoordinatedSession&) = delete;
  ~CoordinatedSession() { close_quietly(); }

  [[nodiscard]] SessionRef session() const noexcept { return owned_.session; }
  [[nodiscard]] Coordinator& coordinator() noexcept { return coordinator_; }
  [[nodiscard]] bool should_stop() const noexcept { return hooked_.should_stop() || coordinator_.should_stop(); }

  /// Whether a hook has asked for the end, in a run that came through or not; and to ask for it in place of one.
  [[nodiscard]] bool stop_requested() const noexcept { return hooked_.should_stop(); }
  void request_stop() noexcept { hooked_.request_stop(); }

  /// A run with all hooks around it.
  void run(const RunRequest& request, std::span<Tensor> results) {
    guarded([&] { hooked_.run(request, results); });
  }

  /// Does `body`, a run or several. Where it fails after a background thread has reported an error, that one is thrown, being the cause,
  /// and the other kept behind it. A session that others share and have given up counts as lost.
  void guarded(FunctionRef<void()> body) {
    try {
      body();
    } catch (...) {
      const std::exception_ptr failure = std::current_exception();
      if (const std::exception_ptr cause = coordinator_.error(); cause != nullptr) {
        if (cause != failure) coordinator_.request_stop(failure);
        std::rethrow_exception(cause);
      }
      if (owned_.is_lost() && !is_preemption(failure)) throw UnavailableError("the chief has given up the session: ", describe(failure));
      throw;
    }
  }

  /// Stops and joins the threads, then closes the engine's session. Gives what the threads reported, first error first.
  std::vector<std::exception_ptr> close() {
    if (std::exchange(closed_, true)) return {};
    coordinator_.request_stop();
    try {
      coordinator_.join(stop_grace_period_secs_, true);
    } catch (...) {  // one of those that it lists
    }
    try {
      owned_.close();
    } catch (...) {
      log_error("closing the session failed: ", describe(std::current_exception()));
    }
    return coordinator_.errors();
  }

 private:
  void close_quietly() noexcept {
    try {
      static_cast<void>(close());  // its errors are in the log
    } catch (...) {
      log_error("while the session was closed: ", describe(std::current_exception()));
    }
  }

  OwnedSession owned_;
  Coordinator coordinator_;
  HookedSession hooked_;
  Duration stop_grace_period_secs_;
  bool closed_ = false;
};

}  // namespace trainhook
