// SPDX-License-Identifier: Apache-2.0
/// @file
/// run_steps: drives one hook through a few steps of a monitored session and writes down what it was called for.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook::testing {

struct RunStepsOptions {
  std::int64_t steps = 1;             ///< fewer are run where the hook asks for a stop
  Clock* clock = nullptr;             ///< null: a ManualClock that nobody advances
  FileSystem* file_system = nullptr;  ///< null: an empty MemoryFileSystem
  Script* script = nullptr;  ///< the graph with what the hook fetches, and what goes wrong when; null: one that has only a global step
  std::function<void(std::int64_t)> before_step{};  ///< called with 0, 1, ...: to advance the clock, to change a value
  RetryPolicy retry{};
  std::shared_ptr<Trace> trace{};     ///< gets the lines too, for a run that ends by an exception; may be shared with RecordingHooks
};

namespace detail {

/// Stands in for a hook in the list of hooks: passes every call on and writes it down first.
class TracedHook final : public SessionRunHook {
 public:
  TracedHook(SessionRunHook& hook, std::shared_ptr<Trace> trace) : hook_(&hook), trace_(std::move(trace)) {}

  void begin(Graph& graph) override {
    trace_->add("begin");
    hook_->attach(environment());
    hook_->begin(graph);
  }
  void after_create_session(SessionRef session, Coordinator& coordinator) override {
    trace_->add("after_create_session");
    hook_->after_create_session(session, coordinator);
  }
  SessionRunArgs before_run(SessionRunContext& context) override {
    trace_->add(str_cat("before_run ", run_ + 1));
    SessionRunArgs args = hook_->before_run(context);
    ++run_;  // one that throws above has not been
    return args;
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    trace_->add(str_cat("after_run ", run_));
    hook_->after_run(context, values);
  }
  void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override {
    trace_->add(str_cat("on_run_failed ", run_, ": ", describe(error)));
    hook_->on_run_failed(context, error);
  }
  void end(SessionRef session) override {
    trace_->add("end");
    hook_->end(session);
  }
  void abort(const std::exception_ptr& error) noexcept override {
    trace_->add("abort: " + describe(error));
    hook_->abort(error);
  }
  [[nodiscard]] HookPhase phase() const noexcept override { return hook_->phase(); }
  [[nodiscard]] std::optional<std::string> veto_save() override { return hook_->veto_save(); }
  [[nodiscard]] std::string name() const override {
    const std::string own = hook_->name();
    return own.empty() ? trainhook::detail::short_type_name(*hook_) : own;
  }
  [[nodiscard]] StateValues save_state() override { return hook_->save_state(); }
  void load_state(const StateValues& state) override { hook_->load_state(state); }

 private:
  SessionRunHook* hook_;
  std::shared_ptr<Trace> trace_;
  std::int64_t run_ = -1;
};

}  // namespace detail

/// Runs a training operation that adds 1 to the global step, with `hook` around each run, and closes the session. Gives a line for each
/// callback, runs with their number from 0: `begin`, `after_create_session`, `before_run 0`, `after_run 0`, `on_run_failed 1: ...`, `end`,
/// `abort: ...`. An exception of the hook or of the script ends the session as an error does, and goes on to the caller.
inline Trace run_steps(SessionRunHook& hook, const RunStepsOptions& options = {}) {
  if (options.steps < 0) throw InvalidArgumentError("run_steps: steps is ", options.steps, "; it must not be negative");
  ManualClock clock;
  MemoryFileSystem file_system;
  Script own_script;
  Script& script = options.script != nullptr ? *options.script : own_script;
  const std::shared_ptr<Trace> trace = options.trace != nullptr ? options.trace : std::make_shared<Trace>();
  MonitoredSession<ScriptedSession> session(std::make_shared<ScriptedSessionCreator>(script),
                                            {.hooks = {std::make_shared<detail::TracedHook>(hook, trace)},
                                             .retry = options.retry,
                                             .file_system = options.file_system != nullptr ? options.file_system : &file_system,
                                             .clock = options.clock != nullptr ? options.clock : &clock});
  std::int64_t step = 0;
  const auto one_step = [&] {
    if (options.before_step) options.before_step(step);
    ++step;
    session.run(script.train());
  };
  try {
    while (step < options.steps && !session.should_stop()) one_step();
  } catch (...) {
    session.abort(std::current_exception());
    throw;
  }
  session.close();
  return *trace;
}

/// The same for a hook that the caller does not want to look at afterwards.
inline Trace run_steps(SessionRunHook&& hook, const RunStepsOptions& options = {}) { return run_steps(hook, options); }

}  // namespace trainhook::testing
