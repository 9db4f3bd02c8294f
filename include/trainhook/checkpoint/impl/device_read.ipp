// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of device_read.hpp.
#pragma once

#include <trainhook/checkpoint/device_read.hpp>

namespace trainhook::detail {

void throw_unreadable(const DataLossError& error) {
  throw UnknownError(
      "{}; this happened twice, and no other checkpoint is taken in its place: repair the device and start again, or "
      "move this checkpoint away to use an older one",
      error.what());
}

}  // namespace trainhook::detail
