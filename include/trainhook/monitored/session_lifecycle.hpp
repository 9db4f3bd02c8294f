// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLifecycle: the life cycle of a monitored session, from the first `begin` to the last `end` or `abort`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/file_writers.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/monitored/coordinated_session.hpp>
#include <trainhook/monitored/hook_states.hpp>
#include <trainhook/monitored/hooked_session.hpp>
#include <trainhook/monitored/recoverable_session.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

struct MonitoredSessionOptions {
  HookList hooks{};
  Duration stop_grace_period_secs = kDefaultStopGracePeriod;
  RetryPolicy retry{};
  FileSystem* file_system = nullptr;  ///< null: the machine's own
  Clock* clock = nullptr;             ///< null: the machine's own
};

/// What every monitored session is made of, whatever its engine: owns the creator, the hooks, what they share, and the
/// session while there is one.
class SessionLifecycle {
 public:
  TRAINHOOK_DECL SessionLifecycle(std::shared_ptr<SessionCreator> creator, MonitoredSessionOptions options);
  SessionLifecycle(const SessionLifecycle&) = delete;
  SessionLifecycle& operator=(const SessionLifecycle&) = delete;

  TRAINHOOK_DECL ~SessionLifecycle();

  [[nodiscard]] Graph& graph() const { return creator_->graph(); }

  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);
  TRAINHOOK_DECL void run_with(FunctionRef<void(CoordinatedSession&)> body, IfOver if_over);

  [[nodiscard]] bool should_stop() noexcept { return closed_ || session_->should_stop(); }

  /// The engine's session of the moment. @throws FailedPreconditionError when closed or lost.
  [[nodiscard]] TRAINHOOK_DECL SessionRef session() const;

  /// @throws FailedPreconditionError where the graph has no global step, or as `session` does.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t global_step() const;

  /// Ends: every hook's `end`, then threads, session and writers. Throws the first error after all is done; a second
  /// call does nothing. Of a session that was lost and could not be made anew there is nothing to end: hooks hear
  /// `abort`, and the caller the error unless a run has thrown it.
  TRAINHOOK_DECL void close();

  /// Ends by an error: every hook that began hears `abort`, last first; nothing more is saved. Gives the error that
  /// counts, which hooks hear too: what a background thread reported before, else this one.
  TRAINHOOK_DECL std::exception_ptr abort(const std::exception_ptr& error) noexcept;

  /// All errors that the session ended by, the one that was thrown first.
  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const noexcept { return errors_; }

  /// Whether this very exception left `run()`.
  [[nodiscard]] bool has_thrown(const std::exception_ptr& error) const noexcept {
    return error != nullptr && error == last_error_;
  }

 private:
  TRAINHOOK_DECL static std::shared_ptr<SessionCreator> checked(std::shared_ptr<SessionCreator> creator,
                                                                const MonitoredSessionOptions& options);
  TRAINHOOK_DECL void end_by(const std::exception_ptr& error) noexcept;
  TRAINHOOK_DECL static Hooks in_phases(const HookList& entries);
  TRAINHOOK_DECL void begin();
  TRAINHOOK_DECL void leave_graph() noexcept;
  TRAINHOOK_DECL std::optional<std::string> ask_for_veto() const;
  TRAINHOOK_DECL void expect_open() const;

  template <class Body>
  void recording_errors(Body body) {
    try {
      body();
    } catch (...) {
      last_error_ = std::current_exception();
      throw;
    }
    if (last_error_ != nullptr) last_error_ = nullptr;  // what came before it is over
  }

  std::shared_ptr<SessionCreator> creator_;
  FileSystem& file_system_;
  Clock& clock_;
  FileWriters writers_;
  HookServices services_;
  Hooks hooks_;
  std::shared_ptr<HookStates> states_;
  bool was_finalized_;
  int exceptions_at_start_;
  Graph* graph_ = nullptr;  // null until the hooks begin
  std::size_t begun_ = 0;
  bool closed_ = false;
  std::exception_ptr last_error_;
  std::vector<std::exception_ptr> errors_;
  std::optional<RecoverableSession> session_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_lifecycle.ipp>
#endif
