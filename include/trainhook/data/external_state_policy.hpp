// SPDX-License-Identifier: Apache-2.0
/// @file
/// ExternalStatePolicy: what happens when an input pipeline has state that no checkpoint can hold.
#pragma once

namespace trainhook {

/// What to do with state that lives outside of a pipeline and so cannot be saved with it, as in `tf.data`.
enum class ExternalStatePolicy { Fail, Warn, Ignore };

}  // namespace trainhook
