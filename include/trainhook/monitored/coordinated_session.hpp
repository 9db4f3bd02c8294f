// SPDX-License-Identifier: Apache-2.0
/// @file
/// CoordinatedSession: a hooked session with background threads, whose errors and stop requests end it.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
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
  /// @param is_loss tells after which errors the session is recreated
  TRAINHOOK_DECL CoordinatedSession(SessionCreator& creator, const Hooks& hooks, HookServices& services,
                                    Duration stop_grace_period_secs, IsLoss is_loss = is_preemption);
  CoordinatedSession(const CoordinatedSession&) = delete;
  CoordinatedSession& operator=(const CoordinatedSession&) = delete;
  ~CoordinatedSession() { close_quietly(); }

  [[nodiscard]] SessionRef session() const noexcept { return owned_.session; }
  [[nodiscard]] Coordinator& coordinator() noexcept { return *coordinator_; }

  /// True if a hook or a thread requested a stop, or if the session is a worker's and its chief has ended by an error,
  /// which is an error of `coordinator()` then.
  [[nodiscard]] TRAINHOOK_DECL bool should_stop() noexcept;

  /// True if a hook requested a stop, in a run that succeeded or not.
  [[nodiscard]] bool stop_requested() const noexcept { return hooked_.should_stop(); }
  void request_stop() noexcept { hooked_.request_stop(); }
  [[nodiscard]] bool stops_on_all_ranks() const noexcept { return hooked_.stops_on_all_ranks(); }
  bool take_back_stop() noexcept { return hooked_.take_back_stop(); }

  /// A run with all hooks around it.
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);

  /// Calls `body`, which makes one run or several. If it fails after a background thread reported an error, that error
  /// is thrown, because it is the cause, and the other one is kept behind it; the threads of a worker's chief count as
  /// its own. A shared session that was given up counts as lost.
  TRAINHOOK_DECL void guarded(FunctionRef<void()> body);

  /// The global step, read without a run; nothing if it cannot be read so.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> step() const noexcept;

  /// What the threads reported, oldest first.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::exception_ptr> errors();

  /// Stops and joins the threads, then closes the engine's session. Returns the errors of the threads, oldest first.
  /// @param is_lost the session will be recreated: its other users must not take the end of its threads for the end of
  /// input
  TRAINHOOK_DECL std::vector<std::exception_ptr> close(bool is_lost = false);

 private:
  TRAINHOOK_DECL void close_quietly(bool is_lost = false) noexcept;
  [[nodiscard]] bool is_shared() const noexcept { return owned_.chief != nullptr; }

  // Has the coordinator hear of the error that a worker's chief has ended by.
  TRAINHOOK_DECL void hear_of_chief();

  bool is_chief_;
  OwnedSession owned_;
  std::shared_ptr<Coordinator> coordinator_;  // a chief shares it with its workers, who ask it for its error
  HookedSession hooked_;
  Duration stop_grace_period_secs_;
  bool closed_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/coordinated_session.ipp>
#endif
