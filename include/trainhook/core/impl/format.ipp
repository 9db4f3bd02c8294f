// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of format.hpp.
#pragma once

#include <trainhook/core/format.hpp>

#include <algorithm>

namespace trainhook::detail {

TRAINHOOK_DECL fmt::format_context::iterator append_text(fmt::format_context& context, std::string_view text) {
  return std::copy(text.begin(), text.end(), context.out());
}

}  // namespace trainhook::detail
