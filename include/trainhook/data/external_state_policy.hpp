// SPDX-License-Identifier: Apache-2.0
/// @file
/// ExternalStatePolicy: what to do if an input pipeline has state that no checkpoint can contain.
#pragma once

namespace trainhook {

/// Tells whether a save throws, logs a warning or does nothing if a pipeline has state that cannot be saved with it, as
/// in `tf.data`.
enum class ExternalStatePolicy { Fail, Warn, Ignore };

}  // namespace trainhook
