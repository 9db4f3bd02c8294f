// SPDX-License-Identifier: Apache-2.0
/// @file
/// LogLines: keeps what is logged instead of printing it.
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

/// While it lives, log lines of the whole program go here: `I ...` for information, `W ...` for warnings, `E ...` for
/// errors. Lines may come from several threads; `count` and `take` may be called meanwhile, `lines` only while no other
/// thread logs. A second one may live only within the lifetime of the first.
class LogLines {
 public:
  TRAINHOOK_DECL LogLines();
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  ~LogLines() { set_log_sink(std::move(before_)); }

  /// How many lines contain `part`.
  [[nodiscard]] TRAINHOOK_DECL std::size_t count(std::string_view part) const;

  /// What was logged since the last call.
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
