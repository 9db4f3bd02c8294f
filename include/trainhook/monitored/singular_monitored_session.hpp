// SPDX-License-Identifier: Apache-2.0
/// @file
/// SingularMonitoredSession: a MonitoredSession that is never made anew.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/monitored_session.hpp>

namespace trainhook {

struct SingularMonitoredSessionOptions {
  HookList hooks{};
  std::shared_ptr<Scaffold> scaffold{};  ///< null: a new one with all defaults
  std::string checkpoint_dir{};          ///< restore its newest good checkpoint, if it has any
  Duration stop_grace_period_secs = kDefaultStopGracePeriod;
  std::string checkpoint_filename_with_path{};  ///< or exactly this one
  FileSystem* file_system = nullptr;            ///< null: the machine's own
  Clock* clock = nullptr;                       ///< null: the machine's own
};

/// Always a chief, and without recovery: AbortedError and UnavailableError leave `run()` as any other error does, and
/// the session stays usable. Source: TensorFlow's `SingularMonitoredSession`.
template <SessionLike S>
class SingularMonitoredSession : public MonitoredSession<S> {
 public:
  /// A session of `graph`, which must outlive this.
  explicit SingularMonitoredSession(Graph& graph, SingularMonitoredSessionOptions options = {})
    requires std::constructible_from<S, Graph&>
      : SingularMonitoredSession(
            graph, [&graph] { return OwnedSession::make<S>(graph); }, std::move(options)) {}

  /// Around a session that the caller owns, which must outlive this: a loop of one's own.
  explicit SingularMonitoredSession(S& session, SingularMonitoredSessionOptions options = {})
      : SingularMonitoredSession(
            session.graph(),
            [&session] {
              if constexpr (requires { session.open(); }) session.open();
              return OwnedSession{.owner = {}, .session = session};
            },
            std::move(options)) {}

 private:
  SingularMonitoredSession(Graph& graph, SessionManager::Open open, SingularMonitoredSessionOptions options)
      : MonitoredSession<S>(
            std::make_shared<ChiefSessionCreator>(
                graph, std::move(open),
                ChiefSessionCreatorOptions{.scaffold = options.scaffold,
                                           .checkpoint_dir = options.checkpoint_dir,
                                           .checkpoint_filename_with_path = options.checkpoint_filename_with_path,
                                           .file_system = options.file_system,
                                           .clock = options.clock}),
            {.hooks = std::move(options.hooks),
             .stop_grace_period_secs = options.stop_grace_period_secs,
             .retry = {.max_attempts = 0},
             .file_system = options.file_system,
             .clock = options.clock}) {}
};

}  // namespace trainhook
