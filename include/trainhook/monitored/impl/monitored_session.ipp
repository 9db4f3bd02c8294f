// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of monitored_session.hpp.
#pragma once

#include <trainhook/monitored/monitored_session.hpp>

#include <trainhook/core/shared.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>

namespace trainhook::detail {

SessionHandle start_monitored(Graph& graph, SessionOpener open, const MonitoredSessionOptions& options) {
  return {make_shared_object<ChiefSessionCreator>(
              graph, std::move(open),
              ChiefSessionCreatorOptions{.file_system = options.file_system, .clock = options.clock}),
          options};
}

}  // namespace trainhook::detail
