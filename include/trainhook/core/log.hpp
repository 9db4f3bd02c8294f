// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where the library's log lines go: a sink that a program can replace.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/str_cat.hpp>

namespace trainhook {

enum class LogLevel { Info, Warning, Error };

/// Receives one line without its line end. Called from any thread, one call at a time; must not throw.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

namespace detail {

struct LogState {
  std::mutex mutex;
  LogSink sink;
};

inline LogState& log_state() {
  static LogState state;
  return state;
}

inline void log_line(LogLevel level, std::string_view line) noexcept {
  try {
    LogState& state = log_state();
    const std::scoped_lock lock(state.mutex);
    if (state.sink) {
      state.sink(level, line);
    } else {
      const char* prefix = level == LogLevel::Info ? "I" : level == LogLevel::Warning ? "W" : "E";
      const char* rest = isatty(STDERR_FILENO) != 0 ? "\x1b[K" : "";  // of a line that is being written over, such as a progress line
      std::fprintf(stderr, "%s %.*s%s\n", prefix, static_cast<int>(line.size()), line.data(), rest);
    }
  } catch (...) {  // a log line is never worth a crash
  }
}

}  // namespace detail

/// Sends all later lines to `sink`; an empty one restores the default, standard error. Returns the sink that was in place.
inline LogSink set_log_sink(LogSink sink) {
  detail::LogState& state = detail::log_state();
  const std::scoped_lock lock(state.mutex);
  return std::exchange(state.sink, std::move(sink));
}

template <class... Pieces>
void log_info(const Pieces&... pieces) {
  detail::log_line(LogLevel::Info, str_cat(pieces...));
}

template <class... Pieces>
void log_warning(const Pieces&... pieces) {
  detail::log_line(LogLevel::Warning, str_cat(pieces...));
}

template <class... Pieces>
void log_error(const Pieces&... pieces) {
  detail::log_line(LogLevel::Error, str_cat(pieces...));
}

}  // namespace trainhook
