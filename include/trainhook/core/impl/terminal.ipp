// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/terminal.hpp>

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace trainhook::detail {

bool takes_escapes(std::FILE* file) noexcept {
  const auto value_of = [](const char* name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment meanwhile
    const char* const value = std::getenv(name);
    return std::string_view(value != nullptr ? value : "");
  };
  const std::string_view terminal = value_of("TERM");
  return isatty(fileno(file)) != 0 && !terminal.empty() && terminal != "dumb" && value_of("NO_COLOR").empty();
}

}  // namespace trainhook::detail
