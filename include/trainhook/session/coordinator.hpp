// SPDX-License-Identifier: Apache-2.0
/// @file
/// Coordinator: stops the threads of a program together and passes their first error to the caller.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// How long `join` and `close()` wait for background threads by default.
inline constexpr Duration kDefaultStopGracePeriod = std::chrono::seconds(120);

/// Returns true for errors that are a normal end, for example `is_end_of_input` or `is_any_of<Done, OutOfRangeError>`.
/// Called from any thread; must not throw.
using IsCleanStop = bool (*)(const std::exception_ptr& error) noexcept;

namespace detail {

/// @throws InvalidArgumentError, naming `owner`, for a negative period.
TRAINHOOK_DECL void check_grace_period(std::string_view owner, Duration period);

}  // namespace detail
/// Stops several threads together. A thread watches `should_stop()` or its stop token and ends soon after a stop was
/// requested. The destructor requests a stop and waits for no thread that is still running. All calls are thread-safe.
/// In a forked child, which has no such threads, `should_stop()` is true, and nothing waits. Source: TensorFlow's
/// `Coordinator`; it waits without polling and also keeps the later errors.
class Coordinator {
 public:
  /// @param clock must outlive the threads
  /// @param is_clean_stop errors that end a thread normally: TensorFlow's `clean_stop_exception_types`
  TRAINHOOK_DECL explicit Coordinator(Clock& clock = system_clock(), IsCleanStop is_clean_stop = is_end_of_input);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  TRAINHOOK_DECL ~Coordinator();

  /// Starts a thread that `join` waits for. A stop request fires the token. An exception from `body` is recorded before
  /// it requests the stop, so that every thread that sees the stop can read the error.
  /// @throws ResourceExhaustedError if the system has no more threads
  TRAINHOOK_DECL void start_thread(std::function<void(std::stop_token)> body);

  /// Asks all threads to stop. `join` throws the first error given here; later ones are logged and kept in `errors()`.
  /// A clean stop is not an error. @throws `error` itself if the coordinator was joined already.
  TRAINHOOK_DECL void request_stop(const std::exception_ptr& error = nullptr);

  /// True once a stop was requested; `error()` is set by then. Takes no lock, so a loop can call it at every step.
  [[nodiscard]] TRAINHOOK_DECL bool should_stop() const noexcept;

  /// True once `request_stop` was called without an error, not even one that is a clean stop, whatever else was
  /// reported before or since.
  [[nodiscard]] TRAINHOOK_DECL bool stop_requested_without_error() const noexcept;

  /// Waits until a stop is requested, at most for `timeout`. Returns false after a timeout.
  TRAINHOOK_DECL bool wait_for_stop(std::optional<Duration> timeout = std::nullopt);

  /// Runs `body` and turns its exception into a stop request.
  TRAINHOOK_DECL void stop_on_exception(FunctionRef<void()> body);

  /// Waits until a stop is requested or all threads have ended, then up to `grace_period` more for the remaining ones.
  /// Abandons threads that are still running, then throws the first recorded error.
  /// @throws FailedPreconditionError if threads are still running, unless `ignore_live_threads`; InvalidArgumentError
  /// for a negative period.
  TRAINHOOK_DECL void join(Duration grace_period = kDefaultStopGracePeriod, bool ignore_live_threads = false);

  /// The first error given to `request_stop`, or null.
  [[nodiscard]] TRAINHOOK_DECL std::exception_ptr error() const noexcept;

  /// All errors given to `request_stop`, oldest first.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::exception_ptr> errors() const;

  /// Throws the first error given to `request_stop`, if there is one. The error stays recorded.
  TRAINHOOK_DECL void raise_requested_exception() const;

  /// Forgets stop requests, errors and `join`, so that the coordinator can be used again.
  TRAINHOOK_DECL void clear_stop();

  [[nodiscard]] Clock& clock() const noexcept { return *clock_; }

 private:
  struct State;  // shared with threads that may outlive the coordinator
  struct Threads;

  TRAINHOOK_DECL static void record_failure(State& state, const std::exception_ptr& failure) noexcept;
  TRAINHOOK_DECL void abandon_threads() noexcept;

  Clock* clock_;
  std::shared_ptr<State> state_;
  std::unique_ptr<Threads> threads_;
};

namespace detail {

/// Waits until a stop is requested or the clock reaches `deadline`. Returns true if a stop was requested. It does not
/// use the coordinator, which an abandoned thread may outlive.
TRAINHOOK_DECL bool wait_for_stop(const std::stop_token& stop, Clock& clock, Duration deadline);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/coordinator.ipp>
#endif
