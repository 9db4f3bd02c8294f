// SPDX-License-Identifier: Apache-2.0
/// @file
/// WatchdogHook: ends a process that hangs.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

namespace detail {
class Watchdog;
}

/// Watches a run on a thread of its own. If nothing moves for too long, neither from one callback of a hook to the next
/// nor from step to step, it logs what the run was doing, calls `on_timeout`, and ends the process: a queue can then
/// start it again, and it resumes from its last checkpoint. Time in which the process does not run does not count: a
/// debugger may stop it, and a laptop may sleep. In a job, each process watches itself; no process is asked, and since
/// others wait for the one that saves, `save_timeout` counts for their steps, too, if it is longer.
class WatchdogHook final : public SessionRunHook {
 public:
  struct Options {
    OptionalDuration step_timeout =
        std::chrono::minutes(10);  ///< for the model's step, a callback, or what the program
                                   ///< does between two steps; nothing: as long as it takes
    OptionalDuration first_step_timeout = std::chrono::minutes(30);  ///< the same until the first step has ended,
                                                                     ///< at the start and after a loss
    OptionalDuration save_timeout = std::chrono::minutes(30);        ///< for a callback of a hook that saves
    std::function<void(const std::string& what)> on_timeout{};  ///< called on the watching thread; `what` is for people
    std::optional<int> exit_status{};  ///< of the process; nothing: it aborts, so that there is a core to look at
  };

  explicit WatchdogHook(detail::NoOptions = {}) : WatchdogHook(Options{}) {}
  /// @throws InvalidArgumentError for a timeout that is not positive.
  TRAINHOOK_DECL explicit WatchdogHook(Options options);
  TRAINHOOK_DECL WatchdogHook(WatchdogHook&& other) noexcept;
  TRAINHOOK_DECL ~WatchdogHook() override;

  /// Runs after the hooks that save, whose ends it watches, too.
  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Report; }

  /// Starts the thread. @throws ResourceExhaustedError if the system has no more threads.
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  Options options_;
  std::unique_ptr<detail::Watchdog> dog_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/watch/impl/watchdog_hook.ipp>
#endif
