// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/run_steps.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/monitored/session_hooks.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_forms.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::testing::detail {

TracedHook::TracedHook(SessionRunHook& hook, std::shared_ptr<Trace> trace) : hook_(&hook), trace_(std::move(trace)) {}

void TracedHook::begin(Graph& graph) {
  trace_->add("begin");
  trainhook::detail::HookAccess::attach(*hook_, services());
  hook_->begin(graph);
}

void TracedHook::after_create_session(SessionRef session, Coordinator& coordinator) {
  trace_->add("after_create_session");
  hook_->after_create_session(session, coordinator);
}

SessionRunArgs TracedHook::before_run(SessionRunContext& context) {
  trace_->add(fmt::format("before_run {}", run_ + 1));
  SessionRunArgs args = hook_->before_run(context);
  ++run_;  // not counted if the line above throws
  return args;
}

void TracedHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  trace_->add(fmt::format("after_run {}", run_));
  hook_->after_run(context, values);
}

void TracedHook::on_run_failed(SessionRunContext& context, const std::exception_ptr& error) {
  trace_->add(fmt::format("on_run_failed {}: {}", run_, describe(error)));
  hook_->on_run_failed(context, error);
}

void TracedHook::end(SessionRef session) {
  trace_->add("end");
  hook_->end(session);
}

void TracedHook::abort(const std::exception_ptr& error) noexcept {
  trace_->add(fmt::format("abort: {}", describe(error)));
  hook_->abort(error);
}

std::string TracedHook::name() const {
  const std::string own = hook_->name();
  return own.empty() ? trainhook::detail::short_type_name(*hook_) : own;
}

}  // namespace trainhook::testing::detail

namespace trainhook::testing {

Trace run_steps(SessionRunHook& hook, const RunStepsOptions& options) {
  if (options.steps < 0) throw InvalidArgumentError("run_steps: steps is {}; it must not be negative", options.steps);
  ManualClock clock;
  MemoryFileSystem file_system;
  Script own_script;
  Script& script = options.script != nullptr ? *options.script : own_script;
  const std::shared_ptr<Trace> trace = options.trace != nullptr ? options.trace : std::make_shared<Trace>();
  MonitoredSession<ScriptedSession> session(
      std::make_shared<ScriptedSessionCreator>(script),
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

}  // namespace trainhook::testing
