// SPDX-License-Identifier: Apache-2.0
/// @file
/// Agreement: the interface through which a session agrees with the other ranks of its job.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/hooked_session.hpp>
#include <trainhook/monitored/monitored_session_options.hpp>
#include <trainhook/monitored/session_creator.hpp>

namespace trainhook {

class Graph;
class HookServices;
struct MonitoredTrainingSessionOptions;

namespace detail {

class RecoverableSession;

struct AgreementOptions {
  std::int64_t every_n_steps = 1;
  Duration max_wait_secs{};           ///< how long a rank waits for the others
  Duration stop_grace_period_secs{};  ///< how long a rank that has failed waits for the others
};

/// The joint decisions of the ranks of a job; each rank has a RankAgreement. Programs of one process contain only this
/// interface and a null pointer.
class Agreement {
 public:
  TRAINHOOK_DECL virtual ~Agreement();

  /// The agreement for `options`; null for a job of one process or rank, which has nothing to agree on.
  /// @throws InvalidArgumentError if a number in the options is not positive.
  [[nodiscard]] TRAINHOOK_DECL static std::shared_ptr<Agreement> of(const MonitoredSessionOptions& options);

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  [[nodiscard]] bool is_chief() const noexcept { return rank() == 0; }

  /// All ranks must make each of these calls. @throws the error of the first rank that has failed, with its number; the
  /// first two calls throw InvalidArgumentError, on every rank, for differences. `from_chief` returns the bytes of rank
  /// 0; `to_chief` returns those of all ranks on rank 0 and nothing on the others; `settle` returns if no rank has
  /// failed.
  virtual void expect_same_options(const MonitoredTrainingSessionOptions& options) = 0;
  virtual void expect_same_program(const Graph& graph, const Hooks& hooks) = 0;
  [[nodiscard]] virtual std::string from_chief(std::string bytes) = 0;
  [[nodiscard]] virtual std::vector<std::string> to_chief(const std::string& bytes) = 0;
  virtual void settle() = 0;

  /// For hooks: calls `give` on all ranks and returns what it returned on rank 0. @throws the error of the first rank
  /// on which it throws.
  [[nodiscard]] virtual std::string together(FunctionRef<std::string()> give) = 0;

  /// Adds a hook that takes part in saves to this rank's hooks, which are ordered by phase.
  virtual void add_own_hook(Hooks& hooks) = 0;

  /// A creator of sessions that start with the values of rank 0.
  [[nodiscard]] virtual std::shared_ptr<SessionCreator> session_creator(Graph& graph, SessionOpener open,
                                                                        ChiefSessionCreatorOptions options) = 0;

  /// A run has failed; its error goes to the user, who may continue.
  virtual void run_failed() noexcept = 0;

  /// A run has ended: starts the round of this step if one is due, without waiting.
  virtual void begin_round(RecoverableSession& session, HookServices& services) = 0;

  /// Whether the loop ends; all ranks decide it together, once after each run. Passes the stop request, or the error of
  /// a failed rank, to the session. Never throws.
  [[nodiscard]] virtual bool should_stop(RecoverableSession& session, HookServices& services) noexcept = 0;

  /// Whether the reason to stop that counts for all ranks is an interruption.
  [[nodiscard]] virtual bool is_interrupted() const noexcept = 0;

  /// This rank ends alone, for example at the end of its input: the others stop at the end of their step. If one of
  /// them has failed meanwhile, the session gets that error.
  virtual void ask_to_stop(const std::string& reason, RecoverableSession& session, HookServices& services) = 0;

  /// The last round, after the hooks have ended. @throws the error of another rank.
  virtual void finish(const std::exception_ptr& error) = 0;

  /// Tells the others the error that ends this rank, unless they know it.
  virtual void fail(const std::exception_ptr& error) noexcept = 0;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/agreement.ipp>
#endif
