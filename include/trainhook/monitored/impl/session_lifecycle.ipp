// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/session_lifecycle.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/monitored/session_peers.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

inline std::optional<std::int64_t> step_of(SessionRef session) noexcept {
  try {
    if (const std::optional<Variable> step = get_global_step(session.graph())) return read_global_step(session, *step);
  } catch (...) {  // a lost session need not answer
  }
  return std::nullopt;
}

/// Logs what is thrown in the course of an end that goes on.
template <class Action>
void log_errors_of(const char* what, Action action) noexcept {
  try {
    action();
  } catch (...) { log_error("while {}: {}", what, describe(std::current_exception())); }
}

SessionLifecycle::SessionLifecycle(std::shared_ptr<SessionCreator> creator, const MonitoredSessionOptions& options)
    : peers_(options.peers != nullptr ? options.peers : make_shared_object<SessionPeers>()),
      stop_grace_period_secs_(options.stop_grace_period_secs),
      creator_(checked_creator(std::move(creator))),
      writers_({.on_error = options.event_errors,
                .file_system = &given_or_posix(options.file_system),
                .clock = &given_or_system(options.clock)}),
      services_(given_or_posix(options.file_system), given_or_system(options.clock), writers_, *peers_),
      hooks_(options.hooks, services_),
      recovery_(peers_->may_recreate() ? options.retry : RetryPolicy{.max_attempts = 0}, services_.clock()),
      was_finalized_(!creator_->is_chief() || creator_->graph().is_finalized()) {
  errors_.reserve(hooks_.all().size() + 8);  // for those of its end, when memory may be short
  services_.set_checkpoint_dir(options.checkpoint_dir);
  services_.set_save_veto([this] { return first_veto(hooks_.all()); });
  peers_->join(hooks_.all());
  try {
    check_grace_period("MonitoredSession", stop_grace_period_secs_);
    recovery_.validate();
    refuse_if_interrupted(options.hooks);
    begin();
    static_cast<void>(with_session([] {}));
  } catch (...) {
    end_by(std::current_exception());
    throw;
  }
}

void SessionLifecycle::begin() {
  graph_ = &creator_->graph();
  graph_->begin_use();
  peers_->expect_same_program(*graph_, hooks_.all());
  if (!graph_->is_finalized() && get_global_step(*graph_)) (void)get_or_create_global_step_read(*graph_);
  if (creator_->is_chief()) hooks_.save_with(*graph_, !peers_->is_chief());
  hooks_.begin(*graph_);
  peers_->settle();  // none makes a session if a hook of one cannot begin
}

void SessionLifecycle::end_by(const std::exception_ptr& error) noexcept {
  closed_ = true;
  services_.begin_end();
  save_on_exception();
  peers_->fail(error, stop_grace_period_secs_);
  creator_->session_failed(error);  // before the session's threads end, which may look like the end of input
  if (error != nullptr) errors_.push_back(error);
  if (error == nullptr) services_.set_stop_reason("an exception");
  hooks_.abort(error);
  log_errors_of("the failed session was closed", [&] {
    for (const std::exception_ptr& further : close_live()) {
      if (further != error) errors_.push_back(further);
    }
  });
  log_errors_of("the event writers were closed", [&] { writers_.close(); });
  release_parts();
}

void SessionLifecycle::save_on_exception() noexcept {
  if (live_ == nullptr || services_.on_exception().empty()) return;
  const char* const why_not = !live_->is_model_whole() ? "the model may be in the middle of a step"
                              : peers_->num_processes() > 1 || peers_->shares_session()
                                  ? "others train it, too, and may be in the middle of a step"
                                  : nullptr;
  if (why_not != nullptr) return log_warning("save_on_exception: the last step is not saved: {}", why_not);
  for (const auto& [hook, save] : services_.on_exception()) {
    services_.activity().note("the save after an exception", hook);
    log_errors_of("the last step was saved after an exception", [&, &save = save] { save(live_->session()); });
  }
}

void SessionLifecycle::end_normally() {
  closed_ = true;
  services_.begin_end();
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (...) { errors_.push_back(std::current_exception()); }
  };
  services_.set_interrupted(peers_->is_interrupted(services_.is_interrupted()));
  attempt([&] { services_.prepare_step_function(live_->session()); });  // no run may have been made
  hooks_.end(live_->session(), errors_);
  if (!errors_.empty()) creator_->session_failed(errors_.front());
  last_step_ = live_->step();
  attempt([&] { std::ranges::copy(close_live(), std::back_inserter(errors_)); });
  attempt([&] { writers_.close(); });
  attempt([&] { peers_->finish(errors_.empty() ? nullptr : errors_.front(), stop_grace_period_secs_); });
  release_parts();
  for (std::size_t i = 1; i < errors_.size(); ++i)
    log_error("a further error while the session was closed: {}", describe(errors_[i]));
  if (errors_.empty()) return;
  creator_->session_failed(errors_.front());
  std::rethrow_exception(errors_.front());
}

void SessionLifecycle::close() {
  if (closed_ || !is_here()) return;
  if (!is_busy_) return close_now(is_end_of_input(last_error_.get()));
  close_requested_ = true;
  stop_after_run();
}

void SessionLifecycle::close_now(bool at_end_of_input) {
  close_requested_ = false;
  peers_->leave(at_end_of_input ? kEndOfInput : "the program closed the session", *this);
  const std::vector<std::exception_ptr> reported = thread_errors();
  if (live_ == nullptr) {
    const std::exception_ptr unheard = loss_;
    end_by(unheard != nullptr ? unheard : last_error_.get());
    if (unheard != nullptr) std::rethrow_exception(unheard);
  } else if (!reported.empty()) {
    end_by(reported.front());
    std::rethrow_exception(reported.front());
  } else {
    if (live_->coordinator().should_stop()) services_.set_stop_reason("a background thread requested a stop");
    end_normally();
  }
}

std::exception_ptr SessionLifecycle::abort(const std::exception_ptr& error) noexcept {
  if (closed_ || !is_here()) return error;
  if (!is_busy_) return abort_now(error);
  abort_requested_ = error;
  stop_after_run();
  return error;
}

std::exception_ptr SessionLifecycle::abort_now(const std::exception_ptr& error) noexcept {
  std::exception_ptr first = error;
  log_errors_of("the errors of its threads were asked for", [&] {
    if (const std::vector<std::exception_ptr> reported = thread_errors(); !reported.empty()) first = reported.front();
  });
  end_by(first);
  if (error != nullptr && std::ranges::find(errors_, error) == errors_.end()) {
    log_error("a further error when the session ended: {}", describe(error));
    errors_.push_back(error);
  }
  return first;
}

void SessionLifecycle::leave() noexcept {
  if (closed_) return;
  const bool at_end_of_input = is_end_of_input(last_error_.get());
  if (std::uncaught_exceptions() > exceptions_at_start_) {
    if (live_ != nullptr && last_error_.was_handled()) return end_by(nullptr);
    if (!at_end_of_input) return end_by(last_error_.get());
  }
  log_errors_of("the session was closed", [&] { close_now(at_end_of_input); });
}

std::vector<std::exception_ptr> SessionLifecycle::close_live() {
  if (live_ == nullptr) return {};
  services_.set_session({});
  const std::unique_ptr<LiveSession> last = std::move(live_);
  return recovery_.without_losses(last->close());
}

void SessionLifecycle::release_parts() noexcept {
  const bool has_finalized = graph_ != nullptr && !was_finalized_;  // no graph: a worker whose chief never came
  if (has_finalized) graph_->unfinalize();
  hooks_.leave();
  if (graph_ != nullptr) graph_->end_use();
}

bool SessionLifecycle::should_stop() noexcept {
  if (closed_ || is_ending() || !is_here()) return true;
  last_error_.note_call();
  const std::optional<bool> decided = peers_->should_stop(*this);
  return decided ? *decided : should_stop_alone();
}

void SessionLifecycle::run(const RunRequest& request, std::span<Tensor> results) {
  const bool gives_result =
      request.metadata != nullptr || request.step_gives_result ||
      std::ranges::any_of(request.fetches, [](const Fetch& fetch) { return !fetch.is_operation(); });
  make_run(gives_result, [&] { live_->run(request, results); });
}

void SessionLifecycle::run_with(FunctionRef<void(LiveSession&)> body, bool gives_result) {
  make_run(gives_result, [&] {
    live_->guarded([&] {
      services_.prepare_step_function(live_->session());
      const int before = live_->begin_step();
      body(*live_);
      live_->end_step(before);
    });
  });
}

void SessionLifecycle::expect_open() const {
  services_.process().expect_here("this session");
  if (closed_ || is_ending()) throw FailedPreconditionError("Session is already closed; create a new one to continue");
}

void SessionLifecycle::make_run(bool gives_result, FunctionRef<void()> body) {
  expect_open();
  if (is_busy_) {  // nested: its errors and what was put off are up to the outer run
    if (live_ == nullptr)
      throw FailedPreconditionError(
          "the session is being created: run it from before_run on, or through its SessionRef");
    body();
    return services_.process().expect_here("this session");
  }
  if (live_ != nullptr) live_->forget_failed_step();
  try {
    if (!with_session(body) && gives_result)
      throw OutOfRangeError(
          "the session was lost and recreated at the end of the loop, so the run is not repeated; leave the loop as at "
          "the end of input");
    services_.process().expect_here("this session");
  } catch (...) {
    if (!is_here()) throw;  // the user's code has forked
    const std::exception_ptr error = last_error_.record();
    peers_->run_failed();
    if (is_ending()) log_errors_of("the session was closed", [&] { finish(); });
    if (error != std::current_exception()) std::rethrow_exception(error);
    throw;
  }
  if (last_error_.get() != nullptr) last_error_.forget();  // a later run succeeded
  peers_->begin_round(*this);
  if (is_ending()) finish();
}

void SessionLifecycle::stop_after_run() noexcept {
  if (live_ != nullptr) {
    live_->request_stop();
  } else {
    stop_.request();
  }
}

void SessionLifecycle::finish() {
  if (abort_requested_) {
    static_cast<void>(abort_now(*abort_requested_));
  } else {
    close_now(is_end_of_input(last_error_.get()));
  }
}

SessionRef SessionLifecycle::session() const {
  expect_open();
  if (live_ == nullptr) throw FailedPreconditionError("the session was lost and could not be recreated");
  return live_->session();
}

std::int64_t SessionLifecycle::global_step() const {
  if (last_step_) return *last_step_;
  const SessionRef live = session();
  const std::optional<Variable> step = get_global_step(live.graph());
  if (!step)
    throw FailedPreconditionError(
        "global_step: the graph has none; call get_or_create_global_step(graph) before the session is made");
  return read_global_step(live, *step);
}

std::string SessionLifecycle::why_it_ended() const {
  if (!errors_.empty()) return describe(errors_.front());
  if (!services_.stop_reason().empty()) return services_.stop_reason();
  if (is_end_of_input(last_error_.get())) return "end of input";
  return closed_ ? "the program closed the session" : "";
}

bool SessionLifecycle::should_stop_alone() noexcept {
  if (live_ == nullptr) return true;
  const auto loss = [this] {
    const std::exception_ptr error = live_->coordinator().error();
    return error != nullptr && recovery_.is_loss(error) ? error : nullptr;
  };
  try {
    while (live_->should_stop()) {
      if (loss() == nullptr) return true;
      if (is_busy_) return live_->stop_requested();  // a loss is up to the outer run
      static_cast<void>(with_session([&] {
        if (const std::exception_ptr error = loss()) std::rethrow_exception(error);
      }));
    }
    return false;
  } catch (...) {
    loss_ = std::current_exception();
    log_error("the session could not be recreated: {}", describe(loss_));
    services_.set_session({});
    live_.reset();
    return true;
  }
}

std::vector<std::exception_ptr> SessionLifecycle::thread_errors() const {
  if (live_ != nullptr) return recovery_.without_losses(live_->errors());
  return loss_ != nullptr ? std::vector{loss_} : std::vector<std::exception_ptr>();
}

bool SessionLifecycle::with_session(FunctionRef<void()> body) {
  const ScopedFlag busy(is_busy_);
  loss_ = nullptr;
  for (;;) {
    try {
      if (live_ == nullptr) {
        create();
        if (live_->should_stop() && live_->coordinator().error() == nullptr) return false;
      }
      body();
      return true;
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      if (!is_here() || !recovery_.is_loss(error)) throw;
      prepare_recovery(error);
    }
  }
}

void SessionLifecycle::create() {
  services_.activity().note("the creation of the session");
  auto made = std::make_unique<LiveSession>(creator_->create_session(), hooks_.all(), services_, recovery_,
                                            stop_grace_period_secs_);
  made->start(creator_->is_chief());
  live_ = std::move(made);
  services_.set_session(live_->session());
  if (pending_ || stop_.is_requested()) {
    const std::optional<std::int64_t> resumed_at = step_of(live_->session());
    stop_.repeat_in(*live_, services_, resumed_at);
    if (pending_) report_recovery(resumed_at);
  }
  was_made_ = true;
}

void SessionLifecycle::prepare_recovery(const std::exception_ptr& error) {
  services_.activity().note("the recovery of the session");
  if (!pending_) pending_.emplace();
  pending_->cause = error;
  stop_.take_from(live_.get(), services_);
  services_.set_session({});
  if (live_ != nullptr) {
    pending_->lost_at = step_of(live_->session());
    static_cast<void>(live_->close(true));  // its errors are in the log
    live_.reset();
  }
  recovery_.expect_another(error);
  services_.wait_for_background_saves();
  if (recovery_.requires_checkpoint() && was_made_ && !creator_->has_checkpoint()) {
    log_error("the session is lost, and there is no checkpoint to resume from; the retry policy requires one");
    std::rethrow_exception(error);
  }
  pending_->attempt = recovery_.begin_attempt();
  log_warning("the session is lost and recreated, attempt {}: {}", pending_->attempt, describe(error));
  recovery_.back_off();
}

void SessionLifecycle::report_recovery(std::optional<std::int64_t> resumed_at) {
  Recovery recovery = *std::exchange(pending_, std::nullopt);
  recovery.resumed_at = resumed_at;
  if (recovery.lost_at && recovery.resumed_at) {
    log_warning("recovered at step {}; {} steps are lost", *recovery.resumed_at,
                *recovery.lost_at - *recovery.resumed_at);
  } else {
    log_warning("recovered");
  }
  if (was_made_ && creator_->is_chief() && services_.restored_from().empty())
    log_warning("there was no checkpoint to resume from: training starts again from initial values");
  recovery_.report(recovery);
}

SessionHandle& SessionHandle::operator=(SessionHandle&& other) noexcept {
  if (this == &other) return *this;
  end();
  lifecycle_ = std::move(other.lifecycle_);
  ignore_unwinding();
  return *this;
}

SessionLifecycle* SessionHandle::operator->() const {
  if (lifecycle_ == nullptr)
    throw FailedPreconditionError("this session was moved from: use the object that it was moved to");
  return lifecycle_.get();
}

void SessionHandle::end() noexcept {
  if (lifecycle_ != nullptr && !lifecycle_->is_here())
    static_cast<void>(lifecycle_.release());  // a forked child destroys nothing: hooks and engine are the parent's
  lifecycle_.reset();
}

}  // namespace trainhook::detail
