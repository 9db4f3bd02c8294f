// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reading from a device that may fail: a failure is not taken for damage.
#pragma once

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// @throws UnknownError with the message of `error` and the way out.
[[noreturn]] TRAINHOOK_DECL void throw_unreadable(const DataLossError& error);

/// Calls `read`, which takes nothing for damaged that it reads, and once more if the device failed.
/// @throws UnknownError if it failed twice. A file that could not be read is not damaged: nothing may be skipped or
/// replaced because of it. Other errors are passed on.
template <class Read>
auto read_from_device(const Read& read) {
  try {
    return read();
  } catch (const DataLossError&) {  // often gone at the second attempt
  }
  try {
    return read();
  } catch (const DataLossError& error) { throw_unreadable(error); }
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/device_read.ipp>
#endif
