// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/log.hpp>

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/thread.hpp>
#include <trainhook/core/write_signals.hpp>

namespace trainhook {
namespace detail {

/// What receives lines; replaced as a whole.
struct LogTarget {
  LogSink sink{};
  std::string prefix{};
  mutable bool is_told = false;  // that the sink must not log
};

/// A thread that finds nobody writing writes its line and those that come meanwhile, and holds no lock while it does:
/// a sink that hangs, or a pipe that nobody reads, stops that thread alone.
struct LogState {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<const LogTarget> target = std::make_shared<LogTarget>();
  const LogTarget* in_use = nullptr;  // by the thread that writes; null: none does
  std::deque<std::pair<LogLevel, std::string>> waiting;
};

enum class LogUse { None, Writes, WritesAndLogged };

LogUse& log_use() noexcept {
  static thread_local LogUse use = LogUse::None;
  return use;
}

LogState& log_state() {
  static LogState* const state = new LogState;    // never destroyed, as system_clock()
  [[maybe_unused]] static const int registered =  // another thread may write while the process forks
      ::pthread_atfork(nullptr, nullptr, [] {
        LogState& of_child = log_state();
        std::construct_at(&of_child.mutex);
        std::construct_at(&of_child.changed);
        std::construct_at(&of_child.waiting);  // what waits is the parent's
        of_child.in_use = nullptr;
        log_use() = LogUse::None;
      });
  return *state;
}

/// Replaces what receives lines, and returns what did before.
template <class Change>
std::shared_ptr<const LogTarget> change_log(const Change& change) {
  LogState& state = log_state();
  std::unique_lock lock(state.mutex);
  const auto target = std::make_shared<LogTarget>(*state.target);
  change(*target);
  const std::shared_ptr<const LogTarget> before = std::exchange(state.target, target);
  // When this returns, what the sink before refers to may be destroyed.
  if (before->sink && log_use() == LogUse::None) state.changed.wait(lock, [&] { return state.in_use != before.get(); });
  return before;
}

void set_log_prefix(std::string prefix) {
  change_log([&](LogTarget& target) { target.prefix = std::move(prefix); });
}

inline void write_line(const LogTarget& target, LogLevel level, std::string_view text) noexcept {
  try {
    const std::string line = fmt::format("{}{}", target.prefix, text);
    if (target.sink) return target.sink(level, line);
    const char* prefix = level == LogLevel::Info ? "I" : level == LogLevel::Warning ? "W" : "E";
    const char* rest = takes_escapes(stderr) ? "\x1b[K" : "";  // clears what a progress line left there
    const NoWriteSignals no_signals;
    fmt::print(stderr, "{} {}{}\n", prefix, line, rest);
  } catch (...) {  // a log line is never worth a crash
  }
}

void log_line(LogLevel level, fmt::string_view format, fmt::format_args args) noexcept {
  LogUse& use = log_use();
  if (use != LogUse::None) return (void)(use = LogUse::WritesAndLogged);  // by the sink
  try {
    std::string text = fmt::vformat(format, args);
    LogState& state = log_state();
    std::unique_lock lock(state.mutex);
    state.waiting.emplace_back(level, std::move(text));
    if (state.in_use != nullptr) return;
    while (!state.waiting.empty()) {
      const auto [its_level, its_text] = std::move(state.waiting.front());
      state.waiting.pop_front();
      const std::shared_ptr<const LogTarget> target = state.target;
      state.in_use = target.get();
      use = LogUse::Writes;
      lock.unlock();
      write_line(*target, its_level, its_text);
      lock.lock();
      state.in_use = nullptr;
      state.changed.notify_all();
      if (std::exchange(use, LogUse::None) == LogUse::WritesAndLogged && !std::exchange(target->is_told, true))
        state.waiting.emplace_front(LogLevel::Warning, "the log sink logs lines itself, which are dropped");
    }
  } catch (...) {  // nor is one that memory does not suffice for
  }
}

void log_last_line(const std::string& line) noexcept {
  try {
    const auto is_logged = std::make_shared<std::binary_semaphore>(0);
    Thread("the log", [is_logged, line] {
      log_error("{}", line);
      is_logged->release();
    }).detach();
    static_cast<void>(is_logged->try_acquire_for(std::chrono::seconds(5)));
  } catch (...) {  // there is no thread for it
  }
}

bool takes_escapes(std::FILE* file) noexcept {
  const auto value_of = [](const char* name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment meanwhile
    const char* const value = std::getenv(name);
    return std::string_view(value != nullptr ? value : "");
  };
  const std::string_view terminal = value_of("TERM");
  return isatty(fileno(file)) != 0 && !terminal.empty() && terminal != "dumb" && value_of("NO_COLOR").empty();
}

}  // namespace detail

LogSink set_log_sink(LogSink sink) {
  return detail::change_log([&](detail::LogTarget& target) { target.sink = std::move(sink); })->sink;
}

}  // namespace trainhook
