// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads from a device that may fail, and does not mistake a failure for damage.
#pragma once

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

/// @throws UnknownError with the message of `error` and what to do.
[[noreturn]] inline void throw_unreadable(const DataLossError& error) {
  throw UnknownError(
      "{}; this happened twice, and no other checkpoint is taken in its place: repair the device and start again, or "
      "move this checkpoint away to use an older one",
      error.what());
}

/// Calls `read`, and once more if it throws DataLossError. `read` must not check contents: only a failure of the device
/// throws.
/// @throws UnknownError after the second failure, because an unreadable file is not damaged and must not be skipped or
/// replaced. Other errors are passed on.
template <class Read>
[[gnu::always_inline]] inline auto read_from_device(const Read& read) {
  for (bool is_second = false;; is_second = true) {  // the second attempt often succeeds
    try {
      return read();
    } catch (const DataLossError& error) {
      if (is_second) throw_unreadable(error);
    }
  }
}

}  // namespace trainhook::detail
