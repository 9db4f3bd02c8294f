// SPDX-License-Identifier: Apache-2.0
/// @file
/// Coordinator: lets the threads of a program stop together, and brings the first error of any to the one who joins.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

inline constexpr Duration kDefaultStopGracePeriod = std::chrono::seconds(120);

/// @throws InvalidArgumentError for a negative period.
TRAINHOOK_DECL void check_grace_period(std::string_view whose, Duration period);

/// Whether an error is of one of these types, or of one derived from them; null is of none.
template <class... Types>
[[nodiscard]] bool is_any_of(const std::exception_ptr& error) noexcept {
  const auto is_a = [&error]<class Type>(std::type_identity<Type>) {
    try {
      std::rethrow_exception(error);
    } catch (const Type&) { return true; } catch (...) {
      return false;
    }
  };
  return error != nullptr && (is_a(std::type_identity<Types>()) || ...);
}

/// Whether an error is the end of input, which is an ordinary end of a loop.
[[nodiscard]] inline bool is_end_of_input(const std::exception_ptr& error) noexcept {
  return is_any_of<OutOfRangeError>(error);
}

/// Which errors are an ordinary way for a thread to end: `is_any_of<Done, OutOfRangeError>`. Called from any thread;
/// must not throw.
using IsCleanStop = bool (*)(const std::exception_ptr& error) noexcept;

/// Waits until a stop is requested or the clock reaches `deadline`; whether a stop was requested. Needs nothing of the
/// coordinator, so that a thread that was left behind may still be in it.
TRAINHOOK_DECL bool wait_for_stop(const std::stop_token& stop, Clock& clock, Duration deadline);

/// Coordinates the end of several threads. All calls are thread-safe. Source: TensorFlow's `Coordinator`; waiting is by
/// condition variable, never by polling, and errors that come after the first are kept behind it.
class Coordinator {
 public:
  /// `is_clean_stop`: TensorFlow's `clean_stop_exception_types`.
  TRAINHOOK_DECL explicit Coordinator(Clock& clock = system_clock(), IsCleanStop is_clean_stop = is_end_of_input);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  ~Coordinator() {
    request_stop();
    abandon_threads();
  }

  /// Asks all threads to stop. The first error given becomes what `join` throws; later ones are kept behind it and
  /// logged. A clean stop counts as no error. @throws the error itself when the coordinator was already joined.
  TRAINHOOK_DECL void request_stop(const std::exception_ptr& error = nullptr);

  /// Takes no lock, so that a loop may ask at every step. Once it is true, `error()` has what the stop was requested
  /// with.
  [[nodiscard]] bool should_stop() const noexcept { return state_->stop_requested; }

  /// The first error given to `request_stop`, or null.
  [[nodiscard]] TRAINHOOK_DECL std::exception_ptr error() const noexcept;

  /// All of them, in the order they came.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::exception_ptr> errors() const;

  /// Throws the first error given to `request_stop`, if any; it stays recorded.
  TRAINHOOK_DECL void raise_requested_exception() const;

  [[nodiscard]] Clock& clock() const noexcept { return *clock_; }

  /// Waits until a stop is requested, at most `timeout`; false when that ran out.
  TRAINHOOK_DECL bool wait_for_stop(std::optional<Duration> timeout = std::nullopt);

  /// Runs `body` and turns an exception of it into a stop request.
  TRAINHOOK_DECL void stop_on_exception(FunctionRef<void()> body);

  /// Starts a thread that `join` waits for. `body` gets a token that fires when a stop is requested; an exception that
  /// leaves it requests one.
  TRAINHOOK_DECL void start_thread(std::function<void(std::stop_token)> body);

  /// Waits for the threads: first until a stop is requested or all have ended, then at most `grace_period` more. Then
  /// throws the first recorded error. @throws FailedPreconditionError where threads are still running, unless
  /// `ignore_live_threads`; those are abandoned. InvalidArgumentError for a negative period.
  TRAINHOOK_DECL void join(Duration grace_period = kDefaultStopGracePeriod, bool ignore_live_threads = false);

  /// Forgets requests, errors and that it was joined, so that it can be used again.
  TRAINHOOK_DECL void clear_stop();

 private:
  struct State {  // shared with threads that outlive the coordinator
    explicit State(IsCleanStop clean) : is_clean_stop(clean) {}

    const IsCleanStop is_clean_stop;
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::atomic<bool> stop_requested = false;  // written under the mutex, so that waiters miss nothing
    bool joined = false;
    std::vector<std::exception_ptr> errors;
  };
  struct Thread {
    std::thread thread;
    std::shared_ptr<bool> done;  // guarded by State::mutex
  };

  TRAINHOOK_DECL static void finish_thread(const std::shared_ptr<State>& state, bool& done,
                                           const std::exception_ptr& failure) noexcept;
  [[nodiscard]] TRAINHOOK_DECL std::size_t live_threads() const noexcept;
  TRAINHOOK_DECL void abandon_threads() noexcept;

  Clock* clock_;
  std::shared_ptr<State> state_;
  std::stop_source stop_source_;
  std::vector<Thread> threads_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/coordinator.ipp>
#endif
