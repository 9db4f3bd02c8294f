// SPDX-License-Identifier: Apache-2.0
/// @file
/// EventErrors: what happens if events cannot be written.
#pragma once

namespace trainhook {

/// What happens if events cannot be written, for example because the disk is full.
enum class EventErrors {
  Warn,   ///< the first failure is logged, the events are lost and counted, and the run goes on; `close` logs the count
  Throw,  ///< the next call throws the error
};

}  // namespace trainhook
