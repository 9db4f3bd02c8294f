// SPDX-License-Identifier: Apache-2.0
/// @file
/// LogLines: keeps what is logged instead of printing it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/log.hpp>

namespace trainhook::testing {

/// While it lives, log lines of the whole program go here: `I ...` for information, `W ...` for warnings, `E ...` for errors. Lines may
/// come from several threads; look at them when those are quiet. One at a time, or one within the life of the other.
class LogLines {
 public:
  LogLines() {
    before_ = set_log_sink([this](LogLevel level, std::string_view line) {
      const std::scoped_lock lock(mutex_);
      lines.push_back((level == LogLevel::Info ? "I " : level == LogLevel::Warning ? "W " : "E ") + std::string(line));
    });
  }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  ~LogLines() { set_log_sink(std::move(before_)); }

  /// How many lines contain `part`.
  [[nodiscard]] std::size_t count(std::string_view part) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }

  /// What was logged since the last call.
  [[nodiscard]] std::vector<std::string> take() { return std::exchange(lines, {}); }

  std::vector<std::string> lines;

 private:
  LogSink before_;
  std::mutex mutex_;
};

}  // namespace trainhook::testing
