// SPDX-License-Identifier: Apache-2.0
/// @file
/// CoordinatedSession: a hooked session with background threads, which can end it by errors and stop requests.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
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

/// A session from its creation until it is closed or lost. Owns the engine's session and the coordinator.
class CoordinatedSession {
 public:
  /// Creates the session, starts the graph's queue runners, unless it is a worker's, and calls every hook's
  /// `after_create_session`. If one of them throws, the session is closed.
  /// @param is_loss returns true for errors after which the session is recreated
  TRAINHOOK_DECL CoordinatedSession(SessionCreator& creator, const Hooks& hooks, SessionServices& services,
                                    Duration stop_grace_period_secs, IsLoss is_loss = is_preemption);
  CoordinatedSession(const CoordinatedSession&) = delete;
  CoordinatedSession& operator=(const CoordinatedSession&) = delete;
  ~CoordinatedSession() { close_quietly(); }

  [[nodiscard]] SessionRef session() const noexcept { return owned_.session; }
  [[nodiscard]] Coordinator& coordinator() noexcept { return *coordinator_; }

  /// True if a hook or a thread requested a stop, or if the session is shared and has ended with an error for this
  /// user, which becomes an error of `coordinator()`.
  [[nodiscard]] TRAINHOOK_DECL bool should_stop() noexcept;

  /// True if a hook requested a stop, whether or not the run succeeded.
  [[nodiscard]] bool stop_requested() const noexcept { return hooked_.should_stop(); }

  /// See HookedSession.
  [[nodiscard]] std::optional<std::int64_t> stop_since() const noexcept { return hooked_.stop_since(); }
  void request_stop(std::int64_t since = HookedSession::kAlways) noexcept { hooked_.request_stop(since); }
  void request_stop(std::string reason) { hooked_.request_stop(std::move(reason)); }

  /// True if a background thread, or the program, requested a stop from the coordinator, as hooks do only in
  /// `after_create_session`.
  [[nodiscard]] bool thread_requested_stop() const noexcept {
    return !stopped_when_created_ && coordinator_->stop_requested_without_error();
  }
  [[nodiscard]] bool stops_on_all_ranks() const noexcept { return hooked_.stops_on_all_ranks(); }
  bool take_back_stop() noexcept { return hooked_.take_back_stop(); }

  /// A run with all hooks.
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);

  /// Calls `body`, which makes one or more runs. If it fails after a background thread reported an error, throws that
  /// error, which is the cause, and keeps the other one in `errors()`. Threads on which this user of a shared session
  /// depends count as its own. A shared session that was withdrawn counts as lost.
  TRAINHOOK_DECL void guarded(FunctionRef<void()> body);

  /// The global step, read without a run; nothing if that is not possible.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> step() const noexcept;

  /// The errors that threads reported, oldest first.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::exception_ptr> errors();

  /// Stops and joins the threads, then closes the engine's session. Returns the errors of the threads, oldest first.
  /// @param is_lost the session will be recreated, so its other users must not mistake the end of its threads for the
  /// end of input
  TRAINHOOK_DECL std::vector<std::exception_ptr> close(bool is_lost = false);

 private:
  TRAINHOOK_DECL void close_quietly(bool is_lost = false) noexcept;

  // Passes the error of those on whom this user of a shared session depends to the coordinator; false if there is none.
  TRAINHOOK_DECL bool hear_of_others();

  OwnedSession owned_;
  std::shared_ptr<Coordinator> coordinator_;  // shared with other users of the session, which read its errors
  SessionServices* services_;
  HookedSession hooked_;
  Duration stop_grace_period_secs_;
  bool stopped_when_created_ = false;  // by a hook's after_create_session
  bool closed_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/coordinated_session.ipp>
#endif
