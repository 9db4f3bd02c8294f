// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of session_creator.hpp.
#pragma once

#include <trainhook/monitored/session_creator.hpp>

namespace trainhook {

TRAINHOOK_DECL void OwnedSession::close() {
  if (lost == nullptr) {
    session.close();
  } else {
    lost.reset();
    chief.reset();
    owner.reset();
  }
}

TRAINHOOK_DECL SessionCreator::~SessionCreator() = default;

}  // namespace trainhook
