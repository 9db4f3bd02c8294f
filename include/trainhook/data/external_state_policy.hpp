// SPDX-License-Identifier: Apache-2.0
/// @file
/// ExternalStatePolicy: what to do if an input pipeline has state that no checkpoint can contain.
#pragma once

namespace trainhook {

/// What to do about state outside of a pipeline, which cannot be saved with it, as in `tf.data`: throw an error, log a
/// warning, or nothing.
enum class ExternalStatePolicy { Fail, Warn, Ignore };

}  // namespace trainhook
