// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of format.hpp.
#pragma once

#include <trainhook/core/format.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace trainhook::detail {

TRAINHOOK_DECL fmt::format_context::iterator append_text(fmt::format_context& context, std::string_view text) {
  return std::copy(text.begin(), text.end(), context.out());
}

TRAINHOOK_DECL std::string number_text(std::int64_t number) { return fmt::format("{}", number); }
TRAINHOOK_DECL std::string number_text(std::uint64_t number) { return fmt::format("{}", number); }
TRAINHOOK_DECL std::string number_text(float number) { return fmt::format("{}", number); }
TRAINHOOK_DECL std::string number_text(double number) { return fmt::format("{}", number); }

}  // namespace trainhook::detail
