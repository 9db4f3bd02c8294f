// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of collective.hpp.
#pragma once

#include <trainhook/session/collective.hpp>

namespace trainhook {

TRAINHOOK_DECL Collective::~Collective() = default;

}  // namespace trainhook
