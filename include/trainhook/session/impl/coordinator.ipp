// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/session/coordinator.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/log.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/thread.hpp>

namespace trainhook {

void detail::check_grace_period(std::string_view owner, Duration period) {
  if (period < Duration::zero()) {
    throw InvalidArgumentError(
        "{}: stop_grace_period_secs is {} ms; it must not be negative, and 0 waits for no thread", owner,
        std::chrono::duration_cast<std::chrono::milliseconds>(period).count());
  }
}

struct Coordinator::State {
  explicit State(IsCleanStop clean) : is_clean_stop(clean) {}

  const IsCleanStop is_clean_stop;
  mutable std::mutex mutex;
  detail::WaitCondition changed;
  std::atomic<bool> stop_requested = false;  // written under the mutex, so that waiters miss nothing
  std::atomic<bool> requested_without_error = false;
  bool joined = false;
  std::vector<std::exception_ptr> errors;
  const detail::ProcessMark process{};
};

struct Coordinator::Threads {
  struct Thread {
    detail::Thread thread;
    std::shared_ptr<bool> done;
  };

  [[nodiscard]] std::size_t count_running() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(all, [](const Thread& thread) { return !*thread.done; }));
  }

  std::stop_source stop_source;  // this and the threads are guarded by State::mutex
  std::vector<Thread> all;
};

bool detail::wait_for_stop(const std::stop_token& stop, Clock& clock, Duration deadline) {
  std::mutex mutex;
  std::condition_variable stopped;
  const std::stop_callback wake(stop, [&] {
    { const std::scoped_lock lock(mutex); }  // not between the waiter's look at the token and its wait
    stopped.notify_all();
  });
  std::unique_lock lock(mutex);
  return clock.wait_until(lock, stopped, deadline, [&] { return stop.stop_requested(); });
}

Coordinator::Coordinator(Clock& clock, IsCleanStop is_clean_stop)
    : clock_(&clock), state_(detail::make_shared_object<State>(is_clean_stop)), threads_(std::make_unique<Threads>()) {}

Coordinator::~Coordinator() {
  if (!state_->process.is_here()) return;
  request_stop();
  abandon_threads();
}

bool Coordinator::should_stop() const noexcept { return state_->stop_requested || !state_->process.is_here(); }

bool Coordinator::stop_requested_without_error() const noexcept { return state_->requested_without_error; }

void Coordinator::request_stop(const std::exception_ptr& error) {
  if (!state_->process.is_here()) return;
  const bool counts = error != nullptr && !state_->is_clean_stop(error);
  std::stop_source source(std::nostopstate);
  {
    const std::scoped_lock lock(state_->mutex);
    source = threads_->stop_source;
    if (counts && state_->joined) std::rethrow_exception(error);
    if (counts) {
      log_error("{}{}", state_->errors.empty() ? "a thread asks to stop: " : "a further error after the first: ",
                describe(error));
      state_->errors.push_back(error);
    }
    if (error == nullptr) state_->requested_without_error = true;
    state_->stop_requested = true;
  }
  source.request_stop();
  state_->changed.notify_all();
}

std::exception_ptr Coordinator::error() const noexcept {
  if (!state_->process.is_here()) return nullptr;
  const std::scoped_lock lock(state_->mutex);
  return state_->errors.empty() ? nullptr : state_->errors.front();
}

std::vector<std::exception_ptr> Coordinator::errors() const {
  if (!state_->process.is_here()) return {};
  const std::scoped_lock lock(state_->mutex);
  return state_->errors;
}

void Coordinator::raise_requested_exception() const {
  if (const std::exception_ptr first = error()) std::rethrow_exception(first);
}

bool Coordinator::wait_for_stop(std::optional<Duration> timeout) {
  if (!state_->process.is_here()) return true;
  std::unique_lock lock(state_->mutex);
  const auto stopped = [this] { return should_stop(); };
  if (timeout) return clock_->wait_until(lock, state_->changed, clock_->monotonic_now() + *timeout, stopped);
  state_->changed.wait(lock, stopped);
  return true;
}

void Coordinator::stop_on_exception(FunctionRef<void()> body) {
  try {
    body();
  } catch (...) { request_stop(std::current_exception()); }
}

void Coordinator::start_thread(std::function<void(std::stop_token)> body) {
  state_->process.expect_here("this Coordinator");
  auto done = detail::make_shared_object<bool>(false);
  const std::scoped_lock lock(state_->mutex);
  state_->joined = false;
  threads_->all.reserve(threads_->all.size() + 1);  // or a thread that has no room would be joined under its mutex
  state_->errors.reserve(state_->errors.size() + threads_->all.size() + 1);  // for one of each, if memory is short then
  threads_->all.push_back(
      {detail::Thread("Coordinator",
                      [state = state_, done, body = std::move(body), source = threads_->stop_source]() mutable {
                        try {
                          body(source.get_token());
                        } catch (...) {
                          record_failure(*state, std::current_exception());
                          source.request_stop();  // not before the error is recorded: it closes queues, which looks
                                                  // like the end of input
                        }
                        const std::scoped_lock done_lock(state->mutex);
                        *done = true;
                        state->changed.notify_all();
                      }),
       done});
}

void Coordinator::join(Duration grace_period, bool ignore_live_threads) {
  detail::check_grace_period("Coordinator::join", grace_period);
  if (!state_->process.is_here()) return;
  std::size_t alive = 0;
  {
    std::unique_lock lock(state_->mutex);
    const auto all_done = [this] { return threads_->count_running() == 0; };
    state_->changed.wait(lock, [&] { return should_stop() || all_done(); });
    clock_->wait_until(lock, state_->changed, clock_->monotonic_now() + grace_period, all_done);
    alive = threads_->count_running();
    state_->joined = true;
  }
  abandon_threads();
  raise_requested_exception();
  if (alive == 0) return;
  const std::string report = fmt::format(
      "{} threads still running {} ms after the request to stop; they must watch should_stop() or their stop token, "
      "and one that waits in a queue needs its QueueRunner's cancel_op",
      alive, std::chrono::duration_cast<std::chrono::milliseconds>(grace_period).count());
  if (!ignore_live_threads) throw FailedPreconditionError(report);
  log_warning("{}", report);
}

void Coordinator::clear_stop() {
  state_->process.expect_here("this Coordinator");
  const std::scoped_lock lock(state_->mutex);
  state_->stop_requested = false;
  state_->requested_without_error = false;
  state_->joined = false;
  state_->errors.clear();
  threads_->stop_source = std::stop_source();
}

void Coordinator::record_failure(State& state, const std::exception_ptr& failure) noexcept {
  const std::scoped_lock lock(state.mutex);
  if (!state.is_clean_stop(failure)) {
    log_error("a thread failed: {}", describe(failure));
    if (!state.joined) state.errors.push_back(failure);
  }
  state.stop_requested = true;
  state.changed.notify_all();
}

void Coordinator::abandon_threads() noexcept {
  std::vector<Threads::Thread> threads;
  {
    const std::scoped_lock lock(state_->mutex);
    threads.swap(threads_->all);
  }
  for (Threads::Thread& thread : threads) {
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

}  // namespace trainhook
