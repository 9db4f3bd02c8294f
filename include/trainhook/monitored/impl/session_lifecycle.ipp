// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of session_lifecycle.hpp.
#pragma once

#include <trainhook/monitored/session_lifecycle.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/monitored/coordinated_session.hpp>
#include <trainhook/monitored/hooked_session.hpp>
#include <trainhook/monitored/recoverable_session.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/monitored/session_hooks.hpp>
#include <trainhook/monitored/session_peers.hpp>
#include <trainhook/monitored/thrown_error.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

SessionRef StepAttempt::session() const noexcept { return session_->session(); }

void StepAttempt::run(const RunRequest& request, std::span<Tensor> results) const { session_->run(request, results); }

void StepAttempt::request_stop(std::string reason) const { session_->request_stop(std::move(reason)); }

struct SessionLifecycle::Impl {
  inline Impl(std::shared_ptr<SessionCreator> creator, const MonitoredSessionOptions& options);

  inline void begin();
  inline void end_by(const std::exception_ptr& error) noexcept;
  inline void end_normally();
  inline void close();
  inline void leave() noexcept;
  inline std::exception_ptr abort(const std::exception_ptr& error) noexcept;
  inline void release_parts() noexcept;
  inline void expect_open() const;

  // Makes a run: records the error that leaves it, and then does what was put off until its end.
  template <class Body>
  void call(Body body) {
    expect_open();
    const bool is_nested = session->is_busy();
    try {
      body();
      services.process().expect_here("this session");
    } catch (...) {
      if (!is_here()) throw;  // the user's code has forked
      const std::exception_ptr error = std::current_exception();
      const std::exception_ptr thrown = is_nested ? error : last_error.record(error);
      if (!is_nested) peers->run_failed();
      if (!is_nested) finish_quietly();
      if (thrown != error) std::rethrow_exception(thrown);
      throw;
    }
    if (is_nested) return;
    if (last_error.get() != nullptr) last_error.forget();  // a later run succeeded
    peers->begin_round(*session, services);
    if (is_ending()) finish();
  }

  [[nodiscard]] bool is_here() const noexcept { return services.process().is_here(); }
  [[nodiscard]] bool is_ending() const noexcept { return close_requested || abort_requested; }
  inline void finish();
  inline void finish_quietly() noexcept;

  std::shared_ptr<SessionPeers> peers;
  Duration stop_grace_period_secs;
  std::shared_ptr<SessionCreator> creator;
  FileSystem& file_system;
  Clock& clock;
  FileWriterCache writers;
  SessionServices services;
  SessionHooks hooks;
  bool was_finalized;
  int exceptions_at_start;
  Graph* graph = nullptr;  // null until the hooks begin
  bool closed = false;
  std::optional<std::int64_t> last_step;              // after a normal end
  bool close_requested = false;                       // from inside a run, which is to be over first
  std::optional<std::exception_ptr> abort_requested;  // the same with an error
  ThrownError last_error;
  std::vector<std::exception_ptr> errors;
  std::optional<RecoverableSession> session;
};

SessionLifecycle::Impl::Impl(std::shared_ptr<SessionCreator> session_creator, const MonitoredSessionOptions& options)
    : peers(options.peers != nullptr ? options.peers : make_shared_object<SessionPeers>()),
      stop_grace_period_secs(options.stop_grace_period_secs),
      creator(checked_creator(std::move(session_creator))),
      file_system(given_or_posix(options.file_system)),
      clock(given_or_system(options.clock)),
      writers({.on_error = options.event_errors, .file_system = &file_system, .clock = &clock}),
      services(file_system, clock, writers, *peers),
      hooks(options.hooks, services),
      was_finalized(!creator->is_chief() || creator->graph().is_finalized()),
      exceptions_at_start(std::uncaught_exceptions()) {
  check_grace_period("MonitoredSession", options.stop_grace_period_secs);
  services.set_save_veto([this] { return first_veto(hooks.all()); });
  peers->join(hooks.all());
}

void SessionLifecycle::Impl::begin() {
  graph = &creator->graph();
  graph->begin_use();
  peers->expect_same_program(*graph, hooks.all());
  if (!graph->is_finalized() && get_global_step(*graph)) (void)get_or_create_global_step_read(*graph);
  if (creator->is_chief()) hooks.save_with(*graph, !peers->is_chief());
  hooks.begin(*graph);
  peers->settle();  // none makes a session if a hook of one cannot begin
}

void SessionLifecycle::Impl::end_by(const std::exception_ptr& error) noexcept {
  closed = true;
  services.begin_end();
  peers->fail(error, stop_grace_period_secs);
  creator->session_failed(error);  // before the session's threads end, which may look like the end of input
  if (error != nullptr) errors.push_back(error);
  if (error == nullptr) services.set_stop_reason("an exception");
  hooks.abort(error);
  const auto attempt = [](const char* what, auto&& action) {
    try {
      action();
    } catch (...) { log_error("while {}: {}", what, describe(std::current_exception())); }
  };
  attempt("the failed session was closed", [&] {
    if (!session) return;
    for (const std::exception_ptr& further : session->close()) {
      if (further != error) errors.push_back(further);
    }
  });
  attempt("the event writers were closed", [&] { writers.close(); });
  release_parts();
}

void SessionLifecycle::Impl::end_normally() {
  closed = true;
  services.begin_end();
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (...) { errors.push_back(std::current_exception()); }
  };
  services.set_interrupted(peers->is_interrupted(services.is_interrupted()));
  attempt([&] { services.prepare_step_function(session->session()->session()); });  // no run may have been made
  hooks.end(session->session()->session(), errors);
  if (!errors.empty()) creator->session_failed(errors.front());
  last_step = session->session()->step();
  attempt([&] { std::ranges::copy(session->close(), std::back_inserter(errors)); });
  attempt([&] { writers.close(); });
  attempt([&] { peers->finish(errors.empty() ? nullptr : errors.front(), stop_grace_period_secs); });
  release_parts();
  for (std::size_t i = 1; i < errors.size(); ++i)
    log_error("a further error while the session was closed: {}", describe(errors[i]));
  if (errors.empty()) return;
  creator->session_failed(errors.front());
  std::rethrow_exception(errors.front());
}

void SessionLifecycle::Impl::close() {
  if (closed) return;
  close_requested = false;
  peers->leave(is_end_of_input(last_error.get()) ? "end of input" : "the program closed the session", *session,
               services);
  const std::vector<std::exception_ptr> reported = session->errors();
  if (session->session() == nullptr) {
    const std::exception_ptr unheard = session->loss();
    end_by(unheard != nullptr ? unheard : last_error.get());
    if (unheard != nullptr) std::rethrow_exception(unheard);
  } else if (!reported.empty()) {
    end_by(reported.front());
    std::rethrow_exception(reported.front());
  } else {
    if (session->session()->coordinator().should_stop())
      services.set_stop_reason("a background thread requested a stop");
    end_normally();
  }
}

// The end in a destructor.
void SessionLifecycle::Impl::leave() noexcept {
  if (closed) return;
  if (std::uncaught_exceptions() > exceptions_at_start) {
    if (session->session() != nullptr) last_error.forget_if_handled();
    if (!is_end_of_input(last_error.get())) {
      end_by(last_error.get());
      return;
    }
  }
  try {
    close();
  } catch (...) { log_error("while the session was closed: {}", describe(std::current_exception())); }
}

std::exception_ptr SessionLifecycle::Impl::abort(const std::exception_ptr& error) noexcept {
  const std::vector<std::exception_ptr> reported = session->errors();
  const std::exception_ptr first = reported.empty() ? error : reported.front();
  end_by(first);
  if (error != nullptr && std::ranges::find(errors, error) == errors.end()) {
    log_error("a further error when the session ended: {}", describe(error));
    errors.push_back(error);
  }
  return first;
}

void SessionLifecycle::Impl::finish() {
  if (abort_requested) {
    abort(*abort_requested);
  } else {
    close();
  }
}

void SessionLifecycle::Impl::finish_quietly() noexcept {
  try {
    if (is_ending()) finish();
  } catch (...) { log_error("while the session was closed: {}", describe(std::current_exception())); }
}

void SessionLifecycle::Impl::release_parts() noexcept {
  const bool has_finalized = graph != nullptr && !was_finalized;  // no graph: a worker whose chief never came
  if (has_finalized) graph->unfinalize();
  hooks.leave();
  if (graph != nullptr) graph->end_use();
}

void SessionLifecycle::Impl::expect_open() const {
  services.process().expect_here("this session");
  if (closed || is_ending()) throw FailedPreconditionError("Session is already closed; create a new one to continue");
}

SessionLifecycle::SessionLifecycle(std::shared_ptr<SessionCreator> creator, const MonitoredSessionOptions& options)
    : impl_(std::make_unique<Impl>(std::move(creator), options)) {
  try {
    refuse_if_interrupted(options.hooks);
    impl_->begin();
    impl_->session.emplace(*impl_->creator, impl_->hooks.all(), impl_->services, options.stop_grace_period_secs,
                           impl_->peers->may_recreate() ? options.retry : RetryPolicy{.max_attempts = 0});
  } catch (...) {
    impl_->end_by(std::current_exception());
    throw;
  }
}

SessionLifecycle::SessionLifecycle(SessionLifecycle&& other) noexcept : impl_(std::move(other.impl_)) { settle(); }

SessionLifecycle& SessionLifecycle::operator=(SessionLifecycle&& other) noexcept {
  if (this == &other) return *this;
  leave();
  impl_ = std::move(other.impl_);
  settle();
  return *this;
}

SessionLifecycle::~SessionLifecycle() { leave(); }

void SessionLifecycle::settle() noexcept {
  if (impl_ != nullptr) impl_->exceptions_at_start = std::uncaught_exceptions();
}

void SessionLifecycle::leave() noexcept {
  if (impl_ == nullptr) return;
  if (impl_->is_here()) return impl_->leave();
  static_cast<void>(impl_.release());  // a forked child destroys nothing: hooks and engine are the parent's
}

SessionLifecycle::Impl& SessionLifecycle::impl() const {
  if (impl_ == nullptr)
    throw FailedPreconditionError("this session was moved from: use the object that it was moved to");
  return *impl_;
}

Graph& SessionLifecycle::graph() const { return impl().creator->graph(); }

bool SessionLifecycle::should_stop() noexcept {
  if (impl_ == nullptr || impl_->closed || impl_->is_ending() || !impl_->is_here()) return true;
  if (impl_->session->session() != nullptr) impl_->last_error.forget_if_past();
  return impl_->peers->should_stop(*impl_->session, impl_->services);
}

void SessionLifecycle::run(const RunRequest& request, std::span<Tensor> results) {
  Impl& own = impl();
  own.call([&] { own.session->run(request, results); });
}

void SessionLifecycle::run_with(FunctionRef<void(StepAttempt)> body, bool gives_result) {
  Impl& own = impl();
  own.call(
      [&] { own.session->run_with([&](CoordinatedSession& session) { body(StepAttempt(session)); }, gives_result); });
}

SessionRef SessionLifecycle::session() const {
  const Impl& own = impl();
  own.expect_open();
  const CoordinatedSession* live = own.session->session();
  if (live == nullptr) throw FailedPreconditionError("the session was lost and could not be recreated");
  return live->session();
}

std::int64_t SessionLifecycle::global_step() const {
  if (impl().last_step) return *impl_->last_step;
  const SessionRef live = session();
  const std::optional<Variable> step = get_global_step(live.graph());
  if (!step)
    throw FailedPreconditionError(
        "global_step: the graph has none; call get_or_create_global_step(graph) before the session is made");
  return read_global_step(live, *step);
}

void SessionLifecycle::close() {
  Impl& own = impl();
  if (!own.is_here()) return;
  if (own.closed || !own.session->is_busy()) return own.close();
  own.close_requested = true;
  own.session->request_stop();
}

std::exception_ptr SessionLifecycle::abort(const std::exception_ptr& error) noexcept {
  if (impl_ == nullptr || impl_->closed || !impl_->is_here()) return error;
  if (!impl_->session->is_busy()) return impl_->abort(error);
  impl_->abort_requested = error;
  impl_->session->request_stop();
  return error;
}

const std::vector<std::exception_ptr>& SessionLifecycle::errors() const { return impl().errors; }

std::string SessionLifecycle::why_it_ended() const {
  if (impl_ == nullptr) return "the session was moved to another object";
  if (!impl_->errors.empty()) return describe(impl_->errors.front());
  if (!impl_->services.stop_reason().empty()) return impl_->services.stop_reason();
  if (is_end_of_input(impl_->last_error.get())) return "end of input";
  return impl_->closed ? "the program closed the session" : "";
}

bool SessionLifecycle::is_interrupted() const noexcept { return impl_ != nullptr && impl_->services.is_interrupted(); }

bool SessionLifecycle::has_thrown(const std::exception_ptr& error) const noexcept {
  return error != nullptr && impl_ != nullptr && error == impl_->last_error.get();
}

}  // namespace trainhook::detail
