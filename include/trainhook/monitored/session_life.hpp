// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLife: the life cycle of a monitored session, from the first `begin` to the last `end` or `abort`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/events/file_writers.hpp>
#include <trainhook/graph/state_ops.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/monitored/hook_states.hpp>
#include <trainhook/monitored/recoverable_session.hpp>

namespace trainhook {

struct SessionLifeOptions {
  HookList hooks{};
  Duration stop_grace_period_secs = kDefaultStopGracePeriod;
  RetryPolicy retry{};
  FileSystem* file_system = nullptr;  ///< null: the machine's own
  Clock* clock = nullptr;             ///< null: the machine's own
};

/// What every monitored session is made of, whatever its engine: owns the creator, the hooks, what they share, and the session while there
/// is one.
class SessionLife {
 public:
  SessionLife(std::shared_ptr<SessionCreator> creator, SessionLifeOptions options)
      : creator_(checked(std::move(creator), options)),
        file_system_(options.file_system != nullptr ? *options.file_system : posix_file_system()),
        clock_(options.clock != nullptr ? *options.clock : system_clock()),
        writers_({.file_system = &file_system_, .clock = &clock_}),
        environment_(file_system_, clock_, writers_),
        hooks_(in_phases(options.hooks)),
        was_finalized_(!creator_->is_chief() || creator_->graph().is_finalized()),
        exceptions_at_start_(std::uncaught_exceptions()) {
    environment_.set_save_veto([this] { return ask_for_veto(); });
    try {
      begin();
      session_.emplace(*creator_, hooks_, environment_, options.stop_grace_period_secs, std::move(options.retry));
    } catch (...) {
      end_by(std::current_exception());
      throw;
    }
  }
  SessionLife(const SessionLife&) = delete;
  SessionLife& operator=(const SessionLife&) = delete;

  ~SessionLife() {
    if (closed_) return;
    const bool unwinding = std::uncaught_exceptions() > exceptions_at_start_;
    if (unwinding && !is_end_of_input(last_error_)) {
      end_by(last_error_);
      return;
    }
    try {
      close();
    } catch (...) {
      log_error("while the session was closed: ", describe(std::current_exception()));
    }
  }

  [[nodiscard]] Graph& graph() const { return creator_->graph(); }

  void run(const RunRequest& request, std::span<Tensor> results) {
    expect_open();
    recording_errors([&] { session_->run(request, results); });
  }

  void run_with(FunctionRef<void(CoordinatedSession&)> body, IfOver if_over) {
    expect_open();
    recording_errors([&] { session_->run_with(body, if_over); });
  }

  [[nodiscard]] bool should_stop() noexcept { return closed_ || session_->should_stop(); }

  /// The engine's session of the moment. @throws FailedPreconditionError when closed or lost.
  [[nodiscard]] SessionRef session() const {
    expect_open();
    if (session_->session() == nullptr) throw FailedPreconditionError("the session was lost and could not be made anew");
    return session_->session()->session();
  }

  /// @throws FailedPreconditionError where the graph has no global step, or as `session` does.
  [[nodiscard]] std::int64_t global_step() const {
    const SessionRef live = session();
    const std::optional<Variable> step = get_global_step(live.graph());
    if (!step)
      throw FailedPreconditionError("global_step: the graph has none; call get_or_create_global_step(graph) before the session is made");
    return read_global_step(live, *step);
  }

  /// Ends: every hook's `end`, then threads, session and writers. Throws the first error after all is done; a second call does nothing.
  /// Of a session that was lost and could not be made anew there is nothing to end: hooks hear `abort`, and the caller the error unless a
  /// run has thrown it.
  void close() {
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
      } catch (...) {
        errors_.push_back(std::current_exception());
      }
    };
    for (const std::shared_ptr<SessionRunHook>& hook : hooks_) attempt([&] { hook->end(live->session()); });
    attempt([&] { std::ranges::copy(session_->close(), std::back_inserter(errors_)); });
    attempt([&] { writers_.close(); });
    leave_graph();
    for (std::size_t i = 1; i < errors_.size(); ++i) log_error("a further error while the session was closed: ", describe(errors_[i]));
    if (!errors_.empty()) std::rethrow_exception(errors_.front());
  }

  /// Ends by an error: every hook that began hears `abort`, last first; nothing more is saved. Gives the error that counts, which hooks
  /// hear too: what a background thread reported before, else this one.
  std::exception_ptr abort(const std::exception_ptr& error) noexcept {
    if (closed_) return error;
    const std::vector<std::exception_ptr> reported = session_->errors();
    const std::exception_ptr first = reported.empty() ? error : reported.front();
    end_by(first);
    if (error != nullptr && std::ranges::find(errors_, error) == errors_.end()) {
      log_error("a further error when the session ended: ", describe(error));
      errors_.push_back(error);
    }
    return first;
  }

  /// All errors that the session ended by, the one that was thrown first.
  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const noexcept { return errors_; }

  /// Whether this very exception left `run()`.
  [[nodiscard]] bool has_thrown(const std::exception_ptr& error) const noexcept { return error != nullptr && error == last_error_; }

 private:
  static std::shared_ptr<SessionCreator> checked(std::shared_ptr<SessionCreator> creator, const SessionLifeOptions& options) {
    if (creator == nullptr) throw InvalidArgumentError("MonitoredSession: session_creator is null; a ChiefSessionCreator is the usual one");
    check_grace_period("MonitoredSession", options.stop_grace_period_secs);
    return creator;
  }

  void end_by(const std::exception_ptr& error) noexcept {
    closed_ = true;
    if (error != nullptr) errors_.push_back(error);
    for (std::size_t i = begun_; i > 0; --i) hooks_[i - 1]->abort(error);
    const auto attempt = [](const char* what, auto&& action) {
      try {
        action();
      } catch (...) {
        log_error("while ", what, ": ", describe(std::current_exception()));
      }
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

  static Hooks in_phases(const HookList& entries) {
    Hooks hooks;
    for (const HookEntry& entry : entries) {
      if (std::ranges::find(hooks, entry.get()) != hooks.end())
        throw InvalidArgumentError("the same hook stands twice in the list of hooks");
      hooks.push_back(entry.get());
    }
    std::ranges::stable_sort(hooks, {}, [](const std::shared_ptr<SessionRunHook>& hook) { return hook->phase(); });
    return hooks;
  }

  void begin() {
    graph_ = &creator_->graph();
    Graph& graph = *graph_;
    if (!graph.is_finalized() && get_global_step(graph)) (void)get_or_create_global_step_read(graph);
    if (creator_->is_chief()) {
      states_ = std::make_shared<HookStates>(hooks_);
      graph.add_to_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(states_));
    }
    for (const std::shared_ptr<SessionRunHook>& hook : hooks_) {
      hook->attach(environment_);
      hook->begin(graph);
      ++begun_;
    }
  }

  void leave_graph() noexcept {
    if (graph_ == nullptr) return;  // a worker whose chief never came
    if (states_ != nullptr) graph_->remove_from_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(states_));
    if (!was_finalized_) graph_->unfinalize();
  }

  std::optional<std::string> ask_for_veto() const {
    for (const std::shared_ptr<SessionRunHook>& hook : hooks_) {
      if (std::optional<std::string> reason = hook->veto_save()) return reason;
    }
    return std::nullopt;
  }

  void expect_open() const {
    if (closed_) throw FailedPreconditionError("Session is already closed; make a new one to go on");
  }

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
  Environment environment_;
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
