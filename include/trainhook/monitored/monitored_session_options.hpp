// SPDX-License-Identifier: Apache-2.0
/// @file
/// MonitoredSessionOptions: the hooks of a monitored session, and when it recovers from a loss.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include <trainhook/core/duration.hpp>
#include <trainhook/events/event_errors.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class Clock;
class FileSystem;
class SessionPeers;

/// The report of one recovery.
struct Recovery {
  std::exception_ptr cause{};                ///< the error that ended the session
  std::int64_t attempt = 0;                  ///< 1 for the first within the policy's window
  std::optional<std::int64_t> lost_at{};     ///< the global step at the loss, if it could be read
  std::optional<std::int64_t> resumed_at{};  ///< the global step of the new session
};

/// When a lost session is recreated. The defaults recover from AbortedError and UnavailableError, up to ten times in
/// ten minutes.
struct RetryPolicy {
  int max_attempts = 10;                            ///< recoveries within `window`; 0: never recover
  Duration window = std::chrono::minutes(10);       ///< older recoveries are forgotten
  Duration initial_backoff = Duration::zero();      ///< before the second attempt in a row; doubles, with jitter
  Duration max_backoff = std::chrono::seconds(30);  ///< the longest such wait
  bool require_checkpoint = false;                  ///< no recovery if training would restart from initial values
  std::function<bool(const std::exception_ptr&)> is_transient{};  ///< true for further errors that count as a loss
  std::function<void(const Recovery&)> on_recovery{};             ///< called after every recovery
};

struct MonitoredSessionOptions {
  HookList hooks{};
  std::shared_ptr<SessionPeers> peers{};                      ///< of this session alone; null: a process alone
  Duration stop_grace_period_secs = kDefaultStopGracePeriod;  ///< how long `close()` waits for background threads
  RetryPolicy retry{};
  EventErrors event_errors = EventErrors::Warn;  ///< what to do if events for TensorBoard cannot be written
  FileSystem* file_system = nullptr;             ///< null: the disk; must outlive the session
  Clock* clock = nullptr;                        ///< null: the system's clock; must outlive the session
};

}  // namespace trainhook
