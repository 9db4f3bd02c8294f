// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/watch/watchdog_hook.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/thread.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// The thread. It counts its own ticks, since none comes while the process is stopped.
class Watchdog {
 public:
  Watchdog(const WatchdogHook::Options& options, SessionServices& services)
      : options_(options),
        services_(&services),
        period_(period_of(options)),
        thread_("a watchdog", [this] { watch(); }) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::scoped_lock lock(mutex_);
      is_ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void note_step(std::int64_t step) noexcept {
    step_.store(step, std::memory_order_relaxed);
    has_stepped_.store(true, std::memory_order_relaxed);
  }
  /// The next step may take as long as the first one.
  void note_start() noexcept { has_stepped_.store(false, std::memory_order_relaxed); }

 private:
  static Duration period_of(const WatchdogHook::Options& options) {
    Duration shortest = std::chrono::seconds(20);
    for (const OptionalDuration& timeout : {options.step_timeout, options.first_step_timeout, options.save_timeout})
      if (timeout) shortest = (std::min)(shortest, *timeout);
    return Duration((std::max)(shortest / 20, std::chrono::nanoseconds(std::chrono::milliseconds(1))));
  }

  void watch() {
    Clock& clock = services_->clock();
    std::uint64_t seen = 0;
    const SessionRunHook* seen_hook = nullptr;
    std::int64_t ticks = 0;
    std::unique_lock lock(mutex_);
    while (!clock.wait_until(lock, changed_, Duration(clock.monotonic_now() + period_), [this] { return is_ended_; })) {
      const SessionActivity& activity = services_->activity();
      const SessionRunHook* const hook = activity.hook();
      const std::uint64_t count = activity.count();
      const bool has_moved = std::exchange(seen, count) != count || std::exchange(seen_hook, hook) != hook;
      seen_hook = hook;
      ticks = has_moved ? 0 : ticks + 1;
      const OptionalDuration limit = limit_of(hook);
      if (!limit || ticks * period_ < *limit) continue;
      lock.unlock();
      end_process(*limit, activity.what(), hook);
    }
  }

  [[nodiscard]] OptionalDuration limit_of(const SessionRunHook* hook) const {
    if (hook != nullptr && hook->phase() == HookPhase::Save) return options_.save_timeout;
    const OptionalDuration own =
        has_stepped_.load(std::memory_order_relaxed) ? options_.step_timeout : options_.first_step_timeout;
    if (services_->peers().num_processes() == 1 || !own) return own;
    return options_.save_timeout ? OptionalDuration((std::max)(*own, *options_.save_timeout)) : OptionalDuration();
  }

  [[noreturn]] void end_process(Duration limit, const char* what, const SessionRunHook* hook) {
    std::string place = hook != nullptr ? fmt::format("{} of {}", what, short_type_name(*hook)) : std::string(what);
    if (has_stepped_.load(std::memory_order_relaxed))
      place += fmt::format(", after step {}", step_.load(std::memory_order_relaxed));
    const auto tell = [&] {
      log_error("WatchdogHook: nothing has moved for {}: {}. The process ends.", duration_text(limit), place);
      try {
        if (options_.on_timeout) options_.on_timeout(place);
      } catch (...) { log_error("WatchdogHook: on_timeout threw: {}", describe(std::current_exception())); }
    };
    try {  // on another thread: what hangs may be the log, or hold what the user's function needs
      bool is_told = false;
      std::mutex mutex;
      WaitCondition told;
      std::unique_lock lock(mutex);
      Thread telling("the message of a watchdog", [&] {
        tell();
        const std::scoped_lock inner(mutex);
        is_told = true;
        told.notify_all();
      });
      told.wait_for(lock, std::chrono::seconds(10), [&] { return is_told; });
      end_now();
    } catch (const Error&) { tell(); }  // no thread is to be had
    end_now();
  }

  [[noreturn]] void end_now() const {
    if (!options_.exit_status) std::abort();
    std::_Exit(*options_.exit_status);
  }

  WatchdogHook::Options options_;
  SessionServices* services_;
  Duration period_;
  std::atomic<std::int64_t> step_ = 0;
  std::atomic<bool> has_stepped_ = false;
  std::mutex mutex_;
  WaitCondition changed_;
  bool is_ended_ = false;
  Thread thread_;  // last: it uses the others
};

}  // namespace trainhook::detail

namespace trainhook {

WatchdogHook::WatchdogHook(WatchdogHook&& other) noexcept = default;
WatchdogHook::~WatchdogHook() = default;

WatchdogHook::WatchdogHook(Options options) : options_(std::move(options)) {
  const auto expect_positive = [](const char* name, const OptionalDuration& timeout) {
    if (timeout && *timeout <= Duration::zero())
      throw InvalidArgumentError("WatchdogHook: {} is {}; it must be above 0, or std::nullopt for none", name,
                                 duration_text(*timeout));
  };
  expect_positive("step_timeout", options_.step_timeout);
  expect_positive("first_step_timeout", options_.first_step_timeout);
  expect_positive("save_timeout", options_.save_timeout);
}

void WatchdogHook::begin(Graph& /*graph*/) {
  dog_ = std::make_unique<detail::Watchdog>(options_, detail::SessionServices::of(services()));
}

void WatchdogHook::after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) { dog_->note_start(); }

void WatchdogHook::on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) {
  dog_->note_start();
}

void WatchdogHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  dog_->note_step(context.global_step());
}

void WatchdogHook::end(SessionRef /*session*/) { dog_.reset(); }

void WatchdogHook::abort(const std::exception_ptr& /*error*/) noexcept { dog_.reset(); }

}  // namespace trainhook
