// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionRunContext: tells hooks about the current run and lets them request a stop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Clock;

/// One object per attempt of a run, shared by all hooks. Source: TensorFlow's `SessionRunContext`.
class SessionRunContext {
 public:
  /// @param global_step the graph's global step variable, or null if it has none
  SessionRunContext(SessionRef session, const RunRequest& original_args, Clock& clock,
                    const Variable* global_step) noexcept
      : session_(session), original_args_(&original_args), clock_(&clock), global_step_variable_(global_step) {}

  /// The caller's request, without the hooks' additions; its options are null if the caller gave none.
  [[nodiscard]] const RunRequest& original_args() const noexcept { return *original_args_; }

  /// The engine's session. Its own runs call no hooks.
  [[nodiscard]] SessionRef session() const noexcept { return session_; }

  /// Ends the loop after this run: `should_stop()` will be true, even if something later in the run throws. The request
  /// holds as long as its step does: if the session is lost and resumes at an earlier step than this one, the request
  /// is dropped, and hooks decide again. If your reason is not in the model, such as a message from outside, keep it,
  /// and call the coordinator's `request_stop` in `after_create_session`. A request in `on_run_failed` is about the
  /// failure and is never dropped.
  void request_stop() noexcept { stop_requested_ = true; }

  /// The same, with the reason that the session's `why_it_ended()` returns; the first reason counts.
  void request_stop(std::string reason) {
    if (!stop_requested_) stop_reason_ = std::move(reason);
    stop_requested_ = true;
  }

  /// The same for a stop that comes from outside at any step, such as a signal: see `HookServices::is_interrupted`.
  void interrupt(std::string reason) {
    if (!stop_requested_) is_interruption_ = true;
    request_stop(std::move(reason));
  }
  /// Whether the reason that counts was given to `interrupt`.
  [[nodiscard]] bool is_interruption() const noexcept { return is_interruption_; }

  [[nodiscard]] const std::string& stop_reason() const noexcept { return stop_reason_; }
  [[nodiscard]] bool stop_requested() const noexcept { return stop_requested_; }

  /// The global step: in `before_run` its value before the run, in `after_run` the value after it. It is read at most
  /// once before and once after the run, however many hooks call this.
  /// @throws FailedPreconditionError if the graph has no global step.
  [[nodiscard]] std::int64_t global_step() {
    if (!global_step_) global_step_ = read_global_step();
    return *global_step_;
  }

  /// The monotonic time of the first call in this run: the clock is read at most once per run.
  [[nodiscard]] Duration now() {
    if (!now_) now_ = read_clock();
    return *now_;
  }

  /// For the library: the run is over, so the step must be read again.
  void mark_run_done() noexcept { global_step_.reset(); }

 private:
  [[nodiscard]] TRAINHOOK_DECL std::int64_t read_global_step() const;
  [[nodiscard]] TRAINHOOK_DECL Duration read_clock() const;

  SessionRef session_;
  const RunRequest* original_args_;
  Clock* clock_;
  const Variable* global_step_variable_;
  std::optional<std::int64_t> global_step_;
  std::optional<Duration> now_;
  std::string stop_reason_;
  bool stop_requested_ = false;
  bool is_interruption_ = false;
};

/// Reads an integer scalar variable, in a run without hooks.
[[nodiscard]] TRAINHOOK_DECL std::int64_t read_global_step(SessionRef session, const Variable& global_step);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/run_context.ipp>
#endif
