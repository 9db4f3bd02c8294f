// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/session_creator.hpp>

#include <trainhook/core/error.hpp>

namespace trainhook {

SharedSession::~SharedSession() = default;

void OwnedSession::close() {
  if (shared == nullptr) return session.close();
  shared->close(session);
  shared.reset();
  owner.reset();
}

SessionCreator::~SessionCreator() = default;

std::shared_ptr<SessionCreator> detail::checked_creator(std::shared_ptr<SessionCreator> creator) {
  if (creator == nullptr)
    throw InvalidArgumentError("MonitoredSession: session_creator is null; a ChiefSessionCreator is the usual one");
  return creator;
}

}  // namespace trainhook
