// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of log.hpp.
#pragma once

#include <trainhook/core/log.hpp>

#include <pthread.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/terminal.hpp>
#include <trainhook/core/write_signals.hpp>

namespace trainhook {
namespace detail {

struct LogState {
  std::mutex mutex;
  LogSink sink;
  std::string prefix;
};

LogState& log_state() {
  static LogState* const state = new LogState;    // never destroyed, as system_clock()
  [[maybe_unused]] static const int registered =  // another thread may hold the mutex while the process forks
      ::pthread_atfork(nullptr, nullptr, [] { std::construct_at(&log_state().mutex); });
  return *state;
}

void set_log_prefix(std::string prefix) {
  LogState& state = log_state();
  const std::scoped_lock lock(state.mutex);
  state.prefix = std::move(prefix);
}

void log_line(LogLevel level, fmt::string_view format, fmt::format_args args) noexcept {
  try {
    const std::string text = fmt::vformat(format, args);
    LogState& state = log_state();
    const std::scoped_lock lock(state.mutex);
    const std::string line = state.prefix + text;
    if (state.sink) {
      state.sink(level, line);
    } else {
      const char* prefix = level == LogLevel::Info ? "I" : level == LogLevel::Warning ? "W" : "E";
      const char* rest = takes_escapes(stderr) ? "\x1b[K" : "";  // clears what a progress line left there
      const NoWriteSignals no_signals;
      fmt::print(stderr, "{} {}{}\n", prefix, line, rest);
    }
  } catch (...) {  // a log line is never worth a crash
  }
}

}  // namespace detail

LogSink set_log_sink(LogSink sink) {
  detail::LogState& state = detail::log_state();
  const std::scoped_lock lock(state.mutex);
  return std::exchange(state.sink, std::move(sink));
}

}  // namespace trainhook
