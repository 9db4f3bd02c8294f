// SPDX-License-Identifier: Apache-2.0
/// @file
/// MonitoredSessionOptions: the hooks of a monitored session, and what it runs on.
#pragma once

#include <memory>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/events/event_errors.hpp>
#include <trainhook/monitored/recovery_policy.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class Clock;
class FileSystem;
class SessionPeers;

struct MonitoredSessionOptions {
  HookList hooks{};
  std::string checkpoint_dir{};                               ///< where hooks save that are given no directory
  std::shared_ptr<SessionPeers> peers{};                      ///< of this session alone; null: a process alone
  Duration stop_grace_period_secs = kDefaultStopGracePeriod;  ///< how long `close()` waits for background threads
  RetryPolicy retry{};
  EventErrors event_errors = EventErrors::Warn;  ///< what to do if events for TensorBoard cannot be written
  FileSystem* file_system = nullptr;             ///< null: the disk; must outlive the session
  Clock* clock = nullptr;                        ///< null: the system's clock; must outlive the session
};

}  // namespace trainhook
