// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/format.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <trainhook/core/finite.hpp>

namespace trainhook::detail {

fmt::format_context::iterator append_text(fmt::format_context& context, std::string_view text) {
  return std::copy(text.begin(), text.end(), context.out());
}

std::string number_text(std::int64_t number) { return fmt::format("{}", number); }
std::string number_text(std::uint64_t number) { return fmt::format("{}", number); }
std::string number_text(float number) {
  return is_finite(number) ? fmt::format("{}", number) : non_finite_text(double{number});
}
std::string number_text(double number) {
  return is_finite(number) ? fmt::format("{}", number) : non_finite_text(number);
}

}  // namespace trainhook::detail
