// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a file must contain, written down in hex.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace trainhook::support {

/// Bytes from hex digits of lower case; spaces are for the reader.
[[nodiscard]] inline std::string bytes(std::string_view hex) {
  std::string result;
  int high = -1;
  for (const char digit : hex) {
    if (std::isxdigit(static_cast<unsigned char>(digit)) == 0) continue;
    const int value = std::isdigit(static_cast<unsigned char>(digit)) != 0 ? digit - '0' : digit - 'a' + 10;
    if (high < 0) {
      high = value;
    } else {
      result += static_cast<char>(high * 16 + value);
      high = -1;
    }
  }
  return result;
}

}  // namespace trainhook::support
