// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/session_peers.hpp>

#include <trainhook/monitored/chief_session_creator.hpp>

namespace trainhook {

SessionPeers::~SessionPeers() = default;

std::shared_ptr<SessionCreator> SessionPeers::creator(std::shared_ptr<ChiefSessionCreator> alone) { return alone; }

}  // namespace trainhook
