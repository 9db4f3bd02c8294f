// SPDX-License-Identifier: Apache-2.0
/// @file
/// LiveSession: one life of a session, with the threads beside it and the hooks around its runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/monitored/merged_run.hpp>
#include <trainhook/monitored/recovery_policy.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/monitored/session_hooks.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// Sets a flag as long as it lives.
class ScopedFlag {
 public:
  explicit ScopedFlag(bool& flag) noexcept : flag_(&flag) { flag = true; }
  ScopedFlag(const ScopedFlag&) = delete;
  ScopedFlag& operator=(const ScopedFlag&) = delete;
  ~ScopedFlag() { *flag_ = false; }

 private:
  bool* flag_;
};

/// A session from its creation until it is closed or lost. Owns the engine's session and the coordinator. Calls the
/// hooks in the order of the list, and reuses the memory of the merged request, so a step does not allocate. Not
/// thread-safe, but hooks and the user's step may make nested runs.
class LiveSession {
 public:
  /// `hooks`, `services` and `recovery` must outlive this.
  TRAINHOOK_DECL LiveSession(OwnedSession owned, const Hooks& hooks, SessionServices& services,
                             const RecoveryPolicy& recovery, Duration stop_grace_period_secs);
  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;
  ~LiveSession() { close_quietly(); }

  /// Starts the graph's queue runners, unless it is a worker's, and calls every hook's `after_create_session`. If one
  /// of them throws, the session is closed.
  TRAINHOOK_DECL void start(bool is_chief);

  [[nodiscard]] SessionRef session() const noexcept { return owned_.session; }
  [[nodiscard]] Coordinator& coordinator() noexcept { return *coordinator_; }

  /// True if a hook or a thread requested a stop, or if the session is shared and has ended with an error for this
  /// user, which becomes an error of `coordinator()`.
  [[nodiscard]] TRAINHOOK_DECL bool should_stop() noexcept;

  /// True if a hook requested a stop, whether or not the run succeeded.
  [[nodiscard]] bool stop_requested() const noexcept { return stop_since_.has_value(); }

  /// The global step at which a hook requested a stop. The request holds from there on: a recovery that goes back
  /// behind it drops the request. `kAlways` if it does not depend on a step; nothing without a request.
  [[nodiscard]] std::optional<std::int64_t> stop_since() const noexcept { return stop_since_; }
  static constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::lowest();

  /// Has the same effect as a hook's stop request: no further run. The earliest step of several requests counts.
  void request_stop(std::int64_t since = kAlways) noexcept {
    stop_since_ = (std::min)(since, stop_since_.value_or(since));
  }
  void request_stop(std::string reason) {
    services_->set_stop_reason(std::move(reason));
    request_stop();
  }

  [[nodiscard]] const Hooks& hooks() const noexcept { return *hooks_; }

  /// True if a background thread, or the program, requested a stop from the coordinator, as hooks do only in
  /// `after_create_session`.
  [[nodiscard]] bool thread_requested_stop() const noexcept {
    return !stopped_when_created_ && coordinator_->stop_requested_without_error();
  }

  /// Withdraws a stop request that others do not know yet; returns whether there was one.
  bool take_back_stop() noexcept { return std::exchange(stop_since_, std::nullopt).has_value(); }

  /// Whether each step that was begun has ended: else the model may be in the middle of one that failed.
  [[nodiscard]] bool is_model_whole() const noexcept { return steps_begun_ == 0; }
  /// Returns what `end_step` takes, which also undoes steps inside this one that failed and were caught.
  int begin_step() noexcept { return steps_begun_++; }
  void end_step(int before) noexcept { steps_begun_ = before; }
  /// The program goes on after a step that failed.
  void forget_failed_step() noexcept { steps_begun_ = 0; }

  /// Calls each hook's `before_run`, makes one merged run, calls each hook's `after_run`, and stores the user's part of
  /// the results in `results`.
  /// @throws FailedPreconditionError if a stop was requested before, or if two hooks, or a hook and the user, feed the
  /// same tensor.
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
  // The progress of a run: the numbers of hooks that have completed `before_run` and `after_run`.
  struct Progress {
    std::size_t asked = 0;
    std::size_t told = 0;
    const char* callback = nullptr;           // the current callback; null: none
    const SessionRunHook* stopper = nullptr;  // the first hook that requested a stop
    std::int64_t stop_since = kAlways;        // see the member function
  };

  void expect_here() const { services_->process().expect_here("this session"); }
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results, MergedRun& merged);
  TRAINHOOK_DECL void tell_of_failure(SessionRunContext& context, Progress progress,
                                      const std::exception_ptr& error) noexcept;

  // Notes the first stop request of a run: call it after a hook's `before_run` or `after_run`, even if it threw.
  TRAINHOOK_DECL static void note_stop(SessionRunContext& context, const SessionRunHook& hook,
                                       Progress& progress) noexcept;
  TRAINHOOK_DECL void take_stop(const SessionRunContext& context, const Progress& progress);
  [[nodiscard]] TRAINHOOK_DECL const SessionRunHook& hook_of(const Progress& progress) const;  // whose callback runs
  TRAINHOOK_DECL void close_quietly(bool is_lost = false) noexcept;

  // Passes the error of those on whom this user of a shared session depends to the coordinator; false if there is none.
  TRAINHOOK_DECL bool hear_of_others();

  OwnedSession owned_;
  const Hooks* hooks_;
  SessionServices* services_;
  const RecoveryPolicy* recovery_;
  Duration stop_grace_period_secs_;
  std::shared_ptr<Coordinator> coordinator_;  // shared with other users of the session, which read its errors
  std::optional<Variable> global_step_;
  MergedRun merged_;
  std::optional<std::int64_t> stop_since_;
  int steps_begun_ = 0;                // and not ended
  bool stopped_when_created_ = false;  // by a hook's after_create_session
  bool is_running_ = false;
  bool closed_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/live_session.ipp>
#endif
