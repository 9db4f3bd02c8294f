// SPDX-License-Identifier: Apache-2.0
/// @file
/// SingularMonitoredSession: a MonitoredSession without recovery.
#pragma once

#include <concepts>
#include <memory>
#include <string>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/events/event_errors.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/monitored/session_creator.hpp>

namespace trainhook {

class Clock;
class Scaffold;

struct SingularMonitoredSessionOptions {
  HookList hooks{};
  std::shared_ptr<Scaffold> scaffold{};                       ///< null: a new one with all defaults
  std::string checkpoint_dir{};                               ///< restores its newest good checkpoint, if it has one
  Duration stop_grace_period_secs = kDefaultStopGracePeriod;  ///< how long `close()` waits for background threads
  CheckpointSource checkpoint_filename_with_path{};           ///< exactly this checkpoint, instead of `checkpoint_dir`
  EventErrors event_errors = EventErrors::Warn;  ///< what to do if events for TensorBoard cannot be written
  FileSystem* file_system = nullptr;             ///< null: the disk; must outlive the session
  Clock* clock = nullptr;                        ///< null: the system's clock; must outlive the session
};

namespace detail {

[[nodiscard]] TRAINHOOK_DECL SessionHandle start_singular(Graph& graph, SessionOpener open,
                                                          const SingularMonitoredSessionOptions& options);

}  // namespace detail

/// Always a chief, and never recovers: AbortedError and UnavailableError leave `run()` like any other error, and the
/// session stays usable. Source: TensorFlow's `SingularMonitoredSession`.
template <SessionLike S>
class SingularMonitoredSession : public MonitoredSession<S> {
 public:
  /// A session of `graph`, which must outlive this. `session_args` are passed to the engine's constructor after the
  /// graph.
  template <class... SessionArgs>
    requires std::constructible_from<S, Graph&, SessionArgs&...>
  explicit SingularMonitoredSession(Graph& graph, const SingularMonitoredSessionOptions& options = {},
                                    SessionArgs... session_args)
      : MonitoredSession<S>(detail::start_singular(
            graph, [&graph, session_args...] { return OwnedSession::make<S>(graph, session_args...); }, options)) {}

  /// Uses a session that the caller owns, such as a LoopSession; it must outlive this.
  explicit SingularMonitoredSession(S& session, const SingularMonitoredSessionOptions& options = {})
      : MonitoredSession<S>(detail::start_singular(
            session.graph(),
            [&session] {
              if constexpr (requires { session.open(); }) session.open();
              return OwnedSession{.owner = {}, .session = session};
            },
            options)) {}
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/singular_monitored_session.ipp>
#endif
