// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of session_lifecycle.hpp.
#pragma once

#include <trainhook/monitored/session_lifecycle.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph_keys.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

TRAINHOOK_DECL SessionLifecycle::SessionLifecycle(std::shared_ptr<SessionCreator> creator,
                                                  MonitoredSessionOptions options)
    : creator_(checked(std::move(creator), options)),
      file_system_(options.file_system != nullptr ? *options.file_system : posix_file_system()),
      clock_(options.clock != nullptr ? *options.clock : system_clock()),
      writers_({.file_system = &file_system_, .clock = &clock_}),
      services_(file_system_, clock_, writers_),
      hooks_(in_phases(options.hooks)),
      was_finalized_(!creator_->is_chief() || creator_->graph().is_finalized()),
      exceptions_at_start_(std::uncaught_exceptions()) {
  services_.set_save_veto([this] { return ask_for_veto(); });
  try {
    begin();
    session_.emplace(*creator_, hooks_, services_, options.stop_grace_period_secs, std::move(options.retry));
  } catch (...) {
    end_by(std::current_exception());
    throw;
  }
}

TRAINHOOK_DECL SessionLifecycle::~SessionLifecycle() {
  if (closed_) return;
  const bool unwinding = std::uncaught_exceptions() > exceptions_at_start_;
  if (unwinding && !is_end_of_input(last_error_)) {
    end_by(last_error_);
    return;
  }
  try {
    close();
  } catch (...) { log_error("while the session was closed: {}", describe(std::current_exception())); }
}

TRAINHOOK_DECL void SessionLifecycle::run(const RunRequest& request, std::span<Tensor> results) {
  expect_open();
  recording_errors([&] { session_->run(request, results); });
}

TRAINHOOK_DECL void SessionLifecycle::run_with(FunctionRef<void(CoordinatedSession&)> body, IfOver if_over) {
  expect_open();
  recording_errors([&] { session_->run_with(body, if_over); });
}

TRAINHOOK_DECL SessionRef SessionLifecycle::session() const {
  expect_open();
  if (session_->session() == nullptr) throw FailedPreconditionError("the session was lost and could not be made anew");
  return session_->session()->session();
}

TRAINHOOK_DECL std::int64_t SessionLifecycle::global_step() const {
  const SessionRef live = session();
  const std::optional<Variable> step = get_global_step(live.graph());
  if (!step)
    throw FailedPreconditionError(
        "global_step: the graph has none; call get_or_create_global_step(graph) before the session is made");
  return read_global_step(live, *step);
}

TRAINHOOK_DECL void SessionLifecycle::close() {
  if (closed_) return;
  CoordinatedSession* live = session_->session();
  if (live == nullptr) {
    const std::exception_ptr unheard = session_->loss();
    end_by(unheard != nullptr ? unheard : last_error_);
    if (unheard != nullptr) std::rethrow_exception(unheard);
    return;
  }
  closed_ = true;
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (...) { errors_.push_back(std::current_exception()); }
  };
  for (const std::shared_ptr<SessionRunHook>& hook : hooks_) attempt([&] { hook->end(live->session()); });
  attempt([&] { std::ranges::copy(session_->close(), std::back_inserter(errors_)); });
  attempt([&] { writers_.close(); });
  leave_graph();
  for (std::size_t i = 1; i < errors_.size(); ++i)
    log_error("a further error while the session was closed: {}", describe(errors_[i]));
  if (!errors_.empty()) std::rethrow_exception(errors_.front());
}

TRAINHOOK_DECL std::exception_ptr SessionLifecycle::abort(const std::exception_ptr& error) noexcept {
  if (closed_) return error;
  const std::vector<std::exception_ptr> reported = session_->errors();
  const std::exception_ptr first = reported.empty() ? error : reported.front();
  end_by(first);
  if (error != nullptr && std::ranges::find(errors_, error) == errors_.end()) {
    log_error("a further error when the session ended: {}", describe(error));
    errors_.push_back(error);
  }
  return first;
}

TRAINHOOK_DECL std::shared_ptr<SessionCreator> SessionLifecycle::checked(std::shared_ptr<SessionCreator> creator,
                                                                         const MonitoredSessionOptions& options) {
  if (creator == nullptr)
    throw InvalidArgumentError("MonitoredSession: session_creator is null; a ChiefSessionCreator is the usual one");
  check_grace_period("MonitoredSession", options.stop_grace_period_secs);
  return creator;
}

TRAINHOOK_DECL void SessionLifecycle::end_by(const std::exception_ptr& error) noexcept {
  closed_ = true;
  if (error != nullptr) errors_.push_back(error);
  for (std::size_t i = begun_; i > 0; --i) hooks_[i - 1]->abort(error);
  const auto attempt = [](const char* what, auto&& action) {
    try {
      action();
    } catch (...) { log_error("while {}: {}", what, describe(std::current_exception())); }
  };
  attempt("the failed session was closed", [&] {
    if (!session_) return;
    for (const std::exception_ptr& further : session_->close()) {
      if (further != error) errors_.push_back(further);
    }
  });
  attempt("the event writers were closed", [&] { writers_.close(); });
  leave_graph();
}

TRAINHOOK_DECL Hooks SessionLifecycle::in_phases(const HookList& entries) {
  Hooks hooks;
  for (const HookEntry& entry : entries) {
    if (std::ranges::find(hooks, entry.get()) != hooks.end())
      throw InvalidArgumentError("the same hook stands twice in the list of hooks");
    hooks.push_back(entry.get());
  }
  std::ranges::stable_sort(hooks, {}, [](const std::shared_ptr<SessionRunHook>& hook) { return hook->phase(); });
  return hooks;
}

TRAINHOOK_DECL void SessionLifecycle::begin() {
  graph_ = &creator_->graph();
  Graph& graph = *graph_;
  if (!graph.is_finalized() && get_global_step(graph)) (void)get_or_create_global_step_read(graph);
  if (creator_->is_chief()) {
    states_ = std::make_shared<HookStates>(hooks_);
    graph.add_to_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(states_));
  }
  for (const std::shared_ptr<SessionRunHook>& hook : hooks_) {
    hook->attach(services_);
    hook->begin(graph);
    ++begun_;
  }
}

TRAINHOOK_DECL void SessionLifecycle::leave_graph() noexcept {
  if (graph_ == nullptr) return;  // a worker whose chief never came
  if (states_ != nullptr)
    graph_->remove_from_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(states_));
  if (!was_finalized_) graph_->unfinalize();
}

TRAINHOOK_DECL std::optional<std::string> SessionLifecycle::ask_for_veto() const {
  for (const std::shared_ptr<SessionRunHook>& hook : hooks_) {
    if (std::optional<std::string> reason = hook->veto_save()) return reason;
  }
  return std::nullopt;
}

TRAINHOOK_DECL void SessionLifecycle::expect_open() const {
  if (closed_) throw FailedPreconditionError("Session is already closed; make a new one to go on");
}

}  // namespace trainhook
