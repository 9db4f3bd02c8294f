// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of checkpoint_saver_listener.hpp.
#pragma once

#include <trainhook/hooks/checkpoint_saver_listener.hpp>

namespace trainhook {

CheckpointSaverListener::~CheckpointSaverListener() = default;

}  // namespace trainhook
