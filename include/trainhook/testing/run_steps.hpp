// SPDX-License-Identifier: Apache-2.0
/// @file
/// run_steps: runs a hook through a few steps of a monitored session and records its callbacks.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/monitored/monitored_session_options.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook::testing {

struct RunStepsOptions {
  std::int64_t steps = 1;             ///< fewer if the hook requests a stop
  Clock* clock = nullptr;             ///< null: a ManualClock that does not move
  FileSystem* file_system = nullptr;  ///< null: an empty MemoryFileSystem
  Script* script = nullptr;           ///< the graph that the hook fetches from, and planned errors; null: one that has
                                      ///< only a global step
  std::function<void(std::int64_t)> before_step{};  ///< called with 0, 1, ..., for example to advance the clock
  RetryPolicy retry{};
  std::shared_ptr<Trace>
      trace{};  ///< also receives the lines, for runs that end with an exception; RecordingHooks may share it
};

namespace detail {

/// Wraps a hook: records every call and passes it on.
class TracedHook final : public SessionRunHook {
 public:
  TRAINHOOK_DECL TracedHook(SessionRunHook& hook, std::shared_ptr<Trace> trace);
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;
  [[nodiscard]] HookPhase phase() const noexcept override { return hook_->phase(); }
  [[nodiscard]] std::optional<std::string> veto_save() override { return hook_->veto_save(); }
  [[nodiscard]] std::string writes_to() const override { return hook_->writes_to(); }
  [[nodiscard]] bool writes_variables() const override { return hook_->writes_variables(); }
  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  [[nodiscard]] StateValues save_state() override { return hook_->save_state(); }
  void load_state(const StateValues& state) override { hook_->load_state(state); }

 private:
  SessionRunHook* hook_;
  std::shared_ptr<Trace> trace_;
  std::int64_t run_ = -1;
};

}  // namespace detail

/// Runs a training operation, which adds 1 to the global step, with `hook`, and closes the session. Returns a line per
/// callback, with runs numbered from 0: `begin`, `after_create_session`, `before_run 0`, `after_run 0`, `on_run_failed
/// 1: ...`, `end`, `abort: ...`. An exception of the hook or the script ends the session with an error and is passed on
/// to the caller.
TRAINHOOK_DECL Trace run_steps(SessionRunHook& hook, const RunStepsOptions& options = {});

/// The same for a temporary hook.
inline Trace run_steps(SessionRunHook&& hook, const RunStepsOptions& options = {}) { return run_steps(hook, options); }

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/run_steps.ipp>
#endif
