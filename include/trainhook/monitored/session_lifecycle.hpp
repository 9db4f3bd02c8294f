// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLifecycle: runs a monitored session from the first `begin` to the last `end` or `abort`.
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
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/monitored/pending_stop.hpp>
#include <trainhook/monitored/last_error.hpp>
#include <trainhook/monitored/live_session.hpp>
#include <trainhook/monitored/monitored_session_options.hpp>
#include <trainhook/monitored/recovery_policy.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/monitored/session_hooks.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// The part of a monitored session that does not depend on the engine, held by a SessionHandle: owns the creator, the
/// hooks, their services and the live session, which it makes again after a loss. Source: TensorFlow's
/// `_MonitoredSession` with its `_RecoverableSession`, which retries endlessly and without waiting.
class SessionLifecycle {
 public:
  /// Calls the hooks' `begin` and creates the session. If that fails, hooks that have begun get `abort`.
  TRAINHOOK_DECL SessionLifecycle(std::shared_ptr<SessionCreator> creator, const MonitoredSessionOptions& options);
  SessionLifecycle(const SessionLifecycle&) = delete;
  SessionLifecycle& operator=(const SessionLifecycle&) = delete;
  ~SessionLifecycle() { leave(); }

  [[nodiscard]] Graph& graph() const { return creator_->graph(); }

  /// True if the loop should end. Makes a session again that a background thread has lost, except during a run.
  [[nodiscard]] TRAINHOOK_DECL bool should_stop() noexcept;

  /// Makes a run. If the session is lost, makes it again and runs the whole request again, unless the loop is over
  /// then.
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);

  /// Calls `body` in the same way, again from its start after a loss. If the loop is over once the session is made
  /// again, `body` is not repeated; then @throws OutOfRangeError if `gives_result`.
  TRAINHOOK_DECL void run_with(FunctionRef<void(LiveSession&)> body, bool gives_result);

  /// The engine's current session. @throws FailedPreconditionError if it is closed or lost.
  [[nodiscard]] TRAINHOOK_DECL SessionRef session() const;

  /// After a normal `close`, the last step. @throws FailedPreconditionError if the graph has no global step, or as
  /// `session`.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t global_step() const;

  /// Ends normally: calls every hook's `end`, then closes threads, session and writers, then throws the first error. A
  /// second call does nothing. A session that is lost for good, or whose thread has reported an error, cannot end
  /// normally: hooks get `abort`, and the error is thrown, unless it is a loss that `run` has already thrown. During a
  /// run, `close` and `abort` take effect after the run.
  TRAINHOOK_DECL void close();

  /// Ends with an error: every hook that has begun gets `abort`, last hook first, and nothing more is saved but what
  /// `save_on_exception` is about. Returns
  /// the error that hooks receive: the first one a background thread reported, or else `error`.
  TRAINHOOK_DECL std::exception_ptr abort(const std::exception_ptr& error) noexcept;

  /// All errors that ended the session; the first is the one that was thrown.
  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const noexcept { return errors_; }

  /// Why the loop ended; empty if it has not.
  [[nodiscard]] TRAINHOOK_DECL std::string why_it_ended() const;

  /// Whether it ended, or is to end, because of a signal or the like: see HookServices::is_interrupted.
  [[nodiscard]] bool is_interrupted() const noexcept { return services_.is_interrupted(); }

  /// True if this exception object left `run`.
  [[nodiscard]] bool has_thrown(const std::exception_ptr& error) const noexcept {
    return error != nullptr && error == last_error_.get();
  }

  // For its owner and its peers.

  /// False in a forked child, which has no part in the session; see SessionHandle.
  [[nodiscard]] bool is_here() const noexcept { return services_.process().is_here(); }

  /// Exceptions that unwind now are not of this session, which has been moved in their course.
  void ignore_unwinding() noexcept { exceptions_at_start_ = std::uncaught_exceptions(); }

  [[nodiscard]] SessionServices& services() noexcept { return services_; }

  /// The session of the engine with its threads and hooks; null if it is lost or closed.
  [[nodiscard]] LiveSession* live() const noexcept { return live_.get(); }

  /// True during a run, or while the session is made again. A nested run uses the same session; if it loses the
  /// session, the outer run recovers.
  [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }

  /// As `should_stop`, for this process alone. If the session cannot be made again, `close` throws why.
  [[nodiscard]] TRAINHOOK_DECL bool should_stop_alone() noexcept;

  /// The errors of background threads, oldest first, without losses from which the session recovered.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::exception_ptr> thread_errors() const;

 private:
  // How it begins and ends.
  TRAINHOOK_DECL void begin();
  TRAINHOOK_DECL void end_by(const std::exception_ptr& error) noexcept;
  TRAINHOOK_DECL void save_on_exception() noexcept;
  TRAINHOOK_DECL void end_normally();
  TRAINHOOK_DECL void close_now(bool at_end_of_input);
  TRAINHOOK_DECL std::exception_ptr abort_now(const std::exception_ptr& error) noexcept;
  TRAINHOOK_DECL void leave() noexcept;  // in the destructor
  TRAINHOOK_DECL std::vector<std::exception_ptr> close_live();
  TRAINHOOK_DECL void release_parts() noexcept;

  // How it runs.
  TRAINHOOK_DECL void expect_open() const;
  TRAINHOOK_DECL void make_run(bool gives_result, FunctionRef<void()> body);
  TRAINHOOK_DECL void stop_after_run() noexcept;
  [[nodiscard]] bool is_ending() const noexcept { return close_requested_ || abort_requested_; }
  TRAINHOOK_DECL void finish();

  // How it recovers.
  // Calls `body` with a live session, again from its start after a loss. Returns false if the loop is over once the
  // session is made again: then `body` is not repeated.
  TRAINHOOK_DECL bool with_session(FunctionRef<void()> body);
  TRAINHOOK_DECL void create();
  TRAINHOOK_DECL void prepare_recovery(const std::exception_ptr& error);  // throws it if there is to be none
  TRAINHOOK_DECL void report_recovery(std::optional<std::int64_t> resumed_at);

  std::shared_ptr<SessionPeers> peers_;
  Duration stop_grace_period_secs_;
  std::shared_ptr<SessionCreator> creator_;
  FileWriterCache writers_;
  SessionServices services_;
  SessionHooks hooks_;
  RecoveryPolicy recovery_;
  std::unique_ptr<LiveSession> live_;
  Graph* graph_ = nullptr;  // null until the hooks begin
  bool was_finalized_;
  int exceptions_at_start_ = std::uncaught_exceptions();

  bool is_busy_ = false;
  bool closed_ = false;
  bool close_requested_ = false;                       // from inside a run, which is to be over first
  std::optional<std::exception_ptr> abort_requested_;  // the same with an error
  std::optional<std::int64_t> last_step_;              // after a normal end
  std::vector<std::exception_ptr> errors_;

  LastError last_error_;
  bool was_made_ = false;    // false until the first session exists
  std::exception_ptr loss_;  // why the session could not be made again in `should_stop`
  std::optional<Recovery> pending_;
  PendingStop stop_;
};

/// Owns a lifecycle, whose address does not change when this is moved. One that was moved from has none.
class SessionHandle {
 public:
  SessionHandle(std::shared_ptr<SessionCreator> creator, const MonitoredSessionOptions& options)
      : lifecycle_(std::make_unique<SessionLifecycle>(std::move(creator), options)) {}
  SessionHandle(SessionHandle&& other) noexcept : lifecycle_(std::move(other.lifecycle_)) { ignore_unwinding(); }
  /// Ends the session that it has, as the destructor does, and then takes the other.
  TRAINHOOK_DECL SessionHandle& operator=(SessionHandle&& other) noexcept;
  ~SessionHandle() { end(); }

  /// Null if this was moved from.
  [[nodiscard]] SessionLifecycle* get() const noexcept { return lifecycle_.get(); }

  /// @throws FailedPreconditionError if this was moved from.
  [[nodiscard]] TRAINHOOK_DECL SessionLifecycle* operator->() const;

 private:
  TRAINHOOK_DECL void end() noexcept;
  void ignore_unwinding() noexcept {
    if (lifecycle_ != nullptr) lifecycle_->ignore_unwinding();
  }

  std::unique_ptr<SessionLifecycle> lifecycle_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_lifecycle.ipp>
#endif
