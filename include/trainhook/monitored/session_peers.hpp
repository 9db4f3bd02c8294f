// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionPeers: the other processes of a job, as a monitored session sees them.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_hooks.hpp>
#include <trainhook/session/peers.hpp>

namespace trainhook {

class ChiefSessionCreator;
class Graph;
class SessionCreator;
struct MonitoredTrainingSessionOptions;

namespace detail {

class SessionLifecycle;

/// A reason to leave the loop.
inline constexpr const char* kEndOfInput = "end of input";

}  // namespace detail

/// The other processes of a job, as a monitored session sees them. The base class is a job of one process. All
/// processes must call `expect_same_options`, `expect_same_program`, `settle` and `finish`, and `should_stop` between
/// the same runs. @throws the error of the first process that has failed.
class SessionPeers : public Peers {
 public:
  TRAINHOOK_DECL ~SessionPeers() override;

  /// @throws InvalidArgumentError, in every process, for differences, and for options that a job cannot have.
  virtual void expect_same_options(const MonitoredTrainingSessionOptions& /*options*/) {}
  virtual void expect_same_program(const Graph& /*graph*/, const detail::Hooks& /*hooks*/) {}

  /// Whether the session is one that other threads run, too, which an engine of one thread does not allow.
  [[nodiscard]] virtual bool shares_session() const noexcept { return false; }

  /// How this process makes its session, given how a process alone would.
  [[nodiscard]] TRAINHOOK_DECL virtual std::shared_ptr<SessionCreator> creator(
      std::shared_ptr<ChiefSessionCreator> alone);

  /// Takes part in a session: may add a hook to its hooks, which are ordered by phase.
  /// @throws FailedPreconditionError if these are the peers of another session.
  virtual void join(detail::Hooks& /*hooks*/) {}

  /// Returns if no process has failed.
  virtual void settle() {}

  /// Whether a session that is lost is made again by this process alone.
  [[nodiscard]] virtual bool may_recreate() const noexcept { return true; }

  /// A run has failed; its error goes to the user, who may continue.
  virtual void run_failed() noexcept {}

  /// A run has ended: starts the round of this step if one is due, without waiting.
  virtual void begin_round(detail::SessionLifecycle& /*session*/) {}

  /// Whether the loop ends; nothing: as this process alone would decide. Passes the stop request, or the error of a
  /// process that has failed, to the session.
  [[nodiscard]] virtual std::optional<bool> should_stop(detail::SessionLifecycle& /*session*/) noexcept {
    return std::nullopt;
  }

  /// Whether the reason to stop that counts for all is an interruption, if that of this process is `mine`.
  [[nodiscard]] virtual bool is_interrupted(bool mine) const noexcept { return mine; }

  /// This process ends alone, for example at the end of its input: the others stop at the end of their step. If one of
  /// them has failed meanwhile, the session gets that error.
  virtual void leave(const std::string& /*reason*/, detail::SessionLifecycle& /*session*/) {}

  /// After the hooks have ended, with an error or null; then as `fail`. @throws the error of another process.
  virtual void finish(const std::exception_ptr& /*error*/, Duration /*stop_grace_period_secs*/) {}

  /// Tells the others the error that ends this process, unless they know it. Waits at most that period for those that
  /// do not answer.
  virtual void fail(const std::exception_ptr& /*error*/, Duration /*stop_grace_period_secs*/) noexcept {}
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_peers.ipp>
#endif
