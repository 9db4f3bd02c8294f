// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProgressLine: one line on a terminal that is written over and over, or plain lines elsewhere.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/str_cat.hpp>

namespace trainhook {

/// Takes text as it is to appear, line ends and control characters included. Must not throw.
using ProgressSink = std::function<void(std::string_view text)>;

/// Writes to a file of the C library, at once.
[[nodiscard]] inline ProgressSink progress_to(std::FILE* file) {
  return [file](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  };
}

[[nodiscard]] inline bool is_terminal(std::FILE* file) noexcept { return isatty(fileno(file)) != 0; }

/// On a terminal each text takes the place of the one before, and the cursor stays at the start of the line, so that whatever else is
/// printed covers it. However it ends, the cursor is on a line of its own afterwards.
class ProgressLine {
 public:
  ProgressLine(ProgressSink sink, bool on_terminal, std::size_t width) : sink_(std::move(sink)), on_terminal_(on_terminal), width_(width) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (is_open_) sink_("\n");
  }

  [[nodiscard]] bool on_terminal() const noexcept { return on_terminal_; }

  void show(std::string text) {
    if (on_terminal_) {
      if (text.size() > width_) text.resize(width_);  // one that wraps could not be written over
      text += "\x1b[K\r";
    } else {
      text += '\n';
    }
    sink_(text);
    is_open_ = on_terminal_;
  }

  /// The last text, whole, with its line end.
  void finish(std::string text) {
    text += on_terminal_ ? "\x1b[K\n" : "\n";
    sink_(text);
    is_open_ = false;
  }

 private:
  ProgressSink sink_;
  bool on_terminal_;
  std::size_t width_;
  bool is_open_ = false;  // something stands on the line that the cursor is on
};

/// A length of time for people: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 07 min`.
[[nodiscard]] inline std::string duration_text(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  char text[48];
  if (seconds < 9.95) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  } else if (whole < 60) {
    std::snprintf(text, sizeof text, "%d s", static_cast<int>(whole));
  } else if (whole < 3600) {
    std::snprintf(text, sizeof text, "%d min %02d s", static_cast<int>(whole / 60), static_cast<int>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld h %02d min", static_cast<long long>(whole / 3600), static_cast<int>(whole % 3600 / 60));
  }
  return text;
}

}  // namespace trainhook
