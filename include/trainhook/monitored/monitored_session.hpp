// SPDX-License-Identifier: Apache-2.0
/// @file
/// MonitoredSession: drives a session of any engine and calls the hooks around every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/monitored/session_lifecycle.hpp>

namespace trainhook {

/// Engines whose step can be the user's own code say so with a member `kRunsUserCode`.
template <class S>
inline constexpr bool runs_user_code = false;
template <class S>
  requires requires { S::kRunsUserCode; }
inline constexpr bool runs_user_code<S> = S::kRunsUserCode;

/// What a step function may do. Source: TensorFlow's `StepContext`.
template <SessionLike S>
class StepContext : private RunForms<StepContext<S>, runs_user_code<S>> {
  friend RunForms<StepContext<S>, runs_user_code<S>>;

 public:
  explicit StepContext(CoordinatedSession& session) : coordinated_(&session) {}

  /// The engine of this attempt: runs made through it trigger no hooks.
  [[nodiscard]] S& session() const noexcept { return coordinated_->session().template as<S>(); }

  /// A run with all hooks around it, in any of the forms of `run`; any number of times.
  template <class What>
  auto run_with_hooks(What&& what) {
    return this->run(std::forward<What>(what));
  }
  template <class What>
  auto run_with_hooks(const What& what, const FeedDict& feeds, const RunOptions* options = nullptr,
                      RunMetadata* metadata = nullptr) {
    return this->run(what, feeds, options, metadata);
  }
  template <std::size_t N>
  auto run_with_hooks(const Fetch (&fetches)[N], const FeedDict& feeds = {}, const RunOptions* options = nullptr,
                      RunMetadata* metadata = nullptr) {
    return this->run(fetches, feeds, options, metadata);
  }
  template <std::size_t N>
  auto run_with_hooks(const char* const (&names)[N], const FeedDict& feeds = {}, const RunOptions* options = nullptr,
                      RunMetadata* metadata = nullptr) {
    return this->run(names, feeds, options, metadata);
  }

  /// Leaves the step function at once and ends the loop as the end of input does. Hooks are not called for it.
  [[noreturn]] void request_stop() const { throw OutOfRangeError("the step function requested a stop"); }

  [[nodiscard]] Graph& graph() const { return coordinated_->session().graph(); }

 private:
  void run_request(const RunRequest& request, std::span<Tensor> results) { coordinated_->run(request, results); }

  CoordinatedSession* coordinated_;
};

using MonitoredSessionOptions = MonitoredSessionOptions;

/// Trains: `while (!session.should_stop()) session.run(train_op);`. Owns its hooks and the session, which it makes anew
/// when it is lost. `close()` may throw; the destructor never does. A run that is lost at the end of the loop is not
/// repeated: it gives nothing, and throws OutOfRangeError where something was to be given. How a run and a session can
/// end stands in the tables of session_run_hook.hpp. For one thread at a time. Source: TensorFlow's `MonitoredSession`.
template <SessionLike S>
class MonitoredSession : public RunForms<MonitoredSession<S>, runs_user_code<S>> {
 public:
  explicit MonitoredSession(std::shared_ptr<SessionCreator> creator, MonitoredSessionOptions options = {})
      : lifecycle_(std::move(creator), std::move(options)) {}

  [[nodiscard]] Graph& graph() { return lifecycle_.graph(); }

  /// Whether the loop should end: a hook or a thread asked for it, or the session is closed. Never throws.
  [[nodiscard]] bool should_stop() noexcept { return lifecycle_.should_stop(); }

  /// Calls `step_fn(StepContext<S>&)` and gives what it returns. It starts again from its beginning when the session is
  /// lost in it.
  template <class StepFunction>
  auto run_step_fn(StepFunction&& step_fn) -> std::invoke_result_t<StepFunction&, StepContext<S>&> {
    using Result = std::invoke_result_t<StepFunction&, StepContext<S>&>;
    if constexpr (std::is_void_v<Result>) {
      lifecycle_.run_with(
          [&](CoordinatedSession& session) {
            StepContext<S> context(session);
            step_fn(context);
          },
          IfOver::Return);
    } else {
      std::optional<std::remove_cvref_t<Result>> result;
      lifecycle_.run_with(
          [&](CoordinatedSession& session) {
            StepContext<S> context(session);
            result.emplace(step_fn(context));
          },
          IfOver::Throw);
      return *std::move(result);
    }
  }

  /// The global step as the session has it, by a run without hooks. @throws FailedPreconditionError where the graph has
  /// none, or the session is lost or closed.
  [[nodiscard]] std::int64_t global_step() const { return lifecycle_.global_step(); }

  /// The engine: runs made through it trigger no hooks. The reference is good until the session is lost or closed.
  [[nodiscard]] S& raw_session() { return lifecycle_.session().template as<S>(); }

  /// Ends the session: last checkpoint, flush, join. Throws the first error of a hook's `end`; a second call does
  /// nothing.
  void close() { lifecycle_.close(); }

  /// Ends the session by an error: hooks hear `abort`, nothing more is saved. Gives the error that counts: what a
  /// background thread reported before, else this one.
  std::exception_ptr abort(const std::exception_ptr& error) noexcept { return lifecycle_.abort(error); }

  /// All errors that the session ended by, the one that was thrown first.
  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const noexcept { return lifecycle_.errors(); }

  /// Whether this very exception left `run()` before.
  [[nodiscard]] bool has_thrown(const std::exception_ptr& error) const noexcept { return lifecycle_.has_thrown(error); }

  void run_request(const RunRequest& request, std::span<Tensor> results) { lifecycle_.run(request, results); }

 private:
  SessionLifecycle lifecycle_;
};

/// The whole loop: calls `step()` until the session should stop, then closes it. The end of input that a run reports is
/// a normal end; any other exception ends the session by an error and goes on to the caller, unless a background thread
/// has reported one before it, which then goes in its place, with the other in `session.errors()`.
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

/// The same with one operation as the step.
template <class Session>
void run_until_stop(Session& session, Operation step) {
  run_until_stop(session, [&] { session.run(step); });
}

}  // namespace trainhook
