// SPDX-License-Identifier: Apache-2.0
/// @file
/// Duration: a length of time.
#pragma once

#include <chrono>

namespace trainhook {

/// A length of time, in nanoseconds; every `std::chrono` duration converts to it.
using Duration = std::chrono::nanoseconds;

}  // namespace trainhook
