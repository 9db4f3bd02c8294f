// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/log_lines.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace trainhook::testing {

LogLines::LogLines() {
  before_ = set_log_sink([this](LogLevel level, std::string_view line) {
    const std::scoped_lock lock(mutex_);
    lines.push_back(fmt::format("{} {}", level == LogLevel::Info ? "I" : level == LogLevel::Warning ? "W" : "E", line));
  });
}

std::size_t LogLines::count(std::string_view part) const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; }));
}

}  // namespace trainhook::testing
