// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/session/peers.hpp>

namespace trainhook {

Peers::~Peers() = default;

Peers& Peers::none() {
  static Peers* const peers = new Peers;  // never destroyed, as system_clock()
  return *peers;
}

}  // namespace trainhook
