// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankAgreement: the joint decisions of the ranks of a job: when the loop stops, when to save, and whether a rank has
/// failed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_peers.hpp>
#include <trainhook/ranks/collective.hpp>
#include <trainhook/ranks/rank_facts.hpp>
#include <trainhook/ranks/rank_session_creator.hpp>
#include <trainhook/ranks/rank_failure.hpp>
#include <trainhook/ranks/rank_states_hook.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

struct AgreementOptions {
  std::int64_t every_n_steps = 1;
  Duration max_wait_secs{};  ///< how long a rank waits for the others
};

/// One per rank of a training session. It works in rounds: in each, all ranks reduce their votes, and exchange more
/// only if none has failed. So a rank may fail at any time: its vote takes part in the current round of the others, and
/// all get its error. If a round takes too long, the job is ended.
class RankAgreement final : public SessionPeers,
                            public SaveRounds,
                            public StartRounds,
                            public std::enable_shared_from_this<RankAgreement> {
 public:
  /// @throws InvalidArgumentError if a number is not positive.
  TRAINHOOK_DECL RankAgreement(std::shared_ptr<Collective> ranks, const AgreementOptions& options);
  RankAgreement(const RankAgreement&) = delete;
  RankAgreement& operator=(const RankAgreement&) = delete;
  TRAINHOOK_DECL ~RankAgreement() override;

  [[nodiscard]] int rank() const noexcept override { return ranks_->rank(); }
  [[nodiscard]] int size() const noexcept override { return ranks_->size(); }

  [[nodiscard]] int process() const noexcept override { return rank(); }
  [[nodiscard]] int num_processes() const noexcept override { return size(); }
  [[nodiscard]] bool is_chief() const noexcept override { return rank() == 0; }

  /// All ranks must call it. @throws InvalidArgumentError, on every rank, for facts that differ.
  TRAINHOOK_DECL void expect_same(const Facts& facts);
  TRAINHOOK_DECL void expect_same_options(const MonitoredTrainingSessionOptions& options) override;
  TRAINHOOK_DECL void expect_same_program(const Graph& graph, const Hooks& hooks) override;
  TRAINHOOK_DECL void settle() override;

  [[nodiscard]] TRAINHOOK_DECL std::string from_chief(std::string bytes) override;
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> to_chief(const std::string& bytes) override;

  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<SessionCreator> creator(
      std::shared_ptr<ChiefSessionCreator> alone) override;
  TRAINHOOK_DECL void join(Hooks& hooks) override;
  [[nodiscard]] bool may_recreate() const noexcept override { return false; }

  [[nodiscard]] TRAINHOOK_DECL Peers& of(const SessionRunHook& hook) override;
  [[nodiscard]] TRAINHOOK_DECL std::string same_for_all(FunctionRef<std::string()> give) override;
  [[nodiscard]] TRAINHOOK_DECL std::vector<double> share(FunctionRef<std::vector<double>()> give) override;
  [[nodiscard]] bool agrees_to_save() override {
    wishes_save_ = true;
    return false;
  }
  void expect_save(std::int64_t step) noexcept override { expected_save_ = (std::min)(step, expected_save_); }

  [[nodiscard]] const std::vector<std::string>& tensors_in_parts() const noexcept override { return tensors_in_parts_; }
  void serve(StatesToGive& states) override { states_ = &states; }
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> collect(const std::string& order) override;
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> collect_unless_vetoed(
      const std::string& order, std::vector<std::string>& given) override;
  TRAINHOOK_DECL void meet(std::int64_t next_save, const std::optional<std::string>& veto) override;
  [[nodiscard]] TRAINHOOK_DECL bool meets_at(FunctionRef<std::int64_t()> step) const override;
  [[nodiscard]] bool are_parts_written() const noexcept override { return are_parts_written_; }
  [[nodiscard]] std::int64_t take_expected_save() noexcept override {
    return chiefs_next_save_ = std::exchange(expected_save_, kNoStep);
  }
  [[nodiscard]] bool is_at_end_of_input() const noexcept override { return is_at_end_of_input_; }
  [[nodiscard]] bool has_agreed_to_stop() const noexcept override { return has_agreed_to_stop_; }
  [[nodiscard]] const std::string& stop_reason() const noexcept override { return reason_; }

  void run_failed() noexcept override { is_undecided_ = true; }
  TRAINHOOK_DECL void begin_round(SessionLifecycle& session) override;
  [[nodiscard]] TRAINHOOK_DECL std::optional<bool> should_stop(SessionLifecycle& session) noexcept override;
  [[nodiscard]] bool is_interrupted(bool /*mine*/) const noexcept override { return is_interrupted_; }
  TRAINHOOK_DECL void leave(const std::string& reason, SessionLifecycle& session) override;
  TRAINHOOK_DECL void finish(const std::exception_ptr& error, Duration stop_grace_period_secs) override;

  /// Waits for at least ten seconds.
  TRAINHOOK_DECL void fail(const std::exception_ptr& error, Duration stop_grace_period_secs) noexcept override;

 private:
  enum Bit : std::uint64_t {
    kNothing = 0,
    kStop = 1,
    kSave = 2,
    kFailed = 4,
    kCollect = 8,
    kAwaits = 16,
    kWrites = 32,
    kVeto = 64,
    kHeedsVeto = 128,
    kEnds = 256  // with kStop: the reason is not an interruption
  };
  enum Number : std::size_t {
    kFirstFailed,
    kFirstToStop,
    kBoundary,
    kNextSave,
    kFirstToVeto,
    kDigest = kNextSave  // of what ranks compare at the start, when no save is near
  };

  // A round. `end` throws the error of a failed rank, and distributes the reason of the first rank that wants to stop.
  // If the chief collects state in the round, the others give it, or learn why a rank vetoes the save, and then repeat
  // the round, unless all stop after it.
  TRAINHOOK_DECL void begin(const Votes& votes);
  TRAINHOOK_DECL Votes end(Duration max_wait);
  TRAINHOOK_DECL void take(const Votes& all, Duration max_wait);
  TRAINHOOK_DECL void give(Duration max_wait);
  template <class Give>
  std::string given_by_all(Votes& all, Duration max_wait, Give give);
  TRAINHOOK_DECL void collect(const std::string& order, std::uint64_t bits);
  TRAINHOOK_DECL Votes exchange(const Votes& votes);
  [[nodiscard]] TRAINHOOK_DECL Votes vote(std::uint64_t bits) const;
  [[nodiscard]] TRAINHOOK_DECL Votes vote_with(const std::optional<std::string>& veto, std::uint64_t bits);

  // What rank 0 answers to what each rank says.
  TRAINHOOK_DECL StartAnswer answer_of_chief(
      const std::string& said, FunctionRef<StartAnswer(const std::vector<std::string>& of_ranks)> answer_to);

  // Calls `talk`; if it fails, ends the job, because the ranks can no longer communicate.
  template <class Talk>
  auto talking(Talk talk);

  // The rounds between two steps.
  [[nodiscard]] TRAINHOOK_DECL static std::uint64_t stop_bits(const SessionLifecycle& session) noexcept;
  [[nodiscard]] TRAINHOOK_DECL bool is_due(const SessionLifecycle& session) const;
  [[nodiscard]] TRAINHOOK_DECL Votes wishes(SessionLifecycle& session);
  TRAINHOOK_DECL bool decide(SessionLifecycle& session);
  [[nodiscard]] bool is_outstanding() const noexcept { return is_under_way_ || held_; }
  TRAINHOOK_DECL Votes outstanding();
  TRAINHOOK_DECL bool follow(const Votes& all, SessionLifecycle& session);
  TRAINHOOK_DECL void take_failure(SessionLifecycle& session) noexcept;

  std::shared_ptr<Collective> ranks_;
  AgreementOptions options_;
  bool has_begun_ = false;     // a session, which is the only one
  bool has_joined_ = false;    // the same, with its hooks
  std::int64_t boundary_ = 0;  // the number of decisions so far, including skipped ones
  bool is_undecided_ = true;   // since the last run
  bool has_run_ = false;       // since the last call of `should_stop`
  bool is_under_way_ = false;  // a round was started
  bool wants_stop_ = false;    // until all ranks agree
  bool has_agreed_to_stop_ = false;
  bool is_at_end_of_input_ = false;
  bool is_interrupted_ = false;      // the ranks that wanted to stop did so because of an interruption
  bool is_over_ = false;             // the last round was made, or all ranks know an error
  int first_failed_ = -1;            // the rank whose error all ranks have
  Votes votes_;                      // of this rank in the current round
  std::optional<Votes> held_;        // the result of a round that ended before its decision is due
  StatesToGive* states_ = nullptr;   // null: no session yet
  std::string order_;                // the chief's order, while it collects
  std::vector<std::string> given_;   // for the chief
  std::string objection_;            // this rank's veto of a save, in the current round
  std::optional<std::string> veto_;  // another rank's veto, for the chief
  bool is_collecting_ = false;
  bool is_save_granted_ = false;              // after the next step
  bool are_parts_written_ = false;            // all ranks have written their parts of a checkpoint
  std::int64_t next_save_ = Peers::kAnyStep;  // because of the step alone; from the chief
  std::int64_t chiefs_next_save_ = Peers::kAnyStep;
  std::int64_t expected_save_ = kNoStep;  // of this rank's hooks, since the last run
  bool wishes_save_ = false;
  std::vector<const SessionRunHook*> only_here_;
  std::vector<std::string> tensors_in_parts_;
  std::string reason_;                  // why the loop stops
  std::optional<RankFailure> failure_;  // of this rank
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_agreement.ipp>
#endif
