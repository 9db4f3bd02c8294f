// SPDX-License-Identifier: Apache-2.0
/// @file
/// Coordinator: lets the threads of a program stop together, and brings the first error of any to the one who joins.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook {

inline constexpr Duration kDefaultStopGracePeriod = std::chrono::seconds(120);

/// @throws InvalidArgumentError for a negative period.
inline void check_grace_period(std::string_view whose, Duration period) {
  if (period < Duration::zero()) {
    throw InvalidArgumentError(whose, ": stop_grace_period_secs is ", std::chrono::duration_cast<std::chrono::milliseconds>(period).count(),
                               " ms; it must not be negative, and 0 waits for no thread");
  }
}

/// Whether an error is of one of these types, or of one derived from them; null is of none.
template <class... Types>
[[nodiscard]] bool is_any_of(const std::exception_ptr& error) noexcept {
  const auto is_a = [&error]<class Type>(std::type_identity<Type>) {
    try {
      std::rethrow_exception(error);
    } catch (const Type&) {
      return true;
    } catch (...) {
      return false;
    }
  };
  return error != nullptr && (is_a(std::type_identity<Types>()) || ...);
}

/// Whether an error is the end of input, which is an ordinary end of a loop.
[[nodiscard]] inline bool is_end_of_input(const std::exception_ptr& error) noexcept { return is_any_of<OutOfRangeError>(error); }

/// Which errors are an ordinary way for a thread to end: `is_any_of<Done, OutOfRangeError>`. Called from any thread; must not throw.
using IsCleanStop = bool (*)(const std::exception_ptr& error) noexcept;

/// Waits until a stop is requested or the clock reaches `deadline`; whether a stop was requested. Needs nothing of the coordinator, so that
/// a thread that was left behind may still be in it.
inline bool wait_for_stop(const std::stop_token& stop, Clock& clock, Duration deadline) {
  std::mutex mutex;
  std::condition_variable stopped;
  const std::stop_callback wake(stop, [&] {
    { const std::scoped_lock lock(mutex); }  // not between the waiter's look at the token and its wait
    stopped.notify_all();
  });
  std::unique_lock lock(mutex);
  return clock.wait_until(lock, stopped, deadline, [&] { return stop.stop_requested(); });
}

/// Coordinates the end of several threads. All calls are thread-safe. Source: TensorFlow's `Coordinator`; waiting is by condition variable,
/// never by polling, and errors that come after the first are kept behind it.
class Coordinator {
 public:
  /// `is_clean_stop`: TensorFlow's `clean_stop_exception_types`.
  explicit Coordinator(Clock& clock = system_clock(), IsCleanStop is_clean_stop = is_end_of_input)
      : clock_(&clock), state_(std::make_shared<State>(is_clean_stop)) {}
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  ~Coordinator() {
    request_stop();
    abandon_threads();
  }

  /// Asks all threads to stop. The first error given becomes what `join` throws; later ones are kept behind it and logged. A clean stop
  /// counts as no error. @throws the error itself when the coordinator was already joined.
  void request_stop(const std::exception_ptr& error = nullptr) {
    const bool counts = error != nullptr && !state_->is_clean_stop(error);
    std::stop_source source(std::nostopstate);
    {
      const std::scoped_lock lock(state_->mutex);
      source = stop_source_;
      if (!state_->joined) {
        state_->stop_requested = true;
        if (counts) {
          log_error(state_->errors.empty() ? "a thread asks to stop: " : "a further error after the first: ", describe(error));
          state_->errors.push_back(error);
        }
      } else if (counts) {
        std::rethrow_exception(error);
      }
    }
    source.request_stop();
    state_->changed.notify_all();
  }

  /// Takes no lock, so that a loop may ask at every step. Once it is true, `error()` has what the stop was requested with.
  [[nodiscard]] bool should_stop() const noexcept { return state_->stop_requested; }

  /// The first error given to `request_stop`, or null.
  [[nodiscard]] std::exception_ptr error() const noexcept {
    const std::scoped_lock lock(state_->mutex);
    return state_->errors.empty() ? nullptr : state_->errors.front();
  }

  /// All of them, in the order they came.
  [[nodiscard]] std::vector<std::exception_ptr> errors() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->errors;
  }

  /// Throws the first error given to `request_stop`, if any; it stays recorded.
  void raise_requested_exception() const {
    if (const std::exception_ptr first = error()) std::rethrow_exception(first);
  }

  [[nodiscard]] Clock& clock() const noexcept { return *clock_; }

  /// Waits until a stop is requested, at most `timeout`; false when that ran out.
  bool wait_for_stop(std::optional<Duration> timeout = std::nullopt) {
    std::unique_lock lock(state_->mutex);
    const auto stopped = [this] { return should_stop(); };
    if (timeout) return clock_->wait_until(lock, state_->changed, deadline_after(*clock_, *timeout), stopped);
    state_->changed.wait(lock, stopped);
    return true;
  }

  /// Runs `body` and turns an exception of it into a stop request.
  void stop_on_exception(FunctionRef<void()> body) {
    try {
      body();
    } catch (...) {
      request_stop(std::current_exception());
    }
  }

  /// Starts a thread that `join` waits for. `body` gets a token that fires when a stop is requested; an exception that leaves it requests
  /// one.
  void start_thread(std::function<void(std::stop_token)> body) {
    auto done = std::make_shared<bool>(false);
    const std::scoped_lock lock(state_->mutex);
    state_->joined = false;
    threads_.push_back({std::thread([state = state_, done, body = std::move(body), source = stop_source_]() mutable {
                          std::exception_ptr failure;
                          try {
                            body(source.get_token());
                          } catch (...) {
                            failure = std::current_exception();
                          }
                          if (failure != nullptr) source.request_stop();
                          finish_thread(state, *done, failure);
                        }),
                        done});
  }

  /// Waits for the threads: first until a stop is requested or all have ended, then at most `grace_period` more. Then throws the first
  /// recorded error. @throws FailedPreconditionError where threads are still running, unless `ignore_live_threads`; those are abandoned.
  /// InvalidArgumentError for a negative period.
  void join(Duration grace_period = kDefaultStopGracePeriod, bool ignore_live_threads = false) {
    check_grace_period("Coordinator::join", grace_period);
    std::size_t alive = 0;
    {
      std::unique_lock lock(state_->mutex);
      const auto all_done = [this] { return live_threads() == 0; };
      state_->changed.wait(lock, [&] { return should_stop() || all_done(); });
      clock_->wait_until(lock, state_->changed, deadline_after(*clock_, grace_period), all_done);
      alive = live_threads();
      state_->joined = true;
    }
    abandon_threads();
    raise_requested_exception();
    if (alive == 0) return;
    const std::string report =
        str_cat(alive, " threads still running ", std::chrono::duration_cast<std::chrono::milliseconds>(grace_period).count(),
                " ms after the request to stop; they must watch should_stop() or their stop token, and one that waits in a "
                "queue needs its QueueRunner's cancel_op");
    if (!ignore_live_threads) throw FailedPreconditionError(report);
    log_warning(report);
  }

  /// Forgets requests, errors and that it was joined, so that it can be used again.
  void clear_stop() {
    const std::scoped_lock lock(state_->mutex);
    state_->stop_requested = false;
    state_->joined = false;
    state_->errors.clear();
    stop_source_ = std::stop_source();
  }

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

  static void finish_thread(const std::shared_ptr<State>& state, bool& done, const std::exception_ptr& failure) noexcept {
    const std::scoped_lock lock(state->mutex);
    if (failure != nullptr) {
      state->stop_requested = true;
      if (!state->is_clean_stop(failure)) {
        log_error("a thread failed: ", describe(failure));
        if (!state->joined) state->errors.push_back(failure);
      }
    }
    done = true;
    state->changed.notify_all();
  }

  [[nodiscard]] std::size_t live_threads() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(threads_, [](const Thread& thread) { return !*thread.done; }));
  }

  void abandon_threads() noexcept {
    std::vector<Thread> threads;
    {
      const std::scoped_lock lock(state_->mutex);
      threads.swap(threads_);
    }
    for (Thread& thread : threads) {
      bool done = false;
      {
        const std::scoped_lock lock(state_->mutex);
        done = *thread.done;
      }
      if (done) {
        thread.thread.join();
      } else {
        thread.thread.detach();
      }
    }
  }

  Clock* clock_;
  std::shared_ptr<State> state_;
  std::stop_source stop_source_;
  std::vector<Thread> threads_;
};

}  // namespace trainhook
