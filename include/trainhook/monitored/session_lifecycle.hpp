// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLifecycle: runs a monitored session from the first `begin` to the last `end` or `abort`.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/monitored_session_options.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class SessionCreator;

namespace detail {

class CoordinatedSession;

/// The session during one attempt of a step function.
class StepAttempt {
 public:
  explicit StepAttempt(CoordinatedSession& session) noexcept : session_(&session) {}

  [[nodiscard]] TRAINHOOK_DECL SessionRef session() const noexcept;

  /// A run with all hooks around it.
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results) const;

  /// No further run: `should_stop()` is true from now on.
  TRAINHOOK_DECL void request_stop(std::string reason) const;

 private:
  CoordinatedSession* session_;
};

/// The part of a monitored session that does not depend on the engine. Owns the creator, the hooks, their services, and
/// the current session, at addresses that do not change when it is moved. One that was moved from has stopped;
/// functions that need a session throw FailedPreconditionError then.
class SessionLifecycle {
 public:
  TRAINHOOK_DECL SessionLifecycle(std::shared_ptr<SessionCreator> creator, const MonitoredSessionOptions& options);
  TRAINHOOK_DECL SessionLifecycle(SessionLifecycle&& other) noexcept;
  /// Ends the session that it has, as the destructor does, and then takes the other.
  TRAINHOOK_DECL SessionLifecycle& operator=(SessionLifecycle&& other) noexcept;
  TRAINHOOK_DECL ~SessionLifecycle();

  [[nodiscard]] TRAINHOOK_DECL Graph& graph() const;
  [[nodiscard]] TRAINHOOK_DECL bool should_stop() noexcept;
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);

  /// Calls `body`, again from its start after a loss. If the loop is over once the session is recreated, `body` is not
  /// repeated. @throws OutOfRangeError in that case, if `gives_result`.
  TRAINHOOK_DECL void run_with(FunctionRef<void(StepAttempt)> body, bool gives_result);

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

  /// Ends with an error: every hook that has begun gets `abort`, last hook first, and nothing more is saved. Returns
  /// the error that hooks receive: the first one a background thread reported, or else `error`.
  TRAINHOOK_DECL std::exception_ptr abort(const std::exception_ptr& error) noexcept;

  /// All errors that ended the session; the first is the one that was thrown.
  [[nodiscard]] TRAINHOOK_DECL const std::vector<std::exception_ptr>& errors() const;

  /// Why the loop ended; empty if it has not.
  [[nodiscard]] TRAINHOOK_DECL std::string why_it_ended() const;

  /// Whether it ended, or is to end, because of a signal or the like: see HookServices::is_interrupted.
  [[nodiscard]] TRAINHOOK_DECL bool is_interrupted() const noexcept;

  /// True if this exception object left `run`.
  [[nodiscard]] TRAINHOOK_DECL bool has_thrown(const std::exception_ptr& error) const noexcept;

 private:
  TRAINHOOK_DECL void leave() noexcept;
  TRAINHOOK_DECL void settle() noexcept;  // where a later exception is to end it

  struct Impl;

  /// @throws FailedPreconditionError if this was moved from.
  [[nodiscard]] TRAINHOOK_DECL Impl& impl() const;

  std::unique_ptr<Impl> impl_;  // null: moved from
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_lifecycle.ipp>
#endif
