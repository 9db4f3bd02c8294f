// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/restore_policy.hpp>

namespace trainhook {

RestorePolicy::~RestorePolicy() = default;

}  // namespace trainhook
