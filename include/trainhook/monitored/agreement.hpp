// SPDX-License-Identifier: Apache-2.0
/// @file
/// Agreement: what the ranks of a job decide together: when the loop stops, when to save, and that one has failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/hooked_session.hpp>
#include <trainhook/monitored/monitored_session_options.hpp>
#include <trainhook/session/collective.hpp>

namespace trainhook {

class Graph;
class HookServices;

namespace detail {

class RecoverableSession;

struct AgreementOptions {
  std::int64_t every_n_steps = 1;
  Duration max_wait_secs{};           ///< how long a rank waits for the others
  Duration stop_grace_period_secs{};  ///< the same for a rank that has failed
};

/// What must be the same on all ranks, by its name.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// What two ranks with the same model and hooks have in common, for programs that are the same.
[[nodiscard]] TRAINHOOK_DECL Facts facts_about(const Graph& graph, const Hooks& hooks);

/// One for each rank of a training session. Everything goes in rounds: in each, all ranks add up their votes, and what
/// else they exchange follows only if none has failed. So a rank may fail at any time: its vote meets the round that
/// the others are in, and all get its error. If a round finds no answer in time, the job is ended.
class Agreement {
 public:
  /// @throws InvalidArgumentError if a number is not positive.
  TRAINHOOK_DECL Agreement(std::shared_ptr<Collective> ranks, const AgreementOptions& options);
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;
  TRAINHOOK_DECL ~Agreement();

  /// The agreement that the options ask for; null for a process alone.
  [[nodiscard]] TRAINHOOK_DECL static std::shared_ptr<Agreement> of(const MonitoredSessionOptions& options);

  [[nodiscard]] bool is_chief() const noexcept { return ranks_->rank() == 0; }
  [[nodiscard]] int rank() const noexcept { return ranks_->rank(); }

  /// Each of these is a call of all ranks. @throws the error of the first rank that has failed, with its number.
  /// `expect_same` throws InvalidArgumentError for facts that differ, on every rank; `from_chief` returns the bytes of
  /// rank 0; `settle` returns if no rank has failed.
  TRAINHOOK_DECL void expect_same(const Facts& facts);
  [[nodiscard]] TRAINHOOK_DECL std::string from_chief(std::string bytes);
  TRAINHOOK_DECL void settle();

  /// A run has failed, and its error goes to the user, who may go on.
  void run_failed() noexcept { is_undecided_ = true; }

  /// A run is over: starts the round of this step if one is due, without waiting.
  TRAINHOOK_DECL void begin_round(RecoverableSession& session, HookServices& services);

  /// Whether the loop ends, which all ranks decide together, once after each run. Gives the session the stop request,
  /// or the error of a rank that failed. Never throws.
  [[nodiscard]] TRAINHOOK_DECL bool should_stop(RecoverableSession& session, HookServices& services) noexcept;

  /// This rank ends for a reason of its own, such as the end of its input: the others stop at the end of their step. If
  /// one of them has failed meanwhile, the session gets that error.
  TRAINHOOK_DECL void ask_to_stop(const std::string& reason, RecoverableSession& session, HookServices& services);

  /// The last round, after the end of the hooks. @throws the error of another rank.
  TRAINHOOK_DECL void finish(const std::exception_ptr& error);

  /// Tells the others of the error that ends this rank, unless they know.
  TRAINHOOK_DECL void fail(const std::exception_ptr& error) noexcept;

 private:
  enum Bit : std::uint64_t { kNothing = 0, kStop = 1, kSave = 2, kFailed = 4 };
  enum Number : std::size_t { kFirstFailed, kFirstToStop, kBoundary };

  // A round: `end` throws the error of a rank that failed, and passes on why the first that wants it stops.
  TRAINHOOK_DECL void begin(Votes votes);
  TRAINHOOK_DECL Votes end(Duration max_wait);
  TRAINHOOK_DECL Votes round(Votes votes);
  [[nodiscard]] TRAINHOOK_DECL Votes vote(std::uint64_t bits) const;

  // Calls `talk`; if the ranks cannot talk to each other any more, ends the job.
  template <class Talk>
  auto talking(Talk talk);

  // The rounds between two steps.
  [[nodiscard]] TRAINHOOK_DECL bool is_due(const RecoverableSession& session) const;
  [[nodiscard]] TRAINHOOK_DECL Votes wishes(RecoverableSession& session, HookServices& services);
  TRAINHOOK_DECL bool decide(RecoverableSession& session, HookServices& services);
  TRAINHOOK_DECL bool follow(const Votes& all, RecoverableSession& session, HookServices& services);
  TRAINHOOK_DECL void take_failure(RecoverableSession& session) noexcept;

  std::shared_ptr<Collective> ranks_;
  AgreementOptions options_;
  std::int64_t boundary_ = 0;  // how many decisions there were, or could have been
  bool is_undecided_ = true;   // since the last run
  bool is_under_way_ = false;  // a round has begun
  bool wants_stop_ = false;    // until all ranks agree
  bool has_agreed_to_stop_ = false;
  bool is_over_ = false;   // the last round was made, or all know of an error
  int first_failed_ = -1;  // the rank whose error all have
  std::string reason_;     // why the loop stops
  std::string failure_;    // what this rank tells of its error
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/agreement.ipp>
#endif
