// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/singular_monitored_session.hpp>

#include <utility>

#include <trainhook/monitored/chief_session_creator.hpp>

namespace trainhook::detail {

SessionHandle start_singular(Graph& graph, SessionOpener open, const SingularMonitoredSessionOptions& options) {
  return {std::make_shared<ChiefSessionCreator>(
              graph, std::move(open),
              ChiefSessionCreatorOptions{.scaffold = options.scaffold,
                                         .checkpoint_dir = options.checkpoint_dir,
                                         .checkpoint_filename_with_path = options.checkpoint_filename_with_path,
                                         .file_system = options.file_system,
                                         .clock = options.clock}),
          {.hooks = options.hooks,
           .checkpoint_dir = options.checkpoint_dir,
           .stop_grace_period_secs = options.stop_grace_period_secs,
           .retry = {.max_attempts = 0},
           .event_errors = options.event_errors,
           .file_system = options.file_system,
           .clock = options.clock}};
}

}  // namespace trainhook::detail
