// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of variable_memory.hpp.
#pragma once

#include <trainhook/loop/variable_memory.hpp>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

void throw_memory_has_gaps(std::string_view name) {
  throw InvalidArgumentError(
      "variable '{}' is a view with gaps in its memory; register the whole matrix, or read and write functions", name);
}

}  // namespace trainhook::detail
