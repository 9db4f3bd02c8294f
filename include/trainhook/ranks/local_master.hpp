// SPDX-License-Identifier: Apache-2.0
/// @file
/// LocalMaster: lets worker threads of a process use the session of their chief.
#pragma once

#include <exception>
#include <memory>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

struct OwnedSession;

namespace detail {

class ChiefStatus;

}  // namespace detail

/// Shares the chief's session with the worker threads of the same process; the session ends with its last user. If the
/// chief ends with an error, every worker does too. A worker's end does not affect the chief. A normal end of the chief
/// affects workers only in that its threads no longer fill the queues, which ends their input. Pass the same object to
/// the chief and to every worker. Thread-safe; the engine's `execute` must be thread-safe too, as that of EigenSession
/// is.
class LocalMaster {
 public:
  /// @param clock must outlive this
  TRAINHOOK_DECL explicit LocalMaster(Clock& clock = system_clock());
  LocalMaster(const LocalMaster&) = delete;
  LocalMaster& operator=(const LocalMaster&) = delete;
  TRAINHOOK_DECL ~LocalMaster();

  /// For the chief: provides `ready` to workers from now on. Returns the chief's share.
  [[nodiscard]] TRAINHOOK_DECL OwnedSession publish(OwnedSession ready);

  /// For the chief: the session is lost. Workers that use it get the error at their next run; new ones wait for the
  /// next session.
  TRAINHOOK_DECL void withdraw() noexcept;

  /// For the chief, before it closes its session after an error. Workers get the error at their next run or
  /// `should_stop()`.
  TRAINHOOK_DECL void fail(const std::exception_ptr& error) noexcept;

  /// For a worker: waits for the chief's session and returns a share of it.
  /// @param chief the chief of the worker's previous session, null if there was none; becomes the one of this session
  /// @throws DeadlineExceededError after `max_wait`, or the chief's error.
  [[nodiscard]] TRAINHOOK_DECL OwnedSession wait_for_session(Duration max_wait,
                                                             std::shared_ptr<detail::ChiefStatus>& chief);

 private:
  struct Shared;
  struct State;
  class Share;
  class ChiefsShare;
  class WorkersShare;

  std::unique_ptr<State> state_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/local_master.ipp>
#endif
