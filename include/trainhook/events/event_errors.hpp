// SPDX-License-Identifier: Apache-2.0
/// @file
/// EventErrors: what a writer does if events cannot be written.
#pragma once

namespace trainhook {

/// What a writer does if events cannot be written, for example because the disk is full.
enum class EventErrors {
  Warn,   ///< logs the first failure, counts the lost events and continues; `close` logs the count
  Throw,  ///< the next call throws the error
};

}  // namespace trainhook
