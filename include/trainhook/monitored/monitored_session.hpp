// SPDX-License-Identifier: Apache-2.0
/// @file
/// MonitoredSession: runs a session of any engine and calls the hooks around every run.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/live_session.hpp>
#include <trainhook/monitored/monitored_session_options.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/monitored/session_lifecycle.hpp>
#include <trainhook/session/run_forms.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

namespace detail {

/// True for engines that can run the user's code as a step; they have a member `kRunsUserCode`.
template <class S>
inline constexpr bool runs_user_code = false;
template <class S>
  requires requires { S::kRunsUserCode; }
inline constexpr bool runs_user_code<S> = S::kRunsUserCode;

}  // namespace detail

/// The argument of a step function; see `MonitoredSession::run_step_fn`. Valid during its call. Source: TensorFlow's
/// `StepContext`.
template <SessionLike S>
class StepContext {
 public:
  /// Has all forms of `run`, each with all hooks.
  class Runner : public RunForms<Runner, detail::runs_user_code<S>> {
   public:
    explicit Runner(detail::LiveSession& session) : session_(&session) {}
    [[nodiscard]] Graph& graph() const { return session_->session().graph(); }
    void run_request(const RunRequest& request, std::span<Tensor> results) const { session_->run(request, results); }

   private:
    detail::LiveSession* session_;
  };

  explicit StepContext(detail::LiveSession& session) : session_(&session) {}

  /// The engine's session in this attempt. Runs through it call no hooks.
  [[nodiscard]] S& session() const noexcept { return session_->session().template as<S>(); }

  /// A run with all hooks; may be called any number of times: `run_with_hooks(loss)`, `run_with_hooks(loss, {{x,
  /// value}})`.
  template <class What>
  auto run_with_hooks(What&& what) {
    return run_with_hooks().run(std::forward<What>(what));
  }
  template <class What>
  auto run_with_hooks(const What& what, const FeedDict& feeds, const RunOptions* options = nullptr,
                      RunMetadata* metadata = nullptr) {
    return run_with_hooks().run(what, feeds, options, metadata);
  }
  /// The same for every other form of `run`: `run_with_hooks().run({loss, accuracy})`.
  [[nodiscard]] Runner run_with_hooks() const { return Runner(*session_); }

  /// Leaves the step function at once and ends the loop like the end of input: `should_stop()` is true from now on, so
  /// a loop that catches the exception itself ends, too. It calls no hooks.
  [[noreturn]] void request_stop() const {
    constexpr const char* kReason = "the step function requested a stop";
    session_->request_stop(std::string(kReason));
    throw OutOfRangeError(kReason);
  }

  [[nodiscard]] Graph& graph() const { return session_->session().graph(); }

 private:
  detail::LiveSession* session_;
};

/// Trains: `while (!session.should_stop()) session.run(train_op);`. Owns its hooks and the engine's session, which it
/// recreates after a loss. Use it on one thread; hooks and the step may call it again: such a nested run
/// calls all hooks and does not disturb the outer run, which recovers if the nested run loses the session. If the
/// session is lost in the last run of the loop, the run is not repeated, and throws OutOfRangeError if the caller waits
/// for a result. SessionRunHook lists how a run and a session can end.
///
/// A forked child has no part in it: there `should_stop()` is true, `run` throws, and nothing ends or is written.
/// Source: TensorFlow's `MonitoredSession`.
template <SessionLike S>
class MonitoredSession : public RunForms<MonitoredSession<S>, detail::runs_user_code<S>> {
 public:
  /// Calls the hooks' `begin` and creates the session.
  explicit MonitoredSession(std::shared_ptr<SessionCreator> creator, const MonitoredSessionOptions& options = {})
      : lifecycle_(std::move(creator), options) {}
  /// Uses the default creator, a chief that initializes `graph`, which must outlive this. `session_args` are passed to
  /// the engine's constructor after the graph.
  template <class... SessionArgs>
    requires std::constructible_from<S, Graph&, SessionArgs&...>
  explicit MonitoredSession(Graph& graph, const MonitoredSessionOptions& options = {}, SessionArgs... session_args)
      : lifecycle_(chief_session_creator<S>(graph, {.file_system = options.file_system, .clock = options.clock},
                                            std::move(session_args)...),
                   options) {}
  explicit MonitoredSession(detail::SessionHandle lifecycle) : lifecycle_(std::move(lifecycle)) {}
  /// Can be moved, also in the middle of training: hooks, contexts, `raw_session()` and every SessionRef refer to what
  /// it owns, which stays where it is. Only a reference to the object itself refers to the object that it was moved
  /// from. That one has stopped, its destructor does nothing, and its other functions throw FailedPreconditionError.
  MonitoredSession(MonitoredSession&&) noexcept = default;
  /// Ends a live session as the destructor does, after the new one was made; call `close()` before that if both use one
  /// loop or directory. Do not destroy a session or assign to it in its own run.
  MonitoredSession& operator=(MonitoredSession&&) noexcept = default;
  MonitoredSession(const MonitoredSession&) = delete;
  MonitoredSession& operator=(const MonitoredSession&) = delete;
  TRAINHOOK_MISTAKE("a session is not copied: take it as MonitoredSession&, or give it away with std::move(session)",
                    std::same_as<MonitoredSession> Same)
  MonitoredSession(Same& other) TRAINHOOK_REFUSED;

  /// True if the loop should end: a hook or a thread requested it, or the session is closed.
  [[nodiscard]] bool should_stop() noexcept { return lifecycle_.get() == nullptr || lifecycle_->should_stop(); }

  /// Calls `step_fn(StepContext<S>&)` and returns its result. After a loss of the session it calls `step_fn` again from
  /// its start.
  template <class StepFunction>
  auto run_step_fn(StepFunction&& step_fn) -> std::invoke_result_t<StepFunction&, StepContext<S>&> {
    using Result = std::invoke_result_t<StepFunction&, StepContext<S>&>;
    if constexpr (std::is_void_v<Result>) {
      lifecycle_->run_with(
          [&](detail::LiveSession& session) {
            StepContext<S> context(session);
            step_fn(context);
          },
          false);
    } else {
      std::optional<std::remove_cvref_t<Result>> result;
      lifecycle_->run_with(
          [&](detail::LiveSession& session) {
            StepContext<S> context(session);
            result.emplace(step_fn(context));
          },
          true);
      return *std::move(result);
    }
  }

  TRAINHOOK_MISTAKE("a step function gets a StepContext: write session.run_step_fn([&](auto& context) { ... })",
                    class StepFunction)
  void run_step_fn(StepFunction&& step_fn)
    requires(!std::invocable<StepFunction&, StepContext<S>&>)
  TRAINHOOK_REFUSED;

  /// The global step, read without hooks; after a normal `close()`, the last one. @throws FailedPreconditionError if
  /// the graph has none, or if the session is lost or ended with an error.
  [[nodiscard]] std::int64_t global_step() const { return lifecycle_->global_step(); }

  [[nodiscard]] Graph& graph() { return lifecycle_->graph(); }

  /// The engine's session. Runs through it call no hooks. Valid until it is lost or closed.
  [[nodiscard]] S& raw_session() { return lifecycle_->session().template as<S>(); }

  /// The same for functions that take a SessionRef, such as `saver.save(session, request)`.
  [[nodiscard]] operator SessionRef() { return lifecycle_->session(); }

  /// Ends the session: saves the last checkpoint, closes event files, joins threads. Then throws the first error of a
  /// hook's `end`. A second call does nothing. If a thread has reported an error, hooks get `abort`, nothing is saved
  /// but what `save_on_exception` is about, and that error is thrown. In a hook or in the step it takes effect after
  /// the run.
  void close() { lifecycle_->close(); }

  /// Ends the session with an error: hooks get `abort`, and nothing more is saved but what `save_on_exception` is
  /// about. Returns the error that hooks receive: the first one a background thread reported, or else `error`.
  std::exception_ptr abort(const std::exception_ptr& error) noexcept {
    return lifecycle_.get() == nullptr ? error : lifecycle_->abort(error);
  }

  /// All errors that ended the session; the first is the one that was thrown.
  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const { return lifecycle_->errors(); }

  /// Says why the loop has ended: the reason of the hook that requested the stop, "end of input", the first error, or
  /// that the program closed the session. Empty while the loop runs.
  [[nodiscard]] std::string why_it_ended() const {
    return lifecycle_.get() == nullptr ? "the session was moved to another object" : lifecycle_->why_it_ended();
  }

  /// True if this exception object left `run()`.
  [[nodiscard]] bool has_thrown(const std::exception_ptr& error) const noexcept {
    return lifecycle_.get() != nullptr && lifecycle_->has_thrown(error);
  }

  void run_request(const RunRequest& request, std::span<Tensor> results) { lifecycle_->run(request, results); }

 private:
  detail::SessionHandle lifecycle_;
};

/// The whole loop: calls `step()` until the session should stop, then closes the session. End of input is a normal end.
/// Any other exception ends the session with an error and is rethrown; if a background thread reported an error before,
/// that one is thrown, and `session.errors()` has both.
template <class Session, std::invocable Step>
void run_until_stop(Session& session, Step step) {
  try {
    while (!session.should_stop()) step();
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    if (!is_end_of_input(error) || !session.has_thrown(error)) {
      if (const std::exception_ptr first = session.abort(error); first != error) std::rethrow_exception(first);
      throw;
    }
  }
  session.close();
}

TRAINHOOK_MISTAKE("the step has no parameters: write run_until_stop(session, [&] { session.run(...); })", class Session,
                  detail::NeedsArguments Step)
void run_until_stop(Session& session, Step&& step) TRAINHOOK_REFUSED;

/// The same with one operation as the step.
template <class Session>
void run_until_stop(Session& session, Operation step) {
  run_until_stop(session, [&] { session.run(step); });
}

}  // namespace trainhook
