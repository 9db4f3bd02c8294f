// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/duration.hpp>

#include <cmath>

#include <fmt/format.h>

namespace trainhook {

std::string duration_text(std::chrono::duration<double> duration) {
  const double seconds = duration.count();
  const auto whole = std::llround(seconds);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const auto days = whole / 86400;
  if (days < 1) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (days < 100) return fmt::format("{} {} {} h", days, days == 1 ? "day" : "days", whole % 86400 / 3600);
  if (days < 2 * 365) return fmt::format("{} days", days);
  return fmt::format("{} years", days * 4 / (4 * 365 + 1));
}

}  // namespace trainhook
