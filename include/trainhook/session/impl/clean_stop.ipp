// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of clean_stop.hpp.
#pragma once

#include <trainhook/session/clean_stop.hpp>

#include <trainhook/core/error.hpp>

namespace trainhook {

bool is_end_of_input(const std::exception_ptr& error) noexcept { return is_any_of<OutOfRangeError>(error); }

void detail::check_grace_period(std::string_view owner, Duration period) {
  if (period < Duration::zero()) {
    throw InvalidArgumentError(
        "{}: stop_grace_period_secs is {} ms; it must not be negative, and 0 waits for no thread", owner,
        std::chrono::duration_cast<std::chrono::milliseconds>(period).count());
  }
}

}  // namespace trainhook
