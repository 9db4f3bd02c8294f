// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/checkpoint_saver_listener.hpp>

namespace trainhook {

CheckpointSaverListener::~CheckpointSaverListener() = default;

}  // namespace trainhook
