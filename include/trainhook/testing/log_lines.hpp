// SPDX-License-Identifier: Apache-2.0
/// @file
/// LogLines: collects log lines instead of printing them.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::testing {

/// While it exists, all log lines of the program go here: `I ...` for information, `W ...` for warnings, `E ...` for
/// errors. Several threads may log; `count` and `take` may be called meanwhile, `lines` only while no other thread
/// logs. Objects must be destroyed in reverse order.
class LogLines {
 public:
  TRAINHOOK_DECL LogLines();
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  ~LogLines() { set_log_sink(std::move(before_)); }

  /// The number of lines that contain `part`.
  [[nodiscard]] TRAINHOOK_DECL std::size_t count(std::string_view part) const;

  /// The lines since the last call.
  [[nodiscard]] std::vector<std::string> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(lines, {});
  }

  std::vector<std::string> lines;

 private:
  LogSink before_;
  mutable std::mutex mutex_;
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/log_lines.ipp>
#endif
